package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// logEvent is an event with what the filters of the event log look at.
type logEvent struct {
	Seq               int64
	Type              string
	AgentID, From, To string
	IsError, Internal bool
	Time              float64
	Data              struct{ WorkSessionID string }
}

func (e *logEvent) concerns(agent string) bool {
	for _, id := range []string{e.AgentID, e.From, e.To} {
		if strings.EqualFold(id, agent) {
			return true
		}
	}
	return false
}

type logPage struct {
	Events       []logEvent
	TotalMatched int64
	NextCursor   *string
	NextAfter    int64
}

// manyEvents is a log over several blocks, of four agents and nine work sessions, with failures.
func manyEvents(t *testing.T) (*testBundle, []logEvent) {
	b := setup(t)
	var lines []string
	for i := range 900 {
		from, to := []string{"eden", "seum", "Ruda", "main"}[i%4], []string{"seum", "Ruda", "eden"}[i%3]
		data := fmt.Sprintf(`"fromAgent":%q,"toAgent":%q,"workSessionId":%q,"conversationId":"c%d"`, from, to, []string{"", "ws:"}[i%2]+fmt.Sprintf("ws_%d", i%9), i%9)
		switch {
		case i%31 == 0:
			lines = append(lines, event("a2a.response", from, float64(i), data+`,"outcome":"blocked","waitStatus":"timeout"`))
		case i%47 == 0:
			lines = append(lines, event("unblock.failed", "eden", float64(i), `"taskId":"t1"`))
		default:
			lines = append(lines, event("a2a.send", from, float64(i), data+`,"message":"점검"`))
		}
	}
	b.importing(t, lines...)
	b.appending(t, "run.failed", `{"runId":"r1","error":"no"}`)
	b.appending(t, "run.queued", `{"runId":"r2"}`)
	page := get[logPage](t, b, "/api/events?scope=all&limit=1000", http.StatusOK)
	if len(page.Events) != 902 {
		t.Fatalf("%d events", len(page.Events))
	}
	return b, page.Events
}

// Events are filtered by agent, failure and work session just as one would who reads all of them, in pages either way.
func TestEventsOfAnAgentAWorkSessionAndFailures(t *testing.T) {
	t.Parallel()
	b, all := manyEvents(t)
	failures := 0
	for _, e := range all {
		if e.IsError {
			failures++
		}
	}
	if failures < 20 {
		t.Fatalf("%d failures", failures)
	}
	for query, keep := range map[string]func(*logEvent) bool{
		"agent=EDEN":                    func(e *logEvent) bool { return e.concerns("eden") },
		"agent=ruda&isError=true":       func(e *logEvent) bool { return e.concerns("ruda") && e.IsError },
		"isError=true":                  func(e *logEvent) bool { return e.IsError },
		"isError=true&type=run.failed":  func(e *logEvent) bool { return e.Type == "run.failed" },
		"agent=main&type=a2a.send":      func(e *logEvent) bool { return e.concerns("main") && e.Type == "a2a.send" },
		"notType=a2a.send,run.queued":   func(e *logEvent) bool { return e.Type != "a2a.send" && e.Type != "run.queued" },
		"notType=a2a.send&agent=eden":   func(e *logEvent) bool { return e.Type != "a2a.send" && e.concerns("eden") },
		"agent=stranger":                func(*logEvent) bool { return false },
		"workSession=ws_3":              func(e *logEvent) bool { return strings.TrimPrefix(e.Data.WorkSessionID, "ws:") == "ws_3" },
		"workSession=ws:ws_4,ws_missed": func(e *logEvent) bool { return strings.TrimPrefix(e.Data.WorkSessionID, "ws:") == "ws_4" },
		"workSession=ws_4&isError=true&agent=seum": func(e *logEvent) bool {
			return strings.TrimPrefix(e.Data.WorkSessionID, "ws:") == "ws_4" && e.IsError && e.concerns("seum")
		},
	} {
		var want []int64
		for i := range all {
			if keep(&all[i]) {
				want = append(want, all[i].Seq)
			}
		}
		var older []int64
		for cursor := ""; ; {
			page := get[logPage](t, b, "/api/events?scope=all&limit=37&"+query+"&cursor="+cursor, http.StatusOK)
			if page.TotalMatched != int64(len(want)) {
				t.Errorf("%s: %d match, want %d", query, page.TotalMatched, len(want))
			}
			older = append(seqsOf(page.Events), older...)
			if page.NextCursor == nil {
				break
			}
			cursor = *page.NextCursor
		}
		if diff := cmp.Diff(want, older); diff != "" {
			t.Errorf("%s, backwards (-want +got)\n%s", query, diff)
		}
		middle := get[logPage](t, b, "/api/events?scope=all&limit=5&before=500&"+query, http.StatusOK)
		below := want[:0:0]
		for _, seq := range want {
			if seq < 500 {
				below = append(below, seq)
			}
		}
		if diff := cmp.Diff(below[max(0, len(below)-5):], append(below[:0:0], seqsOf(middle.Events)...)); diff != "" {
			t.Errorf("%s, before 500 (-want +got)\n%s", query, diff)
		}
		var newer []int64
		for after := int64(0); after < int64(len(all)); {
			page := get[logPage](t, b, fmt.Sprintf("/api/events?scope=all&limit=37&%s&after=%d", query, after), http.StatusOK)
			newer = append(newer, seqsOf(page.Events)...)
			after = page.NextAfter
		}
		if diff := cmp.Diff(want, newer); diff != "" {
			t.Errorf("%s, forwards (-want +got)\n%s", query, diff)
		}
	}
	for query, field := range map[string]string{
		"isError=yes": "isError", "before=0": "before", "before=5&cursor=x": "cursor", "before=5&after=3": "after", "doubt=maybe": "doubt", "doubt=guessed_role&agent=eden": "doubt", "doubt=guessed_role&since=2026-02-20": "doubt", "agent=eden&since=2026-02-20": "since", "isError=true&until=2026-02-20": "until", "workSession=ws_1&since=2026-02-20": "since",
	} {
		if r := get[refusal](t, b, "/api/events?"+query, http.StatusBadRequest); r.Field != field || r.Code != "invalid_parameter" || r.Hint == "" {
			t.Errorf("%s: %+v", query, r)
		}
	}
}

