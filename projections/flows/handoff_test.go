package flows_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/handoff"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/flows"
)

const (
	asks    = `{"type":"question","questionId":"q1","question":"언제?"}`
	gives   = `{"type":"task_delegation","taskId":"t1","taskTitle":"배포","taskDescription":"한다"}`
	answers = `{"type":"answer","questionId":"q1","answer":"내일"}`
)

func reports(status string) string {
	return fmt.Sprintf(`{"type":"status_report","taskId":"t1","status":%q}`, status)
}

// question, delegation, answer and report are flows with such a payload, and what they send.
func question(ms int64, id, from, to, hash string) []eventstore.StreamAppend {
	return []eventstore.StreamAppend{created(ms, id, between(from, to), payload("question", "q1", hash)), sent(ms, id, from, to, "question", asks)}
}

func delegation(ms int64, id, from, to, hash string) []eventstore.StreamAppend {
	return []eventstore.StreamAppend{created(ms, id, between(from, to), payload("task_delegation", "t1", hash)), sent(ms, id, from, to, "task_delegation", gives)}
}

func answer(ms int64, id, from, to string) []eventstore.StreamAppend {
	return []eventstore.StreamAppend{created(ms, id, between(from, to), payload("answer", "q1", "h")), sent(ms, id, from, to, "answer", answers)}
}

func report(ms int64, id, from, to, status string) []eventstore.StreamAppend {
	return []eventstore.StreamAppend{created(ms, id, between(from, to), payload("status_report", "t1", "h")),
		sent(ms, id, from, to, "status_report", reports(status))}
}

func ends(ms int64, id, typ, outcome string) []eventstore.StreamAppend {
	return []eventstore.StreamAppend{moved(ms, id, typ, coordination.A2AJob{Outcome: outcome})}
}

func replies(ms int64, id, from, to string, more ...func(*coordination.A2AResponse)) []eventstore.StreamAppend {
	return []eventstore.StreamAppend{answered(ms, id, from, to, more...)}
}

