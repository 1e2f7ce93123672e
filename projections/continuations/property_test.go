package continuations_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
)

var modelAgents = []string{"eden", "seum"}

// model is how agents should stand, kept as simply as can be: each event that is its agent's own is folded into what is in memory.
type model struct {
	now    int64
	states map[string]continuation.State
	tasks  map[string][]task.Task // of each agent: one in progress, one blocked
	runs   int
}

func newModel() *model {
	m := &model{states: map[string]continuation.State{}, tasks: map[string][]task.Task{}}
	for _, agent := range modelAgents {
		m.tasks[agent] = []task.Task{
			{ID: "task_" + agent, Agent: agent, Status: coordination.StateInProgress, Description: "tile the roof", ActiveAt: base},
			{ID: "막힌 일 " + agent, Agent: agent, Status: coordination.StateBlocked, Description: "paint", ActiveAt: base,
				Blocked: task.Blocked{Reason: "no paint", By: []string{"ruda"}, LastIndex: -1}},
		}
	}
	return m
}

// happens gives an event, and folds it.
func (m *model) happens(t *rapid.T, stream, typ, agent string, data any) eventstore.StreamAppend {
	a := event(m.now, stream, typ, agent, data)
	state := m.states[agent]
	means, err := state.Apply(typ, agent, a.Events[0].Data, base+m.now)
	if err != nil {
		t.Fatal(err)
	}
	if means {
		m.states[agent] = state
	}
	return a
}

// decides gives the events of what is done about an agent now, with the run or the flow that they name.
func (m *model) decides(t *rapid.T, agent string) (appends []eventstore.StreamAppend) {
	s := continuation.Situation{Agent: agent, Policy: continuation.DefaultPolicy(), State: m.states[agent], Tasks: m.tasks[agent], Lead: "main"}
	told := continuation.Outcome(&s)
	if len(told) == 0 {
		d := continuation.Next(&s, base+m.now)
		told = d.Events(&s, d.Key)
	}
	for _, e := range told {
		stream := "agent/" + e.AgentID
		if e.TaskID != "" {
			stream = coordination.TaskStream(e.TaskID)
		}
		appends = append(appends, m.happens(t, stream, e.Type, e.AgentID, e.Data))
	}
	return appends
}

// ends gives the end of a run of the main session: that of the last prompt, or another one.
func (m *model) ends(t *rapid.T, agent string) eventstore.StreamAppend {
	runID := m.states[agent].Prompt.RunID
	if runID == "" || rapid.Bool().Draw(t, "of another agent") {
		m.runs++
		runID = fmt.Sprint("run ", m.runs)
	}
	typ := rapid.SampledFrom([]string{coordination.TypeRunEnded, coordination.TypeRunFailed, coordination.TypeRunFailed, coordination.TypeRunTimedOut,
		coordination.TypeRunAborted}).Draw(t, "end")
	class := rapid.SampledFrom([]string{"rate_limited", "auth", "context_exceeded", "context_exceeded", "internal"}).Draw(t, "class")
	return m.happens(t, coordination.RunStream(runID), typ, agent, coordination.RunOver{RunID: runID, SessionKey: "agent:" + agent + ":main", ErrorClass: class})
}

// ignored gives what changes nothing: of another log, in another stream, or what cannot be read.
func (m *model) ignored(t *rapid.T, agent string) eventstore.StreamAppend {
	a := rapid.SampledFrom([]eventstore.StreamAppend{
		sent(m.now, agent, "task_"+agent, "elsewhere"), asked(m.now, agent, "task_"+agent, "ruda", "elsewhere"), taken(m.now, agent, "task_"+agent),
		moved(m.now, coordination.TypeTaskCompleted, agent, "task_"+agent), over(m.now, coordination.TypeRunFailed, agent, "elsewhere"),
	}).Draw(t, "what")
	switch rapid.IntRange(0, 2).Draw(t, "why") {
	case 0:
		return imported(a)
	case 1:
		return in(rapid.SampledFrom([]string{"log", "agent/ruda", "task/other", "run/other"}).Draw(t, "stream"), a)
	}
	a.Events[0].Data = json.RawMessage(`{"taskId":["task_a"],"runId":{}}`)
	return a
}

func (m *model) step(t *rapid.T) []eventstore.StreamAppend {
	m.now += rapid.SampledFrom([]int64{1, 1_000, time.Minute.Milliseconds(), 6 * time.Minute.Milliseconds(), time.Hour.Milliseconds()}).Draw(t, "later")
	agent := rapid.SampledFrom(modelAgents).Draw(t, "agent")
	switch rapid.IntRange(0, 9).Draw(t, "do") {
	case 0, 1, 2, 3:
		return m.decides(t, agent)
	case 4, 5, 6:
		return []eventstore.StreamAppend{m.ends(t, agent)}
	case 7:
		id := rapid.SampledFrom(m.tasks[agent]).Draw(t, "task").ID
		typ := rapid.SampledFrom([]string{coordination.TypeTaskCompleted, coordination.TypeTaskResumed, coordination.TypeTaskBlocked, coordination.TypeTaskUpdated}).Draw(t, "type")
		return []eventstore.StreamAppend{m.happens(t, coordination.TaskStream(id), typ, agent, coordination.Context{TaskID: id})}
	case 8:
		id := m.tasks[agent][1].ID
		target := rapid.SampledFrom([]string{"ruda", ""}).Draw(t, "target")
		return []eventstore.StreamAppend{m.happens(t, coordination.TaskStream(id), coordination.TypeUnblockFailed, agent,
			coordination.Unblock{Context: about(id), TargetAgentID: target})}
	}
	return []eventstore.StreamAppend{m.ignored(t, agent)}
}

// Whatever happens, agents stand as a simple model has them; and as a fold of the log in any other batches, or a rebuild, gives them.
func TestAgentsStandAsWhatHasHappened(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		storetest.Copy(t, emptyLog, filepath.Join(dir, "log.db"))
		l := openAt(t, filepath.Join(dir, "log.db"))
		defer func() { l.close(t) }()
		m := newModel()
		for i := range rapid.IntRange(1, 40).Draw(rt, "steps") {
			if appends := m.step(rt); len(appends) > 0 {
				l.append(t, appends...)
			}
			if i%13 == 12 {
				l.reopen(t)
			}
			if diff := cmp.Diff(m.states, l.all(t)); diff != "" {
				rt.Fatalf("after step %d (-model +log):\n%s", i, diff)
			}
			for _, agent := range modelAgents {
				if diff := cmp.Diff(m.states[agent], l.load(t, agent)); diff != "" {
					rt.Fatalf("after step %d, as decisions see %s (-model +log):\n%s", i, agent, diff)
				}
			}
		}
		live := l.dump(t)
		events, err := l.Read(t.Context(), 0, 1000)
		if err != nil {
			rt.Fatal(err)
		}
		storetest.Copy(t, emptyLog, filepath.Join(dir, "other.db"))
		other := openAt(t, filepath.Join(dir, "other.db"))
		defer other.close(t)
		for rest := slices.Clone(events); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "batch")
			if err := other.Restore(t.Context(), rest[:n]); err != nil {
				rt.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
			rt.Fatal(err)
		}
		for how, tables := range map[string][]string{"in other batches": other.dump(t), "rebuilt": l.dump(t)} {
			if diff := cmp.Diff(live, tables); diff != "" {
				rt.Fatalf("tables %s (-live +%s):\n%s", how, how, diff)
			}
		}
	})
}