func seqsOf(events []logEvent) (seqs []int64) {
	for i := range events {
		seqs = append(seqs, events[i].Seq)
	}
	return seqs
}

type histogram struct {
	Buckets []struct {
		Seq0, Seq1  int64
		T0, T1      float64
		N, Problems int64
		Counts      []int64
	}
	Groups  []string
	AsOfSeq int64
}

// The buckets of a histogram follow each other, and count what one would count who reads all events.
func TestHistogramCountsTheEvents(t *testing.T) {
	t.Parallel()
	b, all := manyEvents(t)
	for _, query := range []string{"", "buckets=7", "buckets=500&by=agent", "from=200&to=777&buckets=13&by=type", "from=5&to=5", "from=256&to=511&buckets=1&by=agent", "from=3&buckets=4&by=internal", "from=880&buckets=3"} {
		h := get[histogram](t, b, "/api/events/histogram?"+query, http.StatusOK)
		if len(h.Buckets) == 0 || h.AsOfSeq != int64(len(all)) {
			t.Fatalf("%s: %d buckets as of %d", query, len(h.Buckets), h.AsOfSeq)
		}
		for i, bucket := range h.Buckets {
			if i > 0 && bucket.Seq0 != h.Buckets[i-1].Seq1+1 {
				t.Errorf("%s: bucket %d begins at %d", query, i, bucket.Seq0)
			}
			inside := all[bucket.Seq0-1 : bucket.Seq1]
			if bucket.N != int64(len(inside)) || bucket.T0 != inside[0].Time || bucket.T1 != inside[len(inside)-1].Time {
				t.Errorf("%s: bucket %d is %+v", query, i, bucket)
			}
			var problems int64
			counts := make([]int64, len(h.Groups))
			for j := range inside {
				if inside[j].IsError {
					problems++
				}
				for g, group := range h.Groups {
					if inside[j].Type == group || strings.Contains(query, "by=agent") && inside[j].concerns(group) ||
						strings.Contains(query, "by=internal") && group == "internal" && inside[j].Internal {
						counts[g]++
					}
				}
			}
			if bucket.Problems != problems || !slices.Equal(counts, bucket.Counts) {
				t.Errorf("%s: bucket %d is %+v, want %d problems and %v", query, i, bucket, problems, counts)
			}
		}
	}
	if h := get[histogram](t, b, "/api/events/histogram?from=200&to=777&buckets=13&by=type", http.StatusOK); h.Buckets[0].Seq0 != 200 || h.Buckets[12].Seq1 != 777 ||
		!slices.Equal(h.Groups, []string{"a2a.send", "a2a.response", "unblock.failed"}) {
		t.Errorf("%+v", h)
	}
	if h := get[histogram](t, b, "/api/events/histogram?buckets=1&by=internal", http.StatusOK); !slices.Equal(h.Groups, []string{"internal"}) || h.Buckets[0].Counts[0] != 2 {
		t.Errorf("internal events: %+v, want the 2 of runs", h)
	}
	if h := get[histogram](t, b, "/api/events/histogram?from=5000", http.StatusOK); len(h.Buckets) != 0 {
		t.Errorf("buckets behind the end of the log: %+v", h)
	}
	for query, field := range map[string]string{"from=0": "from", "from=9&to=8": "to", "buckets=501": "buckets", "by=role": "by"} {
		if r := get[refusal](t, b, "/api/events/histogram?"+query, http.StatusBadRequest); r.Field != field {
			t.Errorf("%s: %+v", query, r)
		}
	}
}

