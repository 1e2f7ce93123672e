package task_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

func TestRequestsToUnblockAreCounted(t *testing.T) {
	t.Parallel()
	s := started(t)
	s.take(task.Block(&s.task, s.block("ruda", "seum")))
	want := task.Blocked{Reason: "키 대기", By: []string{"ruda", "seum"}, Action: "키 발급", LastIndex: -1, Escalation: "none"}
	same(t, s.task.Blocked, want)

	asked := func(target string, count int) {
		s.happen(coordination.TypeUnblockRequested, coordination.Unblock{TargetAgentID: target, RequestCount: count, Progress: "Asked " + target})
		want.LastAskedAt, want.Failures = s.now, 0
	}
	asked("ruda", 1)
	want.Requests, want.LastIndex, want.Escalation = 1, 0, "requesting"
	same(t, s.task.Blocked, want)
	if s.task.Progress != "Asked ruda" || s.task.Focus != 100 {
		t.Errorf("%+v", s.task)
	}
	s.happen(coordination.TypeUnblockFailed, coordination.Unblock{TargetAgentID: "seum"})
	want.Failures, want.LastIndex = 1, 1 // the next request goes to the one after
	same(t, s.task.Blocked, want)
	asked("seum", 0) // it was not told how often
	want.Requests = 2
	same(t, s.task.Blocked, want)
	asked("nix", 7)
	want.Requests = 7
	same(t, s.task.Blocked, want)
	for range 3 {
		if s.task.Blocked.Escalation != "requesting" {
			t.Errorf("%+v", s.task.Blocked)
		}
		s.happen(coordination.TypeUnblockFailed, coordination.Unblock{TargetAgentID: "ruda"})
	}
	want.Failures, want.Escalation, want.LastIndex = 3, "failed", 0
	same(t, s.task.Blocked, want)

	s.take(task.Resume(&s.task, s.by("eden"), ""))
	same(t, s.task.Blocked, task.Blocked{})
	for _, typ := range []string{coordination.TypeUnblockRequested, coordination.TypeUnblockFailed} {
		if before := s.task; s.happen(typ, coordination.Unblock{TargetAgentID: "ruda"}) || s.task.ProgressCount != before.ProgressCount {
			t.Errorf("%s of a task that is not blocked: %+v", typ, s.task)
		}
	}
	s = in(t, coordination.StateBlocked)
	s.happen(coordination.TypeUnblockFailed, coordination.Unblock{}) // no agent to ask
	if s.task.Blocked.Escalation != "failed" || s.task.Blocked.Failures != 0 {
		t.Errorf("%+v", s.task.Blocked)
	}
}

