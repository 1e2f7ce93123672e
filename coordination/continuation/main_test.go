package continuation_test

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/task"
)

const begin = int64(1_790_000_000_000)

func ms(d time.Duration) int64 { return d.Milliseconds() }

// tester is *testing.T or *rapid.T.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// world is an agent, eden, with its tasks, as they follow from what happens.
type world struct {
	t    tester
	now  int64
	s    continuation.Situation
	seq  int64
	runs int
	sent []continuation.Decision
	at   []int64 // of sent

	others map[string]string // how tasks stand that are over, or another agent's
}

func eden(t tester) *world {
	return &world{t: t, now: begin, s: continuation.Situation{Agent: "eden", Policy: continuation.DefaultPolicy(), Lead: "main"}}
}

func (w *world) after(d time.Duration) *world {
	w.now += ms(d)
	return w
}

// happens folds an event, into the state as well as into its task.
func (w *world) happens(typ, taskID string, data any) {
	w.t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	w.seq++
	if _, err := w.s.State.Apply(typ, "eden", text, w.now); err != nil {
		w.t.Fatalf("%v", err)
	}
	if taskID == "" {
		return
	}
	t := w.task(taskID)
	if t == nil {
		w.s.Tasks = append(w.s.Tasks, task.Task{ID: taskID})
		t = &w.s.Tasks[len(w.s.Tasks)-1]
	}
	if _, err := t.Apply(typ, "eden", text, w.seq, t.Version+1, w.now); err != nil {
		w.t.Fatalf("%v", err)
	}
	if t.Terminal() {
		w.stands(taskID, t.Status)
		w.s.Tasks = slices.DeleteFunc(w.s.Tasks, func(other task.Task) bool { return other.ID == taskID })
	}
	w.backlog()
}

// backlog replaces the table: it names the task that can start.
func (w *world) backlog() {
	w.s.Pickable, w.s.Waiting, w.s.Stuck = nil, 0, continuation.Stuck{}
	working := slices.ContainsFunc(w.s.Tasks, func(t task.Task) bool { return t.Status == coordination.StateInProgress })
	states := maps.Clone(w.others)
	if states == nil {
		states = map[string]string{}
	}
	for i := range w.s.Tasks {
		states[w.s.Tasks[i].ID] = w.s.Tasks[i].Status
	}
	for i := range w.s.Tasks {
		t := w.s.Tasks[i]
		if t.Status != coordination.StateBacklog {
			continue
		}
		w.s.Waiting++
		switch {
		case task.Pickable(&t, states, w.now) != "":
			w.s.Stuck.Add(&w.s.State, &t, states)
		case w.s.Pickable == nil:
			w.s.Pickable = &t
		}
	}
	if working || w.s.Pickable != nil {
		w.s.Stuck = continuation.Stuck{}
	}
}

func (w *world) task(id string) *task.Task {
	for i := range w.s.Tasks {
		if w.s.Tasks[i].ID == id {
			return &w.s.Tasks[i]
		}
	}
	return nil
}

func about(id string) coordination.Context {
	return coordination.Context{TaskID: id, WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration}
}

// starts begins a task with steps, of which the first is in progress.
func (w *world) starts(id string, steps ...string) *world {
	w.t.Helper()
	var list []coordination.TaskStep
	for i, content := range steps {
		status := "pending"
		if i == 0 {
			status = "in_progress"
		}
		list = append(list, coordination.TaskStep{ID: "s" + strconv.Itoa(i+1), Content: content, Status: status, Order: i + 1})
	}
	w.happens(coordination.TypeTaskStarted, id, coordination.TaskStarted{Context: about(id), Priority: "high", Description: "tile the roof", Steps: list, Progress: "Task started"})
	return w
}

func (w *world) waitsForApproval(id string) *world {
	w.t.Helper()
	w.happens(coordination.TypeTaskStarted, id, coordination.TaskStarted{Context: about(id), Description: "spend money", RequiresApproval: true})
	return w
}

func (w *world) blocks(id string, by ...string) *world {
	w.t.Helper()
	w.happens(coordination.TypeTaskBlocked, id, coordination.TaskBlocked{Context: about(id), Reason: "no tiles", UnblockedBy: by, UnblockedAction: "buy tiles", Progress: "[BLOCKED] no tiles"})
	return w
}

func (w *world) adds(id string, dependsOn ...string) *world {
	w.t.Helper()
	w.happens(coordination.TypeTaskBacklogAdded, id, coordination.TaskBacklogAdded{Context: about(id), Assignee: "eden", Description: "paint the wall", CreatedBy: "seum",
		DependsOn: dependsOn})
	return w
}

