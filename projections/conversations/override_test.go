package conversations_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// What an operator said decides, also where the session came later, until it is taken back.
func TestOverrideDecidesTheCategory(t *testing.T) {
	t.Parallel()
	const deploy, law = " a2a.send message=서버를 배포해 주세요", " a2a.send message=계약서를 법무 검토해 주세요"
	const set, back = " work_session.category_set category=", " work_session.category_cleared"
	for _, tt := range []struct {
		name  string
		lines []string
		want  string // category, who says so, what the vote says
	}{
		{"set", []string{"0" + deploy, "1" + set + "biz_strategy"}, "biz_strategy manual_override infra_ops"},
		{"to what the vote says", []string{"0" + deploy, "1" + set + "infra_ops"}, "infra_ops manual_override infra_ops"},
		{"the vote goes on", []string{"0" + deploy, "1" + set + "infra_ops", "2" + law, "3" + law, "4" + law}, "infra_ops manual_override legal_compliance"},
		{"before the session", []string{"0" + set + "biz_strategy", "1" + deploy}, "biz_strategy manual_override infra_ops"},
		{"the last word counts", []string{"0" + deploy, "2" + set + "biz_strategy", "1" + set + "docs_knowledge"}, "docs_knowledge manual_override infra_ops"},
		{"taken back", []string{"0" + deploy, "1" + set + "biz_strategy", "2" + back}, "infra_ops event infra_ops"},
		{"taken back before the session", []string{"0" + set + "biz_strategy", "1" + back, "2" + deploy}, "infra_ops event infra_ops"},
		{"set again", []string{"0" + deploy, "1" + set + "biz_strategy", "2" + back, "3" + set + "qa_validation"}, "qa_validation manual_override infra_ops"},
		{"no such category", []string{"0" + deploy, "1" + set + "biz_strategy", "2" + set + "nonsense"}, "biz_strategy manual_override infra_ops"},
		{"of another session", []string{"0" + deploy, "1" + set + "biz_strategy workSessionId=other"}, "infra_ops event infra_ops"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := fold(t, base, tt.lines...)
			s := f.session(t, "ws")
			source := "event"
			if s.Override != nil {
				source = "manual_override"
			}
			if got := fmt.Sprintf("%s %s %s", s.Category, source, s.Vote.Winner); got != tt.want {
				t.Errorf("category, source and vote are %s, want %s", got, tt.want)
			}
			category, source, _ := strings.Cut(tt.want, " ")
			source, _, _ = strings.Cut(source, " ")
			view := f.texts(t, "SELECT category || ' ' || category_source FROM v_work_sessions WHERE work_session = 'ws'")
			if diff := cmp.Diff([]string{category + " " + source}, view); diff != "" {
				t.Errorf("v_work_sessions (-want +got):\n%s", diff)
			}
			if events := s.Whole.Events; events != countOf(tt.lines, " a2a.send") {
				t.Errorf("the session has %d events: an operator's word is none of it", events)
			}
		})
	}
}

func countOf(lines []string, part string) (n int64) {
	for _, line := range lines {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

// An operator's word changes nothing of a session but its category: no event, no time, no participant, no status; and it makes none.
func TestOverrideIsNoEventOfTheSession(t *testing.T) {
	t.Parallel()
	f := fold(t, base, "0 a2a.send conversationId=c1", "2 a2a.complete conversationId=c1")
	before := f.session(t, "ws")
	f.append(t, "9 work_session.category_set category="+string(before.Category)+" fromAgent=stranger conversationId=c9 taskId=t9 status=in_progress",
		"9 work_session.category_set category=docs_knowledge workSessionId=stranger")
	after := f.session(t, "ws")
	if after.Override == nil {
		t.Fatal("the override is not there")
	}
	after.Override = nil
	before.Vote, after.Vote = conversations.Verdict{}, conversations.Verdict{}
	if a, b := fmt.Sprintf("%+v", before), fmt.Sprintf("%+v", after); a != b {
		t.Errorf("the session was\n%s\nand is\n%s", a, b)
	}
	if got := f.texts(t, "SELECT name FROM work_sessions"); !slices.Equal(got, []string{"ws"}) {
		t.Errorf("work sessions are %v, want ws alone", got)
	}
	if got := f.texts(t, "SELECT DISTINCT type FROM session_kinds ORDER BY type"); !slices.Equal(got, []string{"a2a.complete", "a2a.send"}) {
		t.Errorf("kinds of events are %v", got)
	}
}

// A line of another program's log that claims to be an operator's word is an event of its work session, and no more.
func TestImportedLinesOverrideNothing(t *testing.T) {
	t.Parallel()
	f := fold(t, base, "0 a2a.send message=서버를 배포해 주세요")
	line := f.event(t, "1 work_session.category_set category=biz_strategy")
	line.Actor = eventstore.ActorImport
	if _, err := f.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: []eventstore.NewEvent{line}}); err != nil {
		t.Fatal(err)
	}
	if s := f.session(t, "ws"); s.Override != nil || s.Category != coordination.InfraOps || s.Whole.Events != 2 {
		t.Errorf("session has override %+v, category %s and %d events, want none, the vote's and 2", s.Override, s.Category, s.Whole.Events)
	}
}

