package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// past stores a history of events before yesterday in which everything has ended: conversations, some of them blocked, runs and tasks.
func (b *testBundle) past(t testing.TB, events int) {
	t.Helper()
	var lines []string
	var appends []eventstore.StreamAppend
	own := func(stream, agent, typ string, minute float64, data any) {
		text, err := json.Marshal(data)
		if err != nil {
			t.Fatal(err)
		}
		appends = append(appends, eventstore.StreamAppend{Stream: stream,
			Events: []eventstore.NewEvent{eventstore.NewEvent{Type: typ, AgentID: agent, Data: text}.WithTS(int64(at(minute)))}})
	}
	for i := range events / 10 {
		agent, minute := []string{"eden", "seum", "ruda"}[i%3], float64(i)-1_000_000
		lines = append(lines, event("a2a.send", agent, minute, fmt.Sprintf(`"workSessionId":"ws_past%d","conversationId":"c_past%d","fromAgent":%q,"toAgent":"seum","message":"m %d"`, i, i, agent, i)),
			event("a2a.complete", agent, minute, fmt.Sprintf(`"workSessionId":"ws_past%d","conversationId":"c_past%d","fromAgent":%q,"toAgent":"seum","outcome":%q`, i, i, agent,
				[]string{"blocked", "no_reply", "done"}[i%3])))
		id, key := fmt.Sprint("past", i), "agent:"+agent+":main"
		own(coordination.RunStream(id), agent, coordination.TypeRunQueued, minute, coordination.RunQueued{RunID: id, SessionKey: key, Lane: "main", Message: "m"})
		own(coordination.RunStream(id), agent, coordination.TypeRunStarted, minute, coordination.RunStarted{RunID: id, SessionKey: key})
		own(coordination.RunStream(id), agent, coordination.TypeRunEnded, minute, coordination.RunOver{RunID: id, SessionKey: key, EndedAtMs: int64(at(minute)),
			Usage: &coordination.SessionUsage{Input: 9, Output: 1, Total: 10}})
		id = fmt.Sprint("task_past", i)
		own(coordination.TaskStream(id), agent, coordination.TypeTaskStarted, minute, coordination.TaskStarted{Context: ofTask(id, ""), Priority: "low", Description: "d"})
		own(coordination.TaskStream(id), agent, coordination.TypeTaskBlocked, minute, coordination.TaskBlocked{Context: ofTask(id, ""), Reason: "r", UnblockedBy: []string{"seum"}})
		own(coordination.TaskStream(id), agent, coordination.TypeTaskResumed, minute, coordination.TaskState{Context: ofTask(id, ""), Status: "in_progress"})
		own(coordination.TaskStream(id), agent, coordination.TypeTaskCompleted, minute, coordination.TaskState{Context: ofTask(id, ""), Status: "completed"})
		if len(lines) >= 400 {
			b.importing(t, lines...)
			lines = nil
			if _, err := b.db.Append(t.Context(), appends...); err != nil {
				t.Fatal(err)
			}
			appends = nil
		}
	}
	if len(lines) == 0 {
		return
	}
	b.importing(t, lines...)
	if _, err := b.db.Append(t.Context(), appends...); err != nil {
		t.Fatal(err)
	}
}

// BenchmarkStuck asks for problems and agents: the same ones, after a short and after a long history.
func BenchmarkStuck(bench *testing.B) {
	for _, events := range []int{1_000, 20_000} {
		b, _ := withOwnTasks(bench, limping, explaining)
		b.past(bench, events)
		b.stuck(bench)
		for _, path := range []string{"/api/problems", "/api/agents"} {
			bench.Run(fmt.Sprint(path, " after ", events, " events"), func(bench *testing.B) {
				for bench.Loop() {
					if response, body := b.ask(bench, http.MethodGet, path); response.StatusCode != http.StatusOK {
						bench.Fatalf("%d %s", response.StatusCode, body)
					}
				}
			})
		}
	}
}

// BenchmarkManyStuck asks for one problem, of few and of many blocked tasks: the ratio must stay small.
func BenchmarkManyStuck(bench *testing.B) {
	for _, open := range []int{50, 5_000} {
		b, _ := withOwnTasks(bench, limping)
		b.blocked(bench, open)
		for _, query := range []string{"?limit=1", "?kind=bot_down", "?limit=100"} {
			bench.Run(fmt.Sprint(query, " of ", open), func(bench *testing.B) {
				for bench.Loop() {
					if response, body := b.ask(bench, http.MethodGet, "/api/problems"+query); response.StatusCode != http.StatusOK {
						bench.Fatalf("%d %s", response.StatusCode, body)
					}
				}
			})
		}
	}
}