// Given what flows have sent and answered, these are the handoffs, the newest first; live, and rebuilt. [n] is the time of the answer,
// #n how many events came before it.
func TestHandoffs(t *testing.T) {
	t.Parallel()
	type history = [][]eventstore.StreamAppend
	withPayload := func(typ, json string) func(*coordination.A2AResponse) {
		return func(r *coordination.A2AResponse) { r.PayloadType, r.PayloadJSON = typ, json }
	}
	failing := func(r *coordination.A2AResponse) { r.Outcome = "no_reply" }
	again := sent(3, "a", "eden", "seum", "question", asks)
	for name, c := range map[string]struct {
		given history
		want  []string
	}{
		"a question": {history{question(1, "a", "eden", "seum", "h1")}, []string{"a question q1 eden>seum open"}},
		"answered by its exchange": {history{question(1, "a", "eden", "seum", "h1"), replies(2, "a", "seum", "eden"), replies(3, "a", "eden", "seum"),
			replies(4, "a", "seum", "eden"), ends(5, "a", "completed", "")}, []string{"a question q1 eden>seum answered [2] #2"}},
		"answered, but not over": {history{question(1, "a", "eden", "seum", "h1"), replies(2, "a", "seum", "eden")}, []string{"a question q1 eden>seum open"}},
		"answered by a payload": {history{question(1, "a", "eden", "seum", "h1"), answer(2, "b", "seum", "eden"), ends(3, "a", "failed", "no_reply")},
			[]string{"a question q1 eden>seum answered [2] #3"}},
		"answered by a payload in a response": {history{question(1, "a", "eden", "seum", "h1"), replies(2, "a", "seum", "eden", withPayload("answer", answers))},
			[]string{"a question q1 eden>seum answered [2] #2"}},
		"a report in a response": {history{delegation(1, "a", "eden", "seum", "h1"), replies(2, "a", "seum", "eden", withPayload("status_report", reports("in_progress")))},
			[]string{"a task_delegation t1 eden>seum open in_progress"}},
		"done in a response": {history{delegation(1, "a", "eden", "seum", "h1"), replies(2, "a", "seum", "eden", withPayload("status_report", reports("completed")))},
			[]string{"a task_delegation t1 eden>seum answered completed [2] #2"}},
		"answered by its own side": {history{question(1, "a", "eden", "seum", "h1"), answer(2, "b", "eden", "seum")}, []string{"a question q1 eden>seum open"}},
		"answered by a third one":  {history{question(1, "a", "eden", "seum", "h1"), answer(2, "b", "dajim", "eden")}, []string{"a question q1 eden>seum open"}},
		"the exchange fails": {history{question(1, "a", "eden", "seum", "h1"), replies(2, "a", "seum", "eden", failing), ends(3, "a", "failed", "no_reply")},
			[]string{"a question q1 eden>seum failed"}},
		"the exchange is cancelled": {history{question(1, "a", "eden", "seum", "h1"), ends(3, "a", "cancelled", "")}, []string{"a question q1 eden>seum failed"}},
		"an answer after the end": {history{question(1, "a", "eden", "seum", "h1"), ends(2, "a", "failed", "no_reply"), answer(3, "b", "seum", "eden")},
			[]string{"a question q1 eden>seum failed"}},
		"a delegation, taken": {history{delegation(1, "a", "eden", "seum", "h1"), replies(2, "a", "seum", "eden"), ends(3, "a", "completed", "")},
			[]string{"a task_delegation t1 eden>seum open"}},
		"a delegation under way": {history{delegation(1, "a", "eden", "seum", "h1"), report(2, "b", "seum", "eden", "in_progress")},
			[]string{"a task_delegation t1 eden>seum open in_progress"}},
		"a delegation done": {history{delegation(1, "a", "eden", "seum", "h1"), ends(2, "a", "completed", ""), report(3, "b", "seum", "eden", "blocked"),
			report(4, "c", "seum", "eden", "completed"), report(5, "d", "seum", "eden", "in_progress")}, []string{"a task_delegation t1 eden>seum answered completed [4] #6"}},
		"a delegation that went wrong": {history{delegation(1, "a", "eden", "seum", "h1"), report(4, "b", "seum", "eden", "failed")},
			[]string{"a task_delegation t1 eden>seum answered failed [4] #3"}},
		"a delegation not delivered": {history{delegation(1, "a", "eden", "seum", "h1"), ends(2, "a", "failed", "blocked"), report(4, "b", "seum", "eden", "completed")},
			[]string{"a task_delegation t1 eden>seum failed"}},
		"something else about the same": {history{question(1, "a", "eden", "seum", "h1"), question(2, "b", "eden", "seum", "h2"), ends(3, "a", "failed", "no_reply"),
			answer(4, "c", "seum", "eden")}, []string{"b question q1 eden>seum answered [4] #6", "a question q1 eden>seum replaced"}},
		"one subject, other agents": {history{question(1, "a", "eden", "seum", "h1"), question(2, "b", "seum", "eden", "h1"), question(3, "c", "eden", "dajim", "h1"),
			answer(4, "d", "seum", "eden")}, []string{"c question q1 eden>dajim open", "b question q1 seum>eden open", "a question q1 eden>seum answered [4] #7"}},
		"asked again after the answer": {history{question(1, "a", "eden", "seum", "h1"), answer(2, "b", "seum", "eden"), question(3, "c", "eden", "seum", "h1")},
			[]string{"c question q1 eden>seum open", "a question q1 eden>seum answered [2] #3"}},
		"sent twice":               {history{question(1, "a", "eden", "seum", "h1"), {again}}, []string{"a question q1 eden>seum open"}},
		"sent after the end":       {history{{created(1, "a", payload("question", "q1", "h"))}, ends(2, "a", "completed", ""), {again}}, nil},
		"sent without its payload": {history{{created(1, "a", payload("question", "q1", "h")), sent(1, "a", "eden", "seum", "", "")}}, nil},
		"of no flow":               {history{{sent(1, "a", "eden", "seum", "question", asks)}}, nil},
		"of an imported log": {history{{imported(created(1, "b", payload("question", "q1", "h"))), imported(sent(1, "b", "eden", "seum", "question", asks))},
			question(1, "a", "eden", "seum", "h1"), {imported(answered(2, "a", "seum", "eden", withPayload("answer", answers)))}},
			[]string{"a question q1 eden>seum open"}},
		"a payload that is none": {history{question(1, "a", "eden", "seum", "h1"), {created(2, "b", between("seum", "eden"), payload("answer", "q1", "h")),
			sent(2, "b", "seum", "eden", "answer", `{"type":"answer"}`)}}, []string{"a question q1 eden>seum open"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := setup(t)
			for _, a := range c.given {
				l.append(t, a...)
			}
			var got []string
			for _, h := range l.handoffs(t, flows.HandoffQuery{}) {
				got = append(got, briefHandoff(h))
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			l.wantSameRebuilt(t)
		})
	}
}

// briefHandoff is what a handoff is.
func briefHandoff(h flows.Handoff) string {
	text := fmt.Sprintf("%s %s %s %s>%s %s", h.JobID, h.Type, h.Subject, h.From, h.To, h.State)
	if h.Status != "" {
		text += " " + h.Status
	}
	if h.AnsweredAt != 0 {
		text += fmt.Sprintf(" [%d]", after(h.AnsweredAt))
	}
	if h.AnsweredSeq != 0 {
		text += fmt.Sprintf(" #%d", h.AnsweredSeq-1)
	}
	return text
}

// A decision finds the handoff that is open about a subject, in that direction, with all that is known of it.
func TestOpenHandoff(t *testing.T) {
	t.Parallel()
	l := setup(t)
	find := func(from, to string, typ handoff.Type, subject string) *flows.Handoff {
		return deciding(t, l, func(tx eventstore.Tx) (*flows.Handoff, error) {
			h, found, err := flows.OpenHandoff(tx, from, to, typ, subject)
			if !found {
				return nil, err
			}
			return &h, err
		})
	}
	l.append(t, question(1, "a", "eden", "seum", "h1")...)
	at := l.append(t, question(2, "흐름 / b", "eden", "seum", "h2")...)
	want := &flows.Handoff{Seq: at.Events[1].Seq, JobID: "흐름 / b", RunID: "흐름 / b", From: "eden", To: "seum", Type: handoff.Question, Subject: "q1", Hash: "h2",
		ConversationID: "c-흐름 / b", WorkSessionID: "ws_1", At: base + 2, State: flows.HandoffOpen}
	if diff := cmp.Diff(want, find("Eden", "seum", handoff.Question, "q1")); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	for _, h := range []*flows.Handoff{find("seum", "eden", handoff.Question, "q1"), find("eden", "seum", handoff.TaskDelegation, "q1"),
		find("eden", "seum", handoff.Question, "q2"), find("eden", "dajim", handoff.Question, "q1")} {
		if h != nil {
			t.Errorf("found %+v", h)
		}
	}
	l.append(t, answer(3, "c", "seum", "eden")...)
	if h := find("eden", "seum", handoff.Question, "q1"); h != nil {
		t.Errorf("answered, and found: %+v", h)
	}
}

// Lists of handoffs are of what is asked for, the newest first, page by page.
func TestHandoffLists(t *testing.T) {
	t.Parallel()
	l := setup(t)
	for i, between := range [][2]string{{"eden", "seum"}, {"seum", "eden"}, {"eden", "dajim"}, {"dajim", "seum"}, {"eden", "eden"}} {
		l.append(t, question(int64(i), fmt.Sprint("f", i), between[0], between[1], "h")...)
	}
	l.append(t, ends(9, "f0", "failed", "no_reply")...)
	l.append(t, created(9, "f9", payload("question", "q9", "h"), func(c *coordination.A2AJobCreated) { c.WorkSessionID = "ws_2" }), sent(9, "f9", "eden", "seum", "question", asks))
	second := l.handoffs(t, flows.HandoffQuery{})[1].Seq
	for name, c := range map[string]struct {
		q    flows.HandoffQuery
		want []string
	}{
		"all":                            {flows.HandoffQuery{}, []string{"f9", "f4", "f3", "f2", "f1", "f0"}},
		"open":                           {flows.HandoffQuery{Open: true}, []string{"f9", "f4", "f3", "f2", "f1"}},
		"of an agent":                    {flows.HandoffQuery{Agent: "Seum"}, []string{"f9", "f3", "f1", "f0"}},
		"of one who asked himself too":   {flows.HandoffQuery{Agent: "eden", Limit: 2}, []string{"f9", "f4"}},
		"the next page":                  {flows.HandoffQuery{Agent: "eden", Limit: 2, Before: second}, []string{"f2", "f1"}},
		"open ones of an agent, a page":  {flows.HandoffQuery{Agent: "seum", Open: true, Limit: 3}, []string{"f9", "f3", "f1"}},
		"of a work session":              {flows.HandoffQuery{WorkSessionID: "ws_2"}, []string{"f9"}},
		"of an agent and a work session": {flows.HandoffQuery{WorkSessionID: "ws_1", Agent: "dajim"}, []string{"f3", "f2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, h := range l.handoffs(t, c.q) {
				got = append(got, h.JobID)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// A handoff ends with its flow also when the event that said so is redacted.
func TestRedactedHandoff(t *testing.T) {
	t.Parallel()
	l := setup(t)
	l.append(t, question(1, "a", "eden", "seum", "h1")...)
	reply := l.append(t, replies(2, "a", "seum", "eden")...)
	end := l.append(t, ends(3, "a", "completed", "")...)
	for _, r := range []eventstore.Result{reply, end} {
		if err := l.Redact(t.Context(), r.Events[0].Seq); err != nil {
			t.Fatal(err)
		}
	}
	l.rebuild(t)
	if got := l.handoffs(t, flows.HandoffQuery{}); len(got) != 1 || briefHandoff(got[0]) != "a question q1 eden>seum answered" {
		t.Errorf("%+v", got)
	}
}
