package monitor_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
)

func TestLiveSaysConnectedFirst(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.importing(t, event("task.started", "eden", 1, `"taskId":"t1"`))
	b.running(t)
	l, _, err := b.handshake(t, "/ws")
	if err != nil {
		t.Fatal(err)
	}
	first := l.next(t)
	want := pushed{Type: "connected", Timestamp: "2026-02-20T12:00:00.000Z"}
	want.Data.Message, want.Data.Version, want.Data.Seq, want.Data.Head = "Connected to Task Monitor", "test", 1, 1
	if diff := cmp.Diff(want, *first); diff != "" {
		t.Error(diff)
	}
}

// A change of the log is told as the original tells it: the file, the events, and what continues.
func TestLiveKeepsTheOrderOfTheOriginal(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	l := b.listen(t, "/ws")
	b.monitor.Publish(push.Message{Type: "event_log", Data: map[string]string{"event": "change", "file": "coordination-events.ndjson"}})
	b.importing(t, event("continuation.sent", "eden", 1, `"taskId":"t1","text":"<b>&"`))
	b.monitor.Publish(push.Message{Type: "task_update", AgentID: "eden", TaskID: "t1", Data: struct {
		File string `json:"file"`
	}{"task_t1.md"}})
	log := l.next(t)
	if log.Type != "event_log" || log.Data.Event != "change" || log.Data.File != "coordination-events.ndjson" || log.AgentID != "" {
		t.Errorf("%+v", log)
	}
	// What is published beside the log may overtake what is being read from it.
	rest := []*pushed{l.next(t), l.next(t), l.next(t)}
	slices.SortStableFunc(rest, func(a, b *pushed) int { return strings.Index("ct", a.Type[:1]) - strings.Index("ct", b.Type[:1]) })
	events, continuation, task := rest[0], rest[1], rest[2]
	if events.Type != "coordination_event_new" || events.Data.Seq != 1 || len(events.Data.Events) != 1 || len(events.Data.AffectedWorkSessions) != 0 ||
		events.Data.AffectedWorkSessions == nil {
		t.Errorf("%+v", events)
	}
	if continuation.Type != "continuation_event" || continuation.AgentID != "eden" || continuation.Data.Event != "change" ||
		continuation.Data.File != "coordination-events.ndjson" || continuation.Data.EventType != "continuation.sent" ||
		string(continuation.Data.EventData) != string(events.Data.Events[0]) {
		t.Errorf("%+v", continuation)
	}
	if task.Type != "task_update" || task.AgentID != "eden" || task.TaskID != "t1" || task.Data.File != "task_t1.md" {
		t.Errorf("%+v", task)
	}
}

// An event is pushed in exactly the form in which REST returns it.
func TestLiveEventsAreThoseOfREST(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	l := b.listen(t, "/ws")
	b.importing(t,
		event("a2a.send", "eden", 1, `"fromAgent":"eden","toAgent":"seum","workSessionId":"ws_b","message":"배포 <script>\u0000 점검","big":12345678901234567890`),
		`{"type":"a2a.response","agentId":"seum","ts":1771588800000.5,"extra":[1,{"a":null}],"data":{"workSessionId":"ws_a","outcome":"no_reply"}}`,
		event("task.started", "eden", 3, `"taskId":"t1","workSessionId":"ws_b"`),
		`{"type":"note"}`)
	var live []json.RawMessage
	var affected []string
	for len(live) < 4 {
		f := l.next(t)
		live, affected = append(live, f.Data.Events...), append(affected, f.Data.AffectedWorkSessions...)
	}
	listed := get[struct{ Events []json.RawMessage }](t, b, "/api/events?after=0", 200)
	if diff := cmp.Diff(texts(listed.Events), texts(live)); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(string(live[0]), `"big":12345678901234567890`) || !strings.Contains(string(live[0]), `"eventRole":"`) {
		t.Errorf("%s", live[0])
	}
	if len(affected) < 2 || affected[0] != "ws_b" || affected[1] != "ws_a" {
		t.Errorf("affected %q", affected)
	}
	var replayed []json.RawMessage
	for r := b.listen(t, "/ws?since=0"); len(replayed) < 4; {
		replayed = append(replayed, r.next(t).Data.Events...)
	}
	if diff := cmp.Diff(texts(live), texts(replayed)); diff != "" {
		t.Errorf("replay: %s", diff)
	}
}

func texts(list []json.RawMessage) []string {
	var texts []string
	for _, raw := range list {
		texts = append(texts, string(raw))
	}
	return texts
}

