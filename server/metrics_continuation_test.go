package server

import (
	"context"
	"database/sql"
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/pending"
)

// goingLog is a log whose events a test names, of a time of day that goes on by a second with each.
type goingLog struct {
	t   *testing.T
	log *sqlite.DB
	now time.Time
}

func newGoingLog(t *testing.T, begin time.Time) *goingLog {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := log.Close(); err != nil {
			t.Error(err)
		}
	})
	rules := coordination.RulesV2
	if _, err := projections.Start(t.Context(), log, database.Projections(rules), projections.Options{Rules: rules}); err != nil {
		t.Fatal(err)
	}
	return &goingLog{t, log, begin}
}

// happens appends an event a second after the one before, and gives its time.
func (s *goingLog) happens(stream, typ, agent string, said any) time.Time {
	s.t.Helper()
	data, err := json.Marshal(said)
	if err != nil {
		s.t.Fatal(err)
	}
	s.now = s.now.Add(time.Second)
	e := eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem, Data: data}.WithTS(s.now.UnixMilli())
	if _, err := s.log.Append(s.t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{e}}); err != nil {
		s.t.Fatal(err)
	}
	return s.now
}

func within(taskID string) coordination.Context {
	return coordination.Context{TaskID: taskID, WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration}
}

// starts has an agent start a task.
func (s *goingLog) starts(agent, taskID string, approval bool) time.Time {
	s.t.Helper()
	return s.happens(coordination.TaskStream(taskID), coordination.TypeTaskStarted, agent,
		coordination.TaskStarted{Context: within(taskID), Priority: "medium", RequiresApproval: approval, Description: "일"})
}

// blocks has a task blocked.
func (s *goingLog) blocks(agent, taskID string) {
	s.t.Helper()
	s.starts(agent, taskID, false)
	s.happens(coordination.TaskStream(taskID), coordination.TypeTaskBlocked, agent,
		coordination.TaskBlocked{Context: within(taskID), Reason: "a key is missing", UnblockedBy: []string{"seum"}})
}

// unblocks tells what has become of a request to unblock a task.
func (s *goingLog) unblocks(typ, agent, taskID, target string) {
	s.t.Helper()
	s.happens(coordination.TaskStream(taskID), typ, agent, coordination.Unblock{Context: within(taskID), TargetAgentID: target, RequestCount: 1})
}

// pauses has prompts to an agent pause for a time.
func (s *goingLog) pauses(agent string, d time.Duration) {
	s.t.Helper()
	s.happens("agent/"+agent, coordination.TypeContinuationBackoff, agent, coordination.Continuation{
		Context: coordination.Context{EventRole: coordination.RoleOrchestration}, Reason: "rate_limit", ConsecutiveFailures: 2, BackoffMs: d.Milliseconds()})
}

func (s *goingLog) submits(agent, planID string) time.Time {
	s.t.Helper()
	return s.happens(coordination.PlanStream(planID), coordination.TypePlanSubmitted, agent,
		coordination.Plan{Context: within("task_plan"), PlanID: planID, Title: "계획", StepsCount: 1, Steps: []string{"one"}})
}

func (s *goingLog) going(now time.Time) *continuationFacts {
	s.t.Helper()
	f := &facts{at: now}
	if err := s.log.View(s.t.Context(), func(tx *sql.Tx) error { return f.read(context.Background(), tx) }); err != nil {
		s.t.Fatal(err)
	}
	return f.going
}

// The figures agree with the log, and end when it does.
func TestFiguresOfWhoGoesOn(t *testing.T) {
	t.Parallel()
	s := newGoingLog(t, time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC))
	none := map[string]int64{}
	for _, typ := range goingTypes {
		none[typ] = 0
	}
	same := func(what string, want *continuationFacts, now time.Time) {
		t.Helper()
		if diff := cmp.Diff(want, s.going(now), cmp.AllowUnexported(continuationFacts{})); diff != "" {
			t.Errorf("%s, -want +got:\n%s", what, diff)
		}
	}
	same("of an empty log", &continuationFacts{happened: none, approvals: map[string]pending.Kind{}}, s.now)

	first := s.starts("eden", "task_a", true)
	s.starts("seum", "task_b", true)
	s.starts("seum", "task_c", false)
	plan := s.submits("eden", "plan_a")
	s.submits("eden", "plan_b")
	s.blocks("eden", "task_d")
	s.unblocks(coordination.TypeUnblockRequested, "eden", "task_d", "seum")
	s.blocks("eden", "task_e")
	s.unblocks(coordination.TypeUnblockRequested, "eden", "task_e", "seum")
	s.unblocks(coordination.TypeUnblockFailed, "eden", "task_e", "")
	s.pauses("eden", time.Minute)
	s.pauses("seum", time.Hour)
	happened := map[string]int64{coordination.TypeContinuationSent: 0, coordination.TypeContinuationBackoff: 2, coordination.TypeResumeReminderSent: 0,
		coordination.TypeBacklogAutoPicked: 0, coordination.TypeUnblockRequested: 2, coordination.TypeUnblockFailed: 1, coordination.TypeZombieAbandoned: 0}
	all := &continuationFacts{pausing: 2, told: 1, happened: happened,
		approvals: map[string]pending.Kind{"task": {N: 2, SinceMs: first.UnixMilli()}, "plan": {N: 2, SinceMs: plan.UnixMilli()}}}
	same("while all of it waits", all, s.now)
	all.pausing = 1
	same("when one pause is over", all, s.now.Add(2*time.Minute))

	for _, id := range []string{"task_a", "task_b"} {
		s.happens(coordination.TaskStream(id), coordination.TypeTaskApproved, "eden", coordination.TaskState{Context: within(id)})
	}
	s.happens(coordination.TaskStream("task_e"), coordination.TypeTaskResumed, "eden", coordination.TaskState{Context: within("task_e")})
	for _, id := range []string{"plan_a", "plan_b"} {
		s.happens(coordination.PlanStream(id), coordination.TypePlanApproved, "eden", coordination.Plan{Context: within("task_plan"), PlanID: id, DecidedBy: "seum"})
	}
	same("when it is decided", &continuationFacts{happened: happened, approvals: map[string]pending.Kind{}}, s.now.Add(2*time.Hour))
}

// Where another gateway runs the agents, our tables say nothing of continuation.
func TestFollowersHaveNoFiguresOfWhoGoesOn(t *testing.T) {
	t.Parallel()
	s := newGoingLog(t, time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC))
	s.starts("eden", "task_a", true)
	f := &facts{at: s.now, following: true}
	if err := s.log.View(t.Context(), func(tx *sql.Tx) error { return f.read(t.Context(), tx) }); err != nil || f.going != nil {
		t.Errorf("figures are %+v (%v), want none", f.going, err)
	}
}