// A task without progress returns to the backlog, is started for its agent, and is interrupted in the end; how often is kept throughout, also
// in its file.
func TestTakenAwayAndStartedAgain(t *testing.T) {
	t.Parallel()
	s := started(t, "a", "b")
	reassigned := func(want int) {
		t.Helper()
		f := task.File(&s.task, s.progress, nil, nil)
		if s.task.Backlog.Reassigned != want || f.ReassignCount == nil || *f.ReassignCount != float64(want) {
			t.Errorf("taken away %d times, want %d; in the file %v", s.task.Backlog.Reassigned, want, f.ReassignCount)
		}
	}
	for i := 1; i <= 2; i++ {
		s.happen(coordination.TypeZombieAbandoned,
			coordination.ZombieAbandoned{AgeHours: 24.5, ReassignCount: i, Action: coordination.ZombieMovedToBacklog, Progress: "Moved to backlog"})
		if s.task.Status != "backlog" || s.task.Outcome != (task.Outcome{}) || s.task.Terminal() || s.task.Progress != "Moved to backlog" {
			t.Errorf("taken away: %+v", s.task)
		}
		reassigned(i)
		s.happen(coordination.TypeBacklogAutoPicked, coordination.TaskState{
			Context:    coordination.Context{TaskID: "task_1", WorkSessionID: "ws_" + string(rune('1'+i)), PreviousWorkSessionID: s.task.WorkSessionID},
			SessionKey: "agent:eden:main", Progress: "Picked from backlog"})
		last := int64(len(s.stored)) * 100
		if s.task.Status != "in_progress" || s.task.Focus != last || s.task.Last != last || s.task.WorkSessionID != "ws_"+string(rune('1'+i)) ||
			s.task.SessionKey != "agent:eden:main" || shape(s.task.Steps) != "s1 in_progress, s2 pending" {
			t.Errorf("started again: %+v", s.task)
		}
		reassigned(i)
	}
	s.happen(coordination.TypeZombieAbandoned,
		coordination.ZombieAbandoned{AgeHours: 24.5, ReassignCount: 3, Action: coordination.ZombieEscalated, ToldAgentID: "ruda", Progress: "Interrupted"})
	want := task.Outcome{Kind: "interrupted", Reason: "nobody worked at it for 24 h"}
	if s.task.Status != "interrupted" || s.task.Outcome != want || s.task.EndedAt != 0 || s.task.Terminal() {
		t.Errorf("interrupted: %+v", s.task)
	}
	reassigned(3)
	if f := task.File(&s.task, s.progress, nil, nil); string(f.Outcome) != `{"kind":"interrupted","reason":"nobody worked at it for 24 h"}` {
		t.Errorf("its file says %s", f.Outcome)
	}
	for _, action := range []string{coordination.ZombieEscalated, "nonsense"} {
		s := in(t, coordination.StateBlocked)
		if s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: action}) || s.task.Backlog.Reassigned != 0 {
			t.Errorf("%s of a task that is blocked: %+v", action, s.task)
		}
	}
	s.take(task.Resume(&s.task, s.by("eden"), ""))
	if s.task.Outcome != (task.Outcome{}) || s.task.Status != "in_progress" {
		t.Errorf("resumed: %+v", s.task)
	}
	reassigned(3)
}

// The file of a task says how far those who can help were asked.
func TestRequestsToUnblockAreInTheFile(t *testing.T) {
	t.Parallel()
	s := started(t)
	s.take(task.Block(&s.task, s.block("ruda", "seum")))
	says := func(when, escalation string, requests, index, failures float64) {
		t.Helper()
		f := task.File(&s.task, s.progress, nil, nil)
		have := func(n *float64) float64 {
			if n == nil {
				return -1
			}
			return *n
		}
		if f.EscalationState != escalation || have(f.UnblockRequestCount) != requests || have(f.LastUnblockerIndex) != index ||
			have(f.UnblockRequestFailures) != failures || (f.LastUnblockRequestAt != "") != (requests > 0) {
			t.Errorf("%s: %s, asked %v times, the last one %v, %v failures, at %q", when, f.EscalationState, have(f.UnblockRequestCount),
				have(f.LastUnblockerIndex), have(f.UnblockRequestFailures), f.LastUnblockRequestAt)
		}
	}
	says("blocked", "none", 0, -1, -1)
	s.happen(coordination.TypeUnblockRequested, coordination.Unblock{TargetAgentID: "ruda", RequestCount: 1, RunID: "r1"})
	says("asked", "requesting", 1, 0, -1)
	s.happen(coordination.TypeUnblockFailed, coordination.Unblock{TargetAgentID: "ruda", Failures: 1, Error: "e"})
	says("not delivered", "requesting", 1, 0, 1)
	s.happen(coordination.TypeUnblockRequested, coordination.Unblock{TargetAgentID: "seum", RequestCount: 2, RunID: "r2"})
	says("asked again", "requesting", 2, 1, -1)
	s.happen(coordination.TypeUnblockFailed, coordination.Unblock{RequestCount: 2, ToldAgentID: "miri", Reason: "no_answer"})
	says("given up", "failed", 2, 1, -1)
}