// Internal events are sent to clients that ask for them; others only see their effects in REST answers.
func TestLiveLeavesOutBookKeeping(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	public, full := b.listen(t, "/ws"), b.listen(t, "/ws?scope=all")
	b.appending(t, "run.started", `{"runId":"r","workSessionId":"ws_1"}`)
	category := b.appending(t, "work_session.category_set", `{"workSessionId":"ws_1","category":"infra_ops"}`)
	cleared := b.appending(t, "work_session.category_cleared", `{"workSessionId":"ws_2"}`)
	config := b.appending(t, "config.applied", `{"agents":[]}`)
	last := b.appending(t, "task.started", `{"taskId":"t1","workSessionId":"ws_1"}`)
	want := []string{
		fmt.Sprintf("work_session_update category_set ws_1 %d", category), fmt.Sprintf("work_session_update category_cleared ws_2 %d", cleared),
		fmt.Sprintf("config_update applied  %d", config),
	}
	for name, c := range map[string]struct {
		l    *listener
		seqs []int64
	}{"public": {public, []int64{last}}, "all": {full, []int64{1, category, cleared, config, last}}} {
		var hints []string
		var seqs []int64
		for len(hints) < len(want) || len(seqs) < len(c.seqs) {
			f := c.l.next(t)
			seqs = append(seqs, f.seqs(t)...)
			if f.Type != "coordination_event_new" {
				hints = append(hints, fmt.Sprintf("%s %s %s %d", f.Type, f.Data.Event, f.Data.WorkSessionID, f.Data.Seq))
			}
		}
		if !slices.Equal(seqs, c.seqs) || !slices.Equal(hints, want) {
			t.Errorf("%s: %v %q", name, seqs, hints)
		}
	}
}

// Where the index stands still, events go on unadorned, as in REST.
func TestLiveGoesOnWhereTheIndexIsParked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	l := b.listen(t, "/ws")
	b.appending(t, "task.started", `{"taskId":"t1"}`)
	park := func(tx eventstore.Tx) error {
		_, err := tx.Exec("DELETE FROM event_index")
		return err
	}
	if err := b.db.Exclusive(t.Context(), park, nil); err != nil {
		t.Fatal(err)
	}
	l.events(t, 1)
	f := b.listen(t, "/ws?since=0").next(t)
	if text := string(f.Data.Events[0]); strings.Contains(text, "eventRole") || !strings.Contains(text, `"taskId":"t1"`) {
		t.Errorf("%s", text)
	}
}

// Frames are bounded; an event that is larger has one of its own, and no queue is too short for it.
func TestLiveFramesAreBounded(t *testing.T) {
	t.Parallel()
	b := setup(t)
	members := func(bytes int) string { return fmt.Sprintf(`"taskId":"t1","note":%q`, strings.Repeat("x", bytes)) }
	var lines []string
	for i := range 240 {
		bytes := 10
		if i%60 == 0 {
			bytes = 150 << 10
		}
		lines = append(lines, event("task.updated", "eden", float64(i), members(bytes)))
	}
	b.importing(t, lines...)
	b.running(t)
	l, seqs := b.listen(t, "/ws?since=0"), []int64{}
	for len(seqs) < len(lines) {
		_, text, err := l.ReadMessage()
		if err != nil {
			t.Fatal(err)
		}
		f := pushed{}
		if err := json.Unmarshal(text, &f); err != nil {
			t.Fatal(err)
		}
		of := f.seqs(t)
		if len(of) > 100 || len(text) > 512<<10 && len(of) > 1 {
			t.Errorf("a frame of %d events has %d bytes", len(of), len(text))
		}
		seqs = append(seqs, of...)
	}
	for i, seq := range seqs {
		if seq != int64(i+1) {
			t.Fatalf("seq %d comes as number %d", seq, i+1)
		}
	}
	large := b.appending(t, "task.updated", "{"+members(2<<20)+"}")
	if f := l.next(t); !slices.Equal(f.seqs(t), []int64{large}) {
		t.Errorf("%v", f.seqs(t))
	}
}

// A burst far above a client's queue affects no client that reads.
func TestLiveBurstsLoseNoReader(t *testing.T) {
	t.Parallel()
	const events = 1_000
	b := setup(t, func(o *monitor.Options) { o.Push.QueueBytes, o.Push.BurstWait = 300<<10, patience })
	b.narrow(t)
	b.running(t)
	l := b.listen(t, "/ws")
	var lines []string
	for i := range events {
		lines = append(lines, event("task.updated", "eden", float64(i), fmt.Sprintf(`"note":%q`, strings.Repeat("x", 2<<10))))
	}
	b.importing(t, lines...)
	if seqs := l.events(t, events); len(seqs) != events {
		t.Errorf("got %d", len(seqs))
	}
}
