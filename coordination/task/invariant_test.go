package task_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
)

func TestInvariant05_BlockAndResumeLoseNothing(t *testing.T) {
	t.Parallel()
	s := started(t, "a", "b")
	s.take(task.Update(&s.task, task.UpdateAsk{Asked: s.by("eden"), Action: "complete_step", StepID: "s1"}))
	before := s.task
	s.take(task.Block(&s.task, s.block(" Ruda ", "seum", "ruda", "")))
	same(t, s.task.Blocked, task.Blocked{Reason: "키 대기", By: []string{"ruda", "seum"}, Action: "키 발급", LastIndex: -1, Escalation: "none"})
	if s.task.Progress != "[BLOCKED] 키 대기" {
		t.Errorf("%q", s.task.Progress)
	}
	s.take(task.Resume(&s.task, s.by("eden"), ""))
	if got := s.task.ProgressCount; got != before.ProgressCount+2 || s.task.Progress != "Task resumed" {
		t.Errorf("%d lines, the last %q", got, s.task.Progress)
	}
	want := before
	want.Version, want.Last, want.Focus, want.ActiveAt = s.task.Version, s.task.Last, s.task.Last, s.task.ActiveAt
	want.ProgressCount, want.Progress = s.task.ProgressCount, s.task.Progress
	same(t, s.task, want)
}

func TestInvariant06_ThreeCyclesOfBlockAndResume(t *testing.T) {
	t.Parallel()
	s := started(t)
	for range 3 {
		s.take(task.Block(&s.task, s.block("ruda")))
		s.take(task.Resume(&s.task, s.by("ruda"), ""))
	}
	want := []string{"Task started", "[BLOCKED] 키 대기", "Task resumed", "[BLOCKED] 키 대기", "Task resumed", "[BLOCKED] 키 대기", "Task resumed"}
	if !slices.Equal(s.progress, want) || s.task.ProgressCount != 1+3*2 {
		t.Errorf("%d: %q", s.task.ProgressCount, s.progress)
	}
}

func TestInvariant08_RemainingStepsStopACompletion(t *testing.T) {
	t.Parallel()
	s := started(t, "a", "b", "c", "d", "e")
	events, err := task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden"), Summary: "x"})
	r := refused(t, events, err)
	if r.Reason != task.CodeStopGuard || len(r.Details.Remaining) != 5 || !strings.Contains(r.Text, "5 steps") {
		t.Errorf("%+v", r)
	}
	same(t, r.Details.Remaining[:2], []task.Remaining{{ID: "s1", Content: "a", Status: "in_progress"}, {ID: "s2", Content: "b", Status: "pending"}})
	sameTypes(t, events, coordination.TypeTaskStopGuardBlocked)
	if ids := events[0].Data.(coordination.TaskState).RemainingSteps; !slices.Equal(ids, []string{"s1", "s2", "s3", "s4", "s5"}) {
		t.Errorf("%v", ids)
	}
	before := s.task
	s.take(events, nil)
	if s.task.Status != before.Status || s.task.ProgressCount != before.ProgressCount+1 || shape(s.task.Steps) != shape(before.Steps) {
		t.Errorf("%+v", s.task)
	}
}

