package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
)

// heard is what a client has been sent: the seqs of events, the types of hints that there were before topics, and the others in words.
type heard struct {
	seqs      []int64
	old, news []string
}

// hear reads frames until enough.
func (l *listener) hear(t *testing.T, h *heard, enough func() bool) {
	t.Helper()
	for !enough() {
		_, text, err := l.ReadMessage()
		if err != nil {
			t.Fatalf("%v after %+v", err, h)
		}
		var f struct {
			Type, AgentID, TaskID string
			Data                  json.RawMessage
		}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		switch f.Type {
		case "coordination_event_new":
			var data struct{ Events []struct{ Seq int64 } }
			if err := json.Unmarshal(f.Data, &data); err != nil {
				t.Fatal(err)
			}
			for _, e := range data.Events {
				h.seqs = append(h.seqs, e.Seq)
			}
		case "run_update", "work_update", "approval_update":
			h.news = append(h.news, fmt.Sprintf("%s %s %s %s", f.Type, f.AgentID, f.TaskID, f.Data))
		default:
			h.old = append(h.old, f.Type)
		}
	}
}

// Each client is sent the topics that it asked for; one that asks for none is sent what there was before topics.
func TestLiveTopics(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t)
	b.running(t)
	clients := map[string]*listener{}
	for _, query := range []string{"", "scope=all", "topics=log", "topics=hints", "topics=log,hints&scope=all&fields=slim"} {
		clients[query] = b.listen(t, "/ws?"+query)
	}
	b.appending(t, "run.failed", `{"runId":"r1","error":"no"}`)
	b.appending(t, "work.dead", `{"effectId":"send/1"}`)
	b.tasked(t, "eden", "task_a", coordination.TypeTaskStarted, 1, coordination.TaskStarted{Context: ofTask("task_a", ""), Priority: "low",
		Description: "일", RequiresApproval: true, Progress: "Task started"})
	b.tasked(t, "eden", "task_a", coordination.TypeTaskCancelled, 2, coordination.TaskState{Context: ofTask("task_a", ""), Reason: "아니", DecidedBy: "민수", Progress: "Task rejected by 민수: 아니"})
	news := []string{
		`run_update main  {"runId":"r1","state":"error","seq":1}`,
		`work_update main  {"effectId":"send/1","state":"dead","seq":2}`,
		`approval_update eden task_a {"id":"task_a","kind":"task","state":"pending","seq":3}`,
		`approval_update eden task_a {"id":"task_a","kind":"task","state":"rejected","seq":4}`,
	}
	old := []string{"task_update", "agent_update", "task_update", "agent_update"}
	want := map[string]heard{
		"":                                       {seqs: []int64{3, 4, 5}, old: old},
		"scope=all":                              {seqs: []int64{1, 2, 3, 4, 5}, old: old},
		"topics=log":                             {seqs: []int64{3, 4, 5}},
		"topics=hints":                           {old: append(slices.Clone(old), "event_log"), news: news},
		"topics=log,hints&scope=all&fields=slim": {seqs: []int64{1, 2, 3, 4, 5}, old: old, news: news},
	}
	got := map[string]*heard{}
	for query, l := range clients {
		h := &heard{}
		got[query] = h
		l.hear(t, h, func() bool { return slices.Contains(h.seqs, 4) || slices.Contains(h.news, news[3]) })
	}
	// What was sent with event 4 precedes what comes now.
	b.monitor.Publish(push.Message{Type: "event_log"})
	b.appending(t, "a2a.send", `{"toAgent":"eden","message":"안녕"}`)
	for query, l := range clients {
		h := got[query]
		l.hear(t, h, func() bool {
			return slices.Contains(h.seqs, 5) || query == "topics=hints" && slices.Contains(h.old, "event_log")
		})
		if query != "topics=hints" { // published beside the log, it may come before event 5 or after it
			h.old = slices.DeleteFunc(h.old, func(typ string) bool { return typ == "event_log" })
		}
		slices.Sort(h.old)
		expected := want[query]
		expected.old = slices.Sorted(slices.Values(expected.old))
		if diff := cmp.Diff(expected, *h, cmp.AllowUnexported(heard{})); diff != "" {
			t.Errorf("%q (-want +got)\n%s", query, diff)
		}
	}
	for query, field := range map[string]string{"topics=events": "topics", "fields=all,slim&topics=log": "fields", "fields=slim": "fields"} {
		_, response, err := b.handshake(t, "/ws?"+query)
		if status, r := refusalOf(t, response, err); status != http.StatusBadRequest || r.Field != field || r.Hint == "" {
			t.Errorf("%s: %d %+v", query, status, r)
		}
	}
}

// Slim events say the same as those of the list, without their data, live and while catching up.
func TestSlimEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.flows(t)
	head := get[logPage](t, b, "/api/events?scope=all&limit=1000", http.StatusOK).Events
	contract := newContract(t, b)
	b.running(t)
	l := b.listen(t, "/ws?since=0&scope=all&topics=log&fields=slim")
	var slim []map[string]any
	for len(slim) < len(head) {
		_, text, err := l.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		var f struct{ Data map[string]any }
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		if f.Data["eventType"] != nil {
			continue
		}
		if err := contract.document.Components.Schemas["PushedSlimEvents"].Value.VisitJSON(f.Data); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		for _, e := range f.Data["events"].([]any) {
			slim = append(slim, e.(map[string]any))
		}
	}
	full := get[struct{ Events []map[string]any }](t, b, "/api/events?scope=all&limit=1000", http.StatusOK).Events
	texts := 0
	for i, e := range slim {
		for _, member := range []string{"seq", "id", "type", "agentId", "from", "to", "time", "eventRole", "state", "reasonCode", "isError", "internal", "displayText"} {
			if diff := cmp.Diff(full[i][member], e[member]); diff != "" {
				t.Errorf("event %v, %s (-listed +slim)\n%s", e["seq"], member, diff)
			}
		}
		if e["displayText"] != nil {
			texts++
		}
	}
	if texts == 0 {
		t.Error("no event has a text")
	}
}

// A tick says up to which seq everything was sent. Only those who asked for ticks are sent any.
func TestTicks(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Push.TickEvery = time.Millisecond })
	contract := newContract(t, b)
	b.running(t)
	plain := b.listen(t, "/ws")
	for _, query := range []string{"topics=ticks", "topics=log,ticks", "topics=ticks&since=0"} {
		l := b.listen(t, "/ws?"+query)
		seen, ticked := int64(0), int64(-1)
		var head int64
		for range 3 {
			head = b.appending(t, "a2a.send", `{"toAgent":"eden","message":"안녕"}`)
			for ticked < head {
				_, text, err := l.ReadMessage()
				if err != nil {
					t.Fatal(err)
				}
				var f struct {
					Type string
					Seq  int64
					Data struct{ Seq int64 }
				}
				if err := json.Unmarshal(text, &f); err != nil {
					t.Fatal(err)
				}
				if f.Type != "tick" {
					seen = f.Data.Seq
					continue
				}
				if query == "topics=log,ticks" && f.Seq > seen && seen > 0 {
					t.Errorf("%s: a tick says %d after event %d", query, f.Seq, seen)
				}
				ticked = f.Seq
			}
		}
		if typ := contract.frame(t, l); typ != "tick" {
			t.Errorf("%s: %s instead of a tick", query, typ)
		}
	}
	if got := plain.events(t, 9); len(got) != 9 {
		t.Errorf("events %v", got)
	}
}