// What does not concern the task, or what its state does not lead to, changes nothing: who expects a version is not disturbed by it.
func TestWhatMeansNothing(t *testing.T) {
	t.Parallel()
	anywhere := []string{coordination.TypeTaskStarted, coordination.TypeTaskBacklogAdded, coordination.TypeDelegationSpawned, coordination.TypeDelegationCompleted,
		coordination.TypeMilestoneSyncFailed, coordination.TypeContinuationSent, "task.nonsense", "custom.thing", ""}
	ended := []string{coordination.TypeTaskUpdated, coordination.TypeTaskBlocked, coordination.TypeTaskResumed, coordination.TypeTaskApproved,
		coordination.TypeTaskBacklogPicked, coordination.TypeBacklogAutoPicked, coordination.TypeTaskStopGuardBlocked, coordination.TypeTaskVerified,
		coordination.TypeTaskRejected, coordination.TypeTaskRetrying, coordination.TypeZombieAbandoned, coordination.TypeUnblockRequested, coordination.TypeTaskCancelled}
	check := func(s *stream, typ string) {
		t.Helper()
		want := s.task
		means, err := s.task.Apply(typ, "ruda", []byte(`{"progress":"p","taskId":"other","workSessionId":"ws_9","status":"cancelled"}`), 9900, 99, s.now)
		if means || err != nil || !reflect.DeepEqual(s.task, want) {
			t.Errorf("%s: %v, %v, %+v", typ, means, err, s.task)
		}
	}
	for _, state := range states {
		for _, typ := range anywhere {
			check(in(t, state), typ)
		}
		if s := in(t, state); s.task.Terminal() {
			for _, typ := range ended {
				check(s, typ)
			}
		}
	}
	for _, typ := range append(ended, coordination.TypeTaskCompleted, coordination.TypeTaskForceCompleted) {
		check(newStream(t), typ) // of a task that there is not
	}
}

// Of an event that is redacted only the type is left.
func TestRedactedEventsDoWhatTheirTypeSays(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ typ, from, to string }{
		{coordination.TypeTaskUpdated, "in_progress", "in_progress"},
		{coordination.TypeTaskBlocked, "in_progress", "blocked"},
		{coordination.TypeTaskResumed, "blocked", "in_progress"},
		{coordination.TypeTaskApproved, "pending_approval", "in_progress"},
		{coordination.TypeTaskBacklogPicked, "backlog", "in_progress"},
		{coordination.TypeBacklogAutoPicked, "backlog", "in_progress"},
		{coordination.TypeTaskStopGuardBlocked, "in_progress", "in_progress"},
		{coordination.TypeTaskVerified, "in_progress", "in_progress"},
		{coordination.TypeTaskForceCompleted, "in_progress", "completed"},
		{coordination.TypeTaskCompleted, "in_progress", "completed"},
		{coordination.TypeTaskCancelled, "blocked", "cancelled"},
		{coordination.TypeZombieAbandoned, "in_progress", "backlog"},
		{coordination.TypeUnblockRequested, "blocked", "blocked"},
	} {
		s := in(t, tt.from)
		lines, session := s.task.ProgressCount, s.task.WorkSessionID
		means, err := s.task.Apply(tt.typ, "eden", nil, 900, 9, s.now)
		if !means || err != nil || s.task.Status != tt.to || s.task.ProgressCount != lines || s.task.WorkSessionID != session || s.task.Last != 900 || s.task.Version != 9 {
			t.Errorf("%s: %v, %v, %+v", tt.typ, means, err, s.task)
		}
	}
	for typ, status := range map[string]string{coordination.TypeTaskStarted: "in_progress", coordination.TypeTaskBacklogAdded: "backlog"} {
		made := task.Task{ID: "task_1"}
		if means, err := made.Apply(typ, "eden", nil, 100, 1, 5); !means || err != nil || made.Status != status || made.Agent != "eden" || made.ID != "task_1" || made.CreatedAt != 5 {
			t.Errorf("%s: %+v, %v", typ, made, err)
		}
	}
}

