package monitor_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/monitor"
)

// sessionPart is a page of a work session.
type sessionPart struct {
	detail
	Thread                *string
	NextBefore, NextAfter *int64
}

func (d *detail) seqs() []int64 {
	seqs := []int64{}
	for i := range d.Session.Threads {
		for _, e := range d.Session.Threads[i].Events {
			seqs = append(seqs, e.Seq)
		}
	}
	slices.Sort(seqs)
	return seqs
}

// longTalk returns the lines of a work session: two conversations, a pair of agents, tasks and what a system says. Times
// are not in the order of the log.
func longTalk(chance *rand.Rand, count int) (lines []string) {
	for i := range count {
		data := `"fromAgent":"eden","toAgent":"seum","message":"배포","workSessionId":"ws_long","eventRole":"conversation.main"`
		typ := "a2a.send"
		switch chance.IntN(8) {
		case 0:
			data += `,"conversationId":"short"`
		case 1:
		case 2:
			typ, data = "task.updated", `"taskId":"task_1","workSessionId":"ws_long","eventRole":"orchestration.task"`
		case 3:
			typ, data = "gateway.heartbeat", `"workSessionId":"ws_other","eventRole":"system.observability"`
		case 4:
			typ, data = "a2a.response", data+`,"conversationId":"long"`
		default:
			data += `,"conversationId":"long"`
		}
		lines = append(lines, event(typ, "eden", float64(i-chance.IntN(3)), data))
	}
	return lines
}

// Pages of any size contain every listed event once, from either end, also while new events come.
func TestSessionPagesContainEveryEventOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	chance := rand.New(rand.NewPCG(1, 25))
	b.importing(t, longTalk(chance, 400)...)
	b.appending(t, "run.started", `{"runId":"r","workSessionId":"ws_long"}`)
	for _, filter := range []string{"", "scope=all", "role=conversation.main", "type=a2a.response,task.updated", "thread=conv:long", "thread=short",
		"thread=conv:long&role=conversation.main&type=a2a.send", "thread=pair:eden_seum&scope=all"} {
		whole := func() []int64 {
			all := get[detail](t, b, "/api/work-sessions/ws_long?"+withoutThread(filter), http.StatusOK)
			name := threadOf(filter)
			kept := all.Session.Threads[:0]
			for _, x := range all.Session.Threads {
				if name == "" || x.ID == name || x.ConversationID == name {
					kept = append(kept, x)
				}
			}
			all.Session.Threads = kept
			return all.seqs()
		}
		before := whole()
		if len(before) == 0 {
			t.Fatalf("%q: no events", filter)
		}
		limit := func() int { return 1 + chance.IntN(1+chance.IntN(2*len(before))) }
		var older []int64
		first := get[sessionPart](t, b, fmt.Sprintf("/api/work-sessions/ws_long?%s&limit=%d", filter, limit()), http.StatusOK)
		if first.NextAfter != nil {
			t.Errorf("%q: after the newest page comes one from %d", filter, *first.NextAfter)
		}
		for page := first; ; {
			older = slices.Concat(page.seqs(), older)
			if page.NextBefore == nil {
				break
			}
			b.importing(t, longTalk(chance, 3)...) // others write meanwhile
			page = get[sessionPart](t, b, fmt.Sprintf("/api/work-sessions/ws_long?%s&limit=%d&before=%d", filter, limit(), *page.NextBefore), http.StatusOK)
		}
		if diff := cmp.Diff(before, older); diff != "" {
			t.Errorf("%q: in older pages (-want +got)\n%s", filter, diff)
		}
		var newer []int64
		for after := int64(0); ; {
			page := get[sessionPart](t, b, fmt.Sprintf("/api/work-sessions/ws_long?%s&limit=%d&after=%d", filter, limit(), after), http.StatusOK)
			newer = append(newer, page.seqs()...)
			if older := page.NextBefore != nil; older != (after > 0) {
				t.Errorf("%q: after %d is an older page: %v", filter, after, older)
			}
			if page.NextAfter == nil {
				break
			}
			after = *page.NextAfter
		}
		if diff := cmp.Diff(whole(), newer); diff != "" {
			t.Errorf("%q: in newer pages (-want +got)\n%s", filter, diff)
		}
		// A page around an event: it and what is older, then what is newer.
		at := before[chance.IntN(len(before))]
		back := get[sessionPart](t, b, fmt.Sprintf("/api/work-sessions/ws_long?%s&limit=5&before=%d", filter, at+1), http.StatusOK)
		if seqs := back.seqs(); seqs[len(seqs)-1] != at || back.NextAfter != nil && *back.NextAfter != at {
			t.Errorf("%q: before %d are %v, and newer ones after %v", filter, at+1, seqs, back.NextAfter)
		}
	}
}

func threadOf(filter string) string {
	values, _ := url.ParseQuery(filter)
	return values.Get("thread")
}

func withoutThread(filter string) string {
	values, _ := url.ParseQuery(filter)
	values.Del("thread")
	return values.Encode()
}