// Lists, counts and filters go by the override and go back with it.
func TestListsFollowTheOverride(t *testing.T) {
	t.Parallel()
	f := fold(t, base)
	for i, said := range []string{"서버를 배포해 주세요", "서버를 배포해 주세요", "계약서를 법무 검토해 주세요"} {
		f.append(t, fmt.Sprintf("%d a2a.send workSessionId=ws%d message=%s", i*700_000, i, said))
	}
	check := func(when, want string) {
		t.Helper()
		if got := f.found(t, nil) + " | " + f.found(t, []string{"biz_strategy"}) + " | " + f.found(t, []string{"infra_ops"}); got != want {
			t.Errorf("%s: found\n%s, want\n%s", when, got, want)
		}
	}
	const voted = "[ws2 ws1 ws0] infra_ops=2 legal_compliance=1 | [] infra_ops=2 legal_compliance=1 | [ws1 ws0] infra_ops=2 legal_compliance=1"
	check("by vote", voted)
	f.append(t, "1 work_session.category_set workSessionId=ws0 category=biz_strategy", "2 work_session.category_set workSessionId=ws9 category=biz_strategy")
	check("overridden", "[ws2 ws1 ws0] biz_strategy=1 infra_ops=1 legal_compliance=1 | [ws0] biz_strategy=1 infra_ops=1 legal_compliance=1 | "+
		"[ws1] biz_strategy=1 infra_ops=1 legal_compliance=1")
	f.append(t, "9000000 a2a.send workSessionId=ws0 message=서버를 배포해 주세요", "9900000 a2a.send workSessionId=ws9")
	check("with a session that came later", "[ws9 ws0 ws2 ws1] biz_strategy=2 infra_ops=1 legal_compliance=1 | "+
		"[ws9 ws0] biz_strategy=2 infra_ops=1 legal_compliance=1 | [ws1] biz_strategy=2 infra_ops=1 legal_compliance=1")
	f.append(t, "3 work_session.category_cleared workSessionId=ws0", "4 work_session.category_set workSessionId=ws9 category=legal_compliance")
	check("taken back", "[ws9 ws0 ws2 ws1] infra_ops=2 legal_compliance=2 | [] infra_ops=2 legal_compliance=2 | "+
		"[ws0 ws1] infra_ops=2 legal_compliance=2")
}

// found lists the work sessions of categories, and how many are in each.
func (f *folded) found(t *testing.T, categories []string) string {
	t.Helper()
	var names []string
	var counts []string
	err := f.View(t.Context(), func(tx *sql.Tx) error {
		found, err := conversations.Find(t.Context(), tx, conversations.Query{Categories: categories, Now: base, Limit: 10})
		if err != nil {
			return err
		}
		sessions, err := conversations.Load(t.Context(), tx, found.Kinds, found.IDs, 0)
		for i := range sessions {
			names = append(names, sessions[i].Name)
		}
		for _, category := range slices.Sorted(maps.Keys(found.Categories)) {
			counts = append(counts, fmt.Sprintf("%s=%d", category, found.Categories[category]))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%v %s", names, strings.Join(counts, " "))
}

func TestOverrideHistory(t *testing.T) {
	t.Parallel()
	f := fold(t, base, "0 work_session.category_set category=biz_strategy updatedBy=ops updatedAt=2026-02-20T12:00:00.000Z",
		"1 work_session.category_cleared updatedAt=2026-02-20T12:01:00.000Z", "2 work_session.category_set category=infra_ops workSessionId=other",
		"3 work_session.category_set category=docs_knowledge updatedBy=운영자")
	err := f.View(t.Context(), func(tx *sql.Tx) error {
		history, err := conversations.OverrideHistory(t.Context(), tx, "ws", 2)
		want := []conversations.Override{
			{Name: "ws", Category: coordination.DocsKnowledge, UpdatedBy: "운영자", Seq: 4},
			{Name: "ws", UpdatedAt: "2026-02-20T12:01:00.000Z", Seq: 2},
		}
		if diff := cmp.Diff(want, history); diff != "" {
			t.Errorf("the newest two of the history (-want +got):\n%s", diff)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"ws biz_strategy ops 1", "ws - - 2", "other infra_ops - 3", "ws docs_knowledge 운영자 4"}
	got := f.texts(t, "SELECT work_session || ' ' || coalesce(category, '-') || ' ' || coalesce(updated_by, '-') || ' ' || seq FROM v_category_changes ORDER BY seq")
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("v_category_changes (-want +got):\n%s", diff)
	}
}

// A word that no longer has its text, or never had one that means anything, says nothing.
func TestOverridesThatSayNothing(t *testing.T) {
	t.Parallel()
	f := fold(t, base)
	for _, data := range []string{`{}`, `{"workSessionId":"ws"}`, `{"workSessionId":"ws","category":7}`, `{"workSessionId":7,"category":"infra_ops"}`} {
		e := eventstore.NewEvent{Type: coordination.TypeWorkSessionCategorySet, Data: json.RawMessage(data)}
		if _, err := f.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: []eventstore.NewEvent{e}}); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.texts(t, "SELECT count(*) FROM category_overrides"); got[0] != "0" {
		t.Errorf("there are %s overrides", got[0])
	}
	if got := f.texts(t, "SELECT state FROM projections"); !slices.Equal(slices.Compact(got), []string{"live"}) {
		t.Errorf("projections are %v", got)
	}
}