func TestInvariant09_DoneOrSkippedStepsStopNothing(t *testing.T) {
	t.Parallel()
	for _, steps := range []string{"", "s1 done", "s1 skipped", "s1 done, s2 skipped, s3 done"} {
		s := withSteps(t, steps)
		sameTypes(t, s.take(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden"), Force: true})), coordination.TypeTaskCompleted)
	}
	for _, steps := range []string{"s1 pending", "s1 in_progress", "s1 done, s2 pending"} {
		s := withSteps(t, steps)
		if events, err := task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden")}); len(refused(t, events, err).Details.Remaining) != 1 || !strings.Contains(err.Error(), "1 step left") {
			t.Errorf("%s: %v", steps, err)
		}
	}
}

// The first of two completions wins, the other one is told that the task is over.
func TestInvariant10_ATaskIsCompletedOnce(t *testing.T) {
	t.Parallel()
	s := started(t)
	a := task.CompleteAsk{Asked: s.by("eden")}
	s.take(task.Complete(&s.task, a))
	events, err := task.Complete(&s.task, a)
	if refused(t, events, err).Reason != task.CodeState {
		t.Error(err)
	}
	a.Expect = new(int64(1))
	if events, err := task.Complete(&s.task, a); refused(t, events, err).Reason != task.CodeConflict {
		t.Error(err)
	}
}

func TestInvariant11_ForceIsRecorded(t *testing.T) {
	t.Parallel()
	s := withSteps(t, "s1 done, s2 in_progress, s3 pending")
	events := s.take(task.Complete(&s.task, task.CompleteAsk{Asked: s.by("eden"), Force: true, Summary: "요약"}))
	sameTypes(t, events, coordination.TypeTaskForceCompleted, coordination.TypeTaskCompleted)
	if ids := events[0].Data.(coordination.TaskState).RemainingSteps; !slices.Equal(ids, []string{"s2", "s3"}) {
		t.Errorf("%v", ids)
	}
	if s.task.Status != "completed" || s.task.Outcome.Summary != "요약" || shape(s.task.Steps) != "s1 done, s2 in_progress, s3 pending" ||
		!slices.Equal(s.progress[1:], []string{"[FORCE COMPLETE] Steps left: s2, s3", "Task completed"}) {
		t.Errorf("%+v, %q", s.task, s.progress)
	}
}

// Only the named agents may resume a blocked task.
func TestInvariant15_OnlyOwnersAndHelpersResume(t *testing.T) {
	t.Parallel()
	for by, ok := range map[string]bool{"eden": true, "ruda": true, "seum": false, "": false} {
		s := in(t, coordination.StateBlocked)
		events, err := task.Resume(&s.task, s.by(by), "")
		if (err == nil) != ok || !ok && refused(t, events, err).Reason != task.CodeUnknown {
			t.Errorf("%q: %v", by, err)
		}
		if s.take(events, nil); ok && by != "eden" && !strings.Contains(string(s.stored[2].data), `"decidedBy":"`+by+`"`) {
			t.Errorf("%s", s.stored[2].data)
		}
	}
	s := in(t, coordination.StateBlocked)
	s.take(task.Resume(&s.task, s.by("ruda"), ""))
	if events, err := task.Resume(&s.task, s.by("ruda"), ""); refused(t, events, err).Reason != task.CodeUnknown {
		t.Error(err)
	}
}

func TestInvariant15_HelpersOfATaskThatIsOverAreStrangers(t *testing.T) {
	t.Parallel()
	s := in(t, coordination.StateBlocked)
	s.take(task.Cancel(&s.task, s.by("eden"), ""))
	if events, err := task.Resume(&s.task, s.by("ruda"), ""); refused(t, events, err).Reason != task.CodeUnknown {
		t.Error(err)
	}
}

func TestInvariant20_CountAndMilestoneSurviveEveryChange(t *testing.T) {
	t.Parallel()
	s := newStream(t)
	b := s.backlog()
	b.MilestoneID, b.MilestoneItemID = "m1", "i1"
	s.take(task.AddBacklog(b))
	for n := 1; n <= 3; n++ {
		s.take(task.Pick(&s.task, task.PickAsk{Asked: s.by("eden")}))
		s.take(task.Block(&s.task, s.block("ruda")))
		s.take(task.Resume(&s.task, s.by("eden"), ""))
		s.happen(coordination.TypeZombieAbandoned, coordination.ZombieAbandoned{Action: coordination.ZombieMovedToBacklog, ReassignCount: n})
		if g := s.task.Backlog; g.Reassigned != n || g.MilestoneID != "m1" || g.MilestoneItemID != "i1" {
			t.Fatalf("%+v", g)
		}
	}
	s.take(task.Cancel(&s.task, s.by("eden"), ""))
	if g := s.task.Backlog; g.Reassigned != 3 || g.MilestoneID != "m1" {
		t.Errorf("%+v", g)
	}
}