type oneEvent struct {
	Event  json.RawMessage
	Stored struct {
		Seq, Version          int64
		Stream, Type, AgentID string
	}
	IsError bool
	Error   string

	TaskTitle, WorkSessionTitle string

	Causes []struct {
		Seq       int64
		Type, How string
	}
	Effects []struct{ Seq int64 }
}

// The task and the work session of an event have titles, for readers who do not know their ids.
func TestOneEventNamesItsTaskAndWorkSession(t *testing.T) {
	t.Parallel()
	b := setup(t)
	seq := b.appending(t, "task.started", `{"taskId":"task_1","workSessionId":"ws_new","title":"배포 서버 점검","description":"배포 서버 점검","eventRole":"orchestration.task"}`)
	path := fmt.Sprintf("/api/events/%d", seq)
	newContract(t, b).check(t, http.MethodGet, path, http.StatusOK)
	if one := get[oneEvent](t, b, path, http.StatusOK); one.WorkSessionTitle != "배포 서버 점검" {
		t.Errorf("%+v", one)
	}
}

// One event comes as in the list, with what led to it and what followed.
func TestOneEventWithCausesAndEffects(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.flows(t)
	list := get[struct {
		Events []json.RawMessage
	}](t, b, "/api/events?scope=all&limit=1000", http.StatusOK)
	caused, failed := 0, 0
	for i, listed := range list.Events {
		seq := int64(i + 1)
		one := get[oneEvent](t, b, fmt.Sprintf("/api/events/%d", seq), http.StatusOK)
		if string(one.Event) != string(listed) || one.Stored.Seq != seq || one.Stored.Stream == "" || one.Causes == nil || one.Effects == nil {
			t.Errorf("event %d: %+v", seq, one)
		}
		var e logEvent
		if err := json.Unmarshal(listed, &e); err != nil || e.IsError != one.IsError || one.Error != "" && !one.IsError {
			t.Errorf("event %d: %v, failure %v, listed as %v", seq, err, one.IsError, e.IsError)
		}
		if one.IsError {
			failed++
		}
		for _, cause := range one.Causes {
			if cause.Seq >= seq || cause.How == "" {
				t.Errorf("event %d has the cause %+v", seq, cause)
			}
		}
		if len(one.Causes) == 0 {
			continue
		}
		caused++
		direct := get[oneEvent](t, b, fmt.Sprintf("/api/events/%d", one.Causes[0].Seq), http.StatusOK)
		if direct.Stored.Type != one.Causes[0].Type || len(direct.Causes) != len(one.Causes)-1 {
			t.Errorf("event %d: its cause is %+v, with %d causes of its own", seq, one.Causes[0], len(direct.Causes))
		}
	}
	if caused == 0 || failed == 0 {
		t.Errorf("%d events have causes, %d are failures", caused, failed)
	}
	for path, c := range map[string]struct {
		status int
		code   string
	}{"0": {400, "invalid_parameter"}, "x": {400, "invalid_parameter"}, "1.5": {400, "invalid_parameter"}, "999": {404, "not_found"}} {
		if r := get[refusal](t, b, "/api/events/"+path, c.status); r.Code != c.code || r.Field != "seq" || r.Hint == "" {
			t.Errorf("%s: %+v", path, r)
		}
	}
}