// stands has a task that is not eden's, or is over, stand so.
func (w *world) stands(id, status string) *world {
	if w.others == nil {
		w.others = map[string]string{}
	}
	w.others[id] = status
	w.backlog()
	return w
}

// finishes completes a step.
func (w *world) finishes(id, step string) *world {
	w.t.Helper()
	changed := slices.Clone(w.task(id).Steps)
	for i := range changed {
		if changed[i].ID == step {
			changed[i].Status = "done"
			if i+1 < len(changed) {
				changed[i+1].Status = "in_progress"
			}
		}
	}
	w.happens(coordination.TypeTaskUpdated, id, coordination.TaskUpdated{Context: about(id), Action: "complete_step", StepID: step, Steps: changed})
	return w
}

// ends has a run of the main session end; "" is the one that the last prompt asked for, or another one where there is none.
func (w *world) ends(typ string, over coordination.RunOver) *world {
	w.t.Helper()
	if over.RunID == "" {
		over.RunID = w.s.State.Prompt.RunID
	}
	if over.RunID == "" || w.s.State.Prompt.Over {
		w.runs++
		over.RunID = "chat " + strconv.Itoa(w.runs)
	}
	if over.SessionKey == "" {
		over.SessionKey = "agent:eden:main"
	}
	w.s.Busy = false
	w.happens(typ, "", over)
	return w
}

func (w *world) well() *world {
	w.t.Helper()
	return w.ends(coordination.TypeRunEnded, coordination.RunOver{})
}

func (w *world) fails(class, text string) *world {
	w.t.Helper()
	return w.ends(coordination.TypeRunFailed, coordination.RunOver{ErrorClass: class, Error: text})
}

func (w *world) next() continuation.Decision { return continuation.Next(&w.s, w.now) }

// take carries a decision out: its run is queued.
func (w *world) take(d continuation.Decision) {
	w.t.Helper()
	w.sent, w.at = append(w.sent, d), append(w.at, w.now)
	for _, e := range d.Events(&w.s, d.Key) {
		w.happens(e.Type, e.TaskID, e.Data)
		if (e.Type == coordination.TypeContinuationSent || e.Type == coordination.TypeResumeReminderSent) && d.To == "eden" {
			w.s.Busy = true
		}
	}
}

// does carries out what is decided now, and fails unless that is of a kind.
func (w *world) does(kind continuation.Kind, reason continuation.Reason) continuation.Decision {
	w.t.Helper()
	d := w.next()
	if d.Kind != kind || d.Reason != reason {
		w.t.Fatalf("%s, %s, look at +%d s; want %s, %s\n%s", d.Kind, d.Reason, (d.LookAgainAt-w.now)/1000, kind, reason, continuation.Explain(d, w.now))
	}
	if kind != continuation.Nothing {
		w.take(d)
	}
	return d
}

// rests fails unless nothing is done before a time, which then is looked at; 0 is never.
func (w *world) rests(reason continuation.Reason, wait time.Duration) {
	w.t.Helper()
	d := w.does(continuation.Nothing, reason)
	at := int64(0)
	if wait > 0 {
		at = w.now + ms(wait)
	}
	if d.LookAgainAt != at {
		w.t.Fatalf("%s: it is looked at again after %s, want %s", reason, time.Duration(d.LookAgainAt-w.now)*time.Millisecond, wait)
	}
}

// restarts begins a process that knows what was stored alone.
func (w *world) restarts() *world {
	w.t.Helper()
	w.again()
	w.s.RestartedAt, w.s.Busy = w.now, false
	return w
}

// again reads the state as it was stored.
func (w *world) again() {
	w.t.Helper()
	text, err := json.Marshal(w.s.State)
	if err != nil {
		w.t.Fatalf("%v", err)
	}
	var stored continuation.State
	if err := json.Unmarshal(text, &stored); err != nil {
		w.t.Fatalf("%v", err)
	}
	if !reflect.DeepEqual(stored, w.s.State) {
		w.t.Fatalf("%+v\nis stored as\n%+v", w.s.State, stored)
	}
	w.s.State = stored
}

// tells are the events of a type that decisions have made.
func (w *world) tells(kind continuation.Kind) (list []continuation.Decision) {
	for _, d := range w.sent {
		if d.Kind == kind {
			list = append(list, d)
		}
	}
	return list
}

func minutes(t *testing.T, at []int64) (list []int64) {
	t.Helper()
	for _, ms := range at {
		list = append(list, (ms-begin)/60_000)
	}
	return list
}