func TestDataThatCannotBeReadChangesNothing(t *testing.T) {
	t.Parallel()
	s := in(t, coordination.StateInProgress)
	before := s.task
	for _, typ := range []string{coordination.TypeTaskUpdated, coordination.TypeTaskBlocked, coordination.TypeTaskCompleted, coordination.TypeZombieAbandoned} {
		if means, err := s.task.Apply(typ, "eden", []byte(`[1]`), 900, 9, s.now); means || err == nil {
			t.Errorf("%s: %v, %v", typ, means, err)
		}
		same(t, s.task, before)
	}
	d := attempt("d1")
	if means, err := d.Apply(coordination.TypeDelegationSpawned, []byte(`{"jobId":1}`), 1, 1); means || err == nil || d != attempt("d1") {
		t.Errorf("%v, %v, %+v", means, err, d)
	}
}

// A copy of a task stays as it is, whatever becomes of the task.
func TestNothingIsChangedInPlace(t *testing.T) {
	t.Parallel()
	s := started(t, "a", "b", "c")
	for _, a := range []task.UpdateAsk{
		{Action: "complete_step", StepID: "s1"}, {Action: "add_step", StepContent: "d"}, {Action: "reorder_steps", Order: []string{"s4", "s3"}},
		{Action: "start_step", StepID: "s3"}, {Action: "add_step", StepContent: "e"}, {Action: "set_steps", Steps: news("f")},
	} {
		a.Asked = s.by("eden")
		copied, steps := s.task, slices.Clone(s.task.Steps)
		s.take(task.Update(&s.task, a))
		if !slices.Equal(copied.Steps, steps) {
			t.Errorf("%s has changed a copy: %v", a.Action, copied.Steps)
		}
		if reflect.DeepEqual(s.task.Steps, steps) {
			t.Errorf("%s has changed nothing", a.Action)
		}
	}
}

func TestAClockThatIsSetBack(t *testing.T) {
	t.Parallel()
	s := started(t)
	created := s.task.CreatedAt
	s.now -= day
	s.take(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden")}))
	if s.task.EndedAt != created {
		t.Errorf("it has ended %d ms before it began", created-s.task.EndedAt)
	}
}

// Foreign data does no harm.
func FuzzApply(f *testing.F) {
	types := []string{coordination.TypeTaskStarted, coordination.TypeTaskBacklogAdded, coordination.TypeTaskUpdated, coordination.TypeTaskBlocked,
		coordination.TypeTaskResumed, coordination.TypeTaskApproved, coordination.TypeTaskCompleted, coordination.TypeZombieAbandoned,
		coordination.TypeUnblockRequested, coordination.TypeUnblockFailed, coordination.TypeTaskVerified}
	for i := range types {
		f.Add(i, `{"taskId":"t","steps":[{"id":"s1","order":2},{"id":"s1","order":-1}],"unblockedBy":["a"],"progress":"p","status":"done"}`)
		f.Add(i, `{"steps":null,"stepsReplaced":true,"reassignCount":-3,"ageHours":1e300,"requestCount":9223372036854775807}`)
		f.Add(i, `[]`)
	}
	f.Fuzz(func(t *testing.T, which int, text string) {
		typ := types[(which%len(types)+len(types))%len(types)]
		for _, state := range states {
			s := in(t, state)
			s.task.Steps = []coordination.TaskStep{{ID: "s1", Content: "a", Status: "pending", Order: 1}}
			before := s.task
			means, err := s.task.Apply(typ, "eden", []byte(text), 900, 9, s.now)
			if err != nil && means || !means && s.task.Status != before.Status || before.Steps[0].Content != "a" {
				t.Fatalf("%v, %v, %+v", means, err, s.task)
			}
			if err == nil && text != "" && !json.Valid([]byte(text)) && typ != "" {
				t.Fatalf("%q was read", text)
			}
			for name, d := range decisions {
				if events, err := d.decide(s); err == nil && len(events) == 0 {
					t.Fatalf("%s decides nothing", name)
				}
			}
		}
		for _, status := range statuses[1:] {
			d := attempt("d1")
			if _, err := d.Apply("delegation."+status, []byte(text), 1, 1); err != nil && d != attempt("d1") {
				t.Fatalf("%+v", d)
			}
		}
	})
}