// A page describes its own events where the whole describes all listed ones; the rest is equal.
func TestSessionPageDescribesItsEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	line := func(from, to, conversation string, minute float64) string {
		return event("a2a.send", from, minute, fmt.Sprintf(`"fromAgent":%q,"toAgent":%q,"message":"%v","workSessionId":"ws","conversationId":%q,"eventRole":"conversation.main"`,
			from, to, minute, conversation))
	}
	b.importing(t, line("eden", "seum", "a", 0), line("seum", "eden", "a", 1), line("eden", "ruda", "b", 2), line("seum", "eden", "a", 3))
	whole := get[detail](t, b, "/api/work-sessions/ws", http.StatusOK).Session
	page := get[sessionPart](t, b, "/api/work-sessions/ws?thread=a&limit=1&before=4", http.StatusOK)
	s := page.Session
	if len(s.Threads) != 1 || s.Threads[0].FromAgent != "seum" || s.Threads[0].EventCount != 1 || s.Threads[0].StartTime != at(1) || s.Threads[0].LastTime != at(1) ||
		s.ThreadCount != 1 || s.EventCount != 1 || s.StartTime != at(1) || *page.Thread != "a" {
		t.Errorf("the page is %+v", page)
	}
	if *page.NextBefore != 2 || *page.NextAfter != 2 {
		t.Errorf("neighbours before %d and after %d, want 2 and 2", *page.NextBefore, *page.NextAfter)
	}
	s.extent, s.Threads = whole.extent, whole.Threads
	if diff := cmp.Diff(whole, s, cmp.AllowUnexported(workSession{})); diff != "" {
		t.Errorf("the rest (-whole +page)\n%s", diff)
	}
	empty := get[sessionPart](t, b, "/api/work-sessions/ws?before=1", http.StatusOK)
	if len(empty.Session.Threads) != 0 || empty.Session.EventCount != 0 || empty.NextBefore != nil || empty.NextAfter == nil || *empty.NextAfter != 0 {
		t.Errorf("before the first event: %+v", empty)
	}
	if none := get[sessionPart](t, b, "/api/work-sessions/ws?thread=conv:none", http.StatusOK); len(none.seqs()) > 0 || none.NextBefore != nil || none.NextAfter != nil {
		t.Errorf("an unknown thread: %+v", none)
	}
	for _, filter := range []string{"role=delegation.subagent", "type=unheard.of"} {
		none := get[sessionPart](t, b, "/api/work-sessions/ws?limit=5&"+filter, http.StatusOK)
		if len(none.seqs()) > 0 || none.Session.EventCount != 0 || none.NextBefore != nil || none.NextAfter != nil {
			t.Errorf("%s: %+v", filter, none)
		}
	}
	get[refusal](t, b, "/api/work-sessions/none?limit=5", http.StatusNotFound)
}

// Without parameters of a page the answer has no member of one: programs of before see what they saw.
func TestWholeSessionHasNoPage(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	for _, query := range []string{"", "?limit=&before=&thread=%20", "?include=summary", "?role=conversation.main"} {
		for name := range get[map[string]any](t, b, "/api/work-sessions/ws_a"+query, http.StatusOK) {
			if !slices.Contains([]string{"session", "role", "type", "asOfSeq"}, name) {
				t.Errorf("%s: the answer has %s", query, name)
			}
		}
	}
}

func TestRedactedEventsOfAPageAreMarked(t *testing.T) {
	t.Parallel()
	b := smallLog(t)
	if err := b.db.Redact(context.Background(), 2); err != nil {
		t.Fatal(err)
	}
	type marked struct {
		Session struct {
			Threads []struct {
				Events []struct {
					Seq         int64
					Redacted    bool
					DisplayText string
				}
			}
		}
	}
	got := get[marked](t, b, "/api/work-sessions/ws_a?thread=c1&limit=1", http.StatusOK).Session.Threads[0].Events
	if len(got) != 1 || got[0].Seq != 2 || !got[0].Redacted || got[0].DisplayText != "" {
		t.Errorf("%+v, want event 2 without its text", got)
	}
}

// Pages with huge events are shorter and lose nothing, even if one event alone is too large.
func TestHugeEventsShortenASessionPage(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.MaxBytes = 10_000 })
	var lines []string
	for i := range 30 {
		text := "small"
		if i%3 == 0 {
			text = strings.Repeat("x", 4_000*(1+i%4))
		}
		lines = append(lines, event("a2a.send", "eden", float64(i), fmt.Sprintf(`"toAgent":"ruda","workSessionId":"ws","message":%q`, text)))
	}
	b.importing(t, lines...)
	want := make([]int64, 30)
	for i := range want {
		want[i] = int64(i + 1)
	}
	var older, newer []int64
	for before := ""; ; {
		page := get[sessionPart](t, b, "/api/work-sessions/ws?limit=20"+before, http.StatusOK)
		if older = slices.Concat(page.seqs(), older); page.NextBefore == nil {
			break
		}
		before = fmt.Sprintf("&before=%d", *page.NextBefore)
	}
	for after := int64(0); ; {
		page := get[sessionPart](t, b, fmt.Sprintf("/api/work-sessions/ws?limit=20&after=%d", after), http.StatusOK)
		if newer = append(newer, page.seqs()...); page.NextAfter == nil {
			break
		}
		after = *page.NextAfter
	}
	if !slices.Equal(older, want) || !slices.Equal(newer, want) {
		t.Errorf("in older pages %v, in newer ones %v", older, newer)
	}
}
