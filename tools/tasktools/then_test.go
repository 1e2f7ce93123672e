package tasktools_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/tools/tasktools"
)

// runs is a queue of runs, which nothing begins.
func (o *fixture) runs(limits runqueue.Limits) *runqueue.Queue {
	models := catalogue.New(o.config, catalogue.Options{})
	return runqueue.New(runqueue.Options{Log: o.db, Config: func() *config.Config { return o.config }, Models: func() *catalogue.Catalogue { return models },
		Now: o.now, NewID: uuid.NewString, Limits: limits})
}

// telling is a fixture that reports decisions to agents.
func telling(t testing.TB, settings string) *fixture {
	t.Helper()
	return setupThen(t, settings, func(o *fixture) []tasktools.Then {
		return []tasktools.Then{tasktools.NotifyOwners(o.runs(runqueue.Limits{}))}
	})
}

// queued are the runs that were asked for, the first first.
func (o *fixture) queued() (list []coordination.RunQueued) {
	o.t.Helper()
	for _, e := range o.all() {
		if e.Type == coordination.TypeRunQueued {
			var q coordination.RunQueued
			if err := json.Unmarshal(e.Data, &q); err != nil {
				o.t.Fatal(err)
			}
			list = append(list, q)
		}
	}
	return list
}

func (o *fixture) all() []eventstore.Event {
	o.t.Helper()
	all, err := o.db.Read(o.t.Context(), 0, 100_000)
	if err != nil {
		o.t.Fatal(err)
	}
	return all
}

// waiting is a task of ruda's that waits for approval.
func (o *fixture) waiting(description string) string {
	o.t.Helper()
	return o.does("ruda", "task_start", `{"description":%q,"requires_approval":true,"steps":[{"content":"첫 단계"},{"content":"b"}]}`, description).text("taskId")
}

func code(err error) string {
	if r, is := errors.AsType[*task.Refusal](err); is {
		return r.Code()
	}
	return ""
}

// The owner of an approved or rejected task is told, no matter who decided.
func TestOwnersAreTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		decide   func(o *fixture, id string)
		word, by string
		actor    eventstore.Actor
		says     []string
	}{
		"approved by an agent": {func(o *fixture, id string) { o.does("eden", "task_approve", `{"task_id":%q}`, id) }, "approved", "eden", eventstore.ActorAgent,
			[]string{"[Approved]", "begin with it", "Step to begin with: (s1) 첫 단계"}},
		"rejected by an agent": {func(o *fixture, id string) {
			o.does("eden", "task_reject", `{"task_id":%q,"reason":"너무 크다"}`, id)
		}, "rejected", "eden",
			eventstore.ActorAgent, []string{"[Rejected]", "Reason: 너무 크다", "do not work at it"}},
		"approved by a person": {func(o *fixture, id string) {
			if k, err := o.service.Approve(o.t.Context(), " "+id, " 지민 "); err != nil || k.Status != "in_progress" || k.ID != id || k.Version != 2 {
				o.t.Errorf("approved: %+v, %v", k, err)
			}
		}, "approved", "지민", eventstore.ActorHuman, []string{"[Approved]"}},
		"rejected by a person": {func(o *fixture, id string) {
			k, err := o.service.Reject(o.t.Context(), id, "지민", "작게 나눠라")
			if err != nil || k.Status != "cancelled" || k.Outcome != (task.Outcome{Kind: "cancelled", Reason: "작게 나눠라", By: "지민"}) {
				o.t.Errorf("rejected: %+v, %v", k, err)
			}
		}, "rejected", "지민", eventstore.ActorHuman, []string{"[Rejected]", "Reason: 작게 나눠라"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := telling(t, team)
			id := o.waiting("집을 허문다")
			if n := len(o.queued()); n != 0 {
				t.Fatalf("%d runs before anything is decided", n)
			}
			c.decide(o, id)
			all := o.queued()
			if len(all) != 1 {
				t.Fatalf("runs are %+v, want one", all)
			}
			q := all[0]
			if q.RunID != "task:"+id+":"+c.word+":2" || q.SessionKey != "agent:ruda:main" || q.Cause != "approval" || q.TaskID != id || q.OnRestart != "" ||
				q.Deliver || q.WorkSessionID != o.task("ruda", id).text("workSessionId") || q.Provenance != "internal_system" {
				t.Errorf("asked for is %+v", q)
			}
			for _, text := range append(c.says, id, c.by, "집을 허문다") {
				if !strings.Contains(q.Message, text) {
					t.Errorf("%q is not in\n%s", text, q.Message)
				}
			}
			of := o.events(id)
			decided := of[len(of)-1]
			if decided.Actor != c.actor || decided.AgentID != "ruda" || !strings.Contains(string(decided.Data), `"decidedBy":"`+c.by+`"`) {
				t.Errorf("%s by %s: %s", decided.Type, decided.Actor, decided.Data)
			}
			// In one commit: nothing is between the decision and its consequences.
			rest := o.all()[decided.Seq:]
			if i := slices.IndexFunc(rest, func(e eventstore.Event) bool { return e.Type == coordination.TypeRunQueued }); i != len(rest)-1 ||
				rest[i].RecordedAt != decided.RecordedAt {
				t.Errorf("after the decision: %+v", rest)
			}
		})
	}
}

// An owner is not told of its own changes.
func TestOwnersAreNotToldOfWhatTheyDo(t *testing.T) {
	t.Parallel()
	o := telling(t, team)
	o.does("ruda", "task_cancel", `{"task_id":%q,"reason":"r"}`, o.waiting("x"))
	id := o.starts("ruda", "y")
	o.does("ruda", "task_block", `{"reason":"r","unblock_by":["eden"]}`)
	o.does("eden", "task_resume", `{"task_id":%q}`, id)
	o.does("ruda", "task_complete", `{}`)
	o.refuses(task.CodeNotAllowed, "ruda", "task_approve", `{"task_id":%q}`, o.waiting("z"))
	if all := o.queued(); len(all) != 0 {
		t.Errorf("runs are %+v, want none", all)
	}
}

// The tools that prompts name have the parameters that they mention.
func TestBug29_DecisionsNameParametersThatThereAre(t *testing.T) {
	t.Parallel()
	o := telling(t, team)
	o.does("eden", "task_approve", `{"task_id":%q}`, o.waiting("x"))
	o.does("eden", "task_reject", `{"task_id":%q,"reason":"r"}`, o.waiting("y"))
	schemas := map[string]string{}
	for _, s := range o.box.Offer(caller("ruda")) {
		schemas[s.Name] = string(s.Schema)
	}
	calls, parameter := regexp.MustCompile(`\b(task_[a-z]+) \(([^)]*)\)`), regexp.MustCompile(`^ ?(\w+)`)
	named := map[string]bool{}
	for _, q := range o.queued() {
		for _, call := range calls.FindAllStringSubmatch(q.Message, -1) {
			for _, argument := range strings.Split(call[2], ",") {
				if p := parameter.FindStringSubmatch(argument); p == nil || !strings.Contains(schemas[call[1]], `"`+p[1]+`":{`) {
					t.Errorf("%s has no parameter %q: %s", call[1], argument, schemas[call[1]])
				}
			}
			named[call[1]] = true
		}
	}
	if want := map[string]bool{"task_update": true, "task_complete": true, "task_start": true}; !cmp.Equal(want, named) {
		t.Errorf("named are %v, want %v", named, want)
	}
}

// Of many concurrent decisions one succeeds; the others get the state. The owner is told once.
//
// Promise: approvals
func TestOneDecision(t *testing.T) {
	t.Parallel()
	o := telling(t, team)
	for i := range 4 {
		id := o.waiting(fmt.Sprint("task ", i))
		all := together(12, func(n int) error {
			switch n % 4 {
			case 0:
				_, err := o.service.Approve(o.t.Context(), id, fmt.Sprint("person ", n))
				return err
			case 1:
				_, err := o.service.Reject(o.t.Context(), id, fmt.Sprint("person ", n), "r")
				return err
			}
			tool := []string{2: "task_approve", 3: "task_reject"}[n%4]
			a, err := o.call(caller("eden"), tool, fmt.Sprintf(map[string]string{"task_approve": `{"task_id":%q}`, "task_reject": `{"task_id":%q,"reason":"r"}`}[tool], id))
			if c := a.text("code"); c != "" {
				err = &task.Refusal{Reason: c}
			}
			return err
		})
		decided := 0
		for _, err := range all {
			switch {
			case err == nil:
				decided++
			case code(err) != task.CodeState:
				t.Errorf("refused: %v, want code %s", err, task.CodeState)
			}
		}
		events := o.types(id)
		runs := slices.DeleteFunc(o.queued(), func(q coordination.RunQueued) bool { return q.TaskID != id })
		if decided != 1 || len(events) != 2 || len(runs) != 1 {
			t.Fatalf("%d have decided, events are %v, runs %+v; want one of each", decided, events, runs)
		}
		word := map[string]string{"task.approved": "approved", "task.cancelled": "rejected"}[events[1]]
		if !strings.HasPrefix(runs[0].RunID, "task:"+id+":"+word+":") {
			t.Errorf("decided is %v, told is %s", events, runs[0].RunID)
		}
	}
}

// The decision stands even if the run cannot be queued or the session takes none.
func TestDecisionsThatCannotBeTold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits  runqueue.Limits
		prepare func(o *fixture)
	}{
		"no room": {runqueue.Limits{SessionWaiting: 1}, func(o *fixture) {
			o.does("eden", "task_approve", `{"task_id":%q}`, o.waiting("takes the room"))
		}},
		"no room at all": {runqueue.Limits{Waiting: 1}, func(o *fixture) {
			o.does("eden", "task_approve", `{"task_id":%q}`, o.waiting("takes the room"))
		}},
		"it takes none": {runqueue.Limits{}, func(o *fixture) {
			o.does("eden", "task_approve", `{"task_id":%q}`, o.waiting("makes the session"))
			o.appends("session/agent:ruda:main", coordination.TypeSessionPatched, "ruda", eventstore.ActorHuman,
				coordination.SessionPatched{SessionKey: "agent:ruda:main", Set: json.RawMessage(`{"sendPolicy":"deny"}`)})
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := setupThen(t, team, func(o *fixture) []tasktools.Then { return []tasktools.Then{tasktools.NotifyOwners(o.runs(c.limits))} })
			c.prepare(o)
			before := len(o.queued())
			approved, rejected := o.waiting("x"), o.waiting("y")
			o.does("eden", "task_approve", `{"task_id":%q}`, approved)
			if _, err := o.service.Reject(t.Context(), rejected, "지민", "r"); err != nil {
				t.Errorf("rejected: %v", err)
			}
			if a, b := o.task("ruda", approved).text("status"), o.task("ruda", rejected).text("status"); a != "in_progress" || b != "cancelled" {
				t.Errorf("they are %s and %s", a, b)
			}
			if n := len(o.queued()); n != before {
				t.Errorf("%d runs were asked for, want none", n-before)
			}
		})
	}
}

// The id of a run cannot hold every task id: names of files are longer.
func TestTasksWithLongNamesAreTold(t *testing.T) {
	t.Parallel()
	o := telling(t, team)
	long := "task_" + strings.Repeat("가", 60)
	o.imports(long, "# Task: "+long+"\n\n## Metadata\n- **Status:** pending_approval\n- **Created:** 2026-02-20T09:00:00.000Z\n\n## Description\nx\n")
	if _, err := o.service.Approve(t.Context(), long, "지민"); err != nil {
		t.Fatal(err)
	}
	all := o.queued()
	if len(all) != 1 || !strings.HasPrefix(all[0].RunID, "task:sha256:") || !strings.HasSuffix(all[0].RunID, ":approved:1") || all[0].TaskID != long {
		t.Errorf("runs are %+v", all)
	}
}

// A person's decision about an unknown task is refused.
func TestPeopleAreRefused(t *testing.T) {
	t.Parallel()
	o := telling(t, team)
	started := o.starts("ruda", "x")
	for id, want := range map[string]string{"": task.CodeInvalid, " ": task.CodeInvalid, "task_none": task.CodeUnknown, "../x\x00": task.CodeUnknown,
		started: task.CodeState} {
		if k, err := o.service.Approve(t.Context(), id, "지민"); code(err) != want || k != nil {
			t.Errorf("approve %q: %v, want code %s", id, err, want)
		}
		if k, err := o.service.Reject(t.Context(), id, "지민", "r"); code(err) != want || k != nil {
			t.Errorf("reject %q: %v, want code %s", id, err, want)
		}
	}
	if _, err := o.service.Reject(t.Context(), o.waiting("y"), "지민", " "); code(err) != task.CodeInvalid {
		t.Errorf("without a reason: %v", err)
	}
	if n := len(o.queued()); n != 0 {
		t.Errorf("%d runs were asked for", n)
	}
}

// milestones schedules a notice of the end of a task.
func milestones(_ eventstore.Tx, c *tasktools.Changed, now time.Time) (appends []eventstore.StreamAppend, err error) {
	for _, e := range c.Events {
		if e.Type != coordination.TypeTaskCompleted {
			continue
		}
		effect := fmt.Sprintf("milestone/%s/%d", c.ID, c.Version)
		more, err := worker.Schedule(coordination.WorkScheduled{EffectID: effect, Kind: "milestone", Key: "milestone/" + c.Backlog.MilestoneItemID,
			Pool: "milestones", DueAtMs: now.UnixMilli(), Payload: json.RawMessage(fmt.Sprintf(`{"status":%q,"was":%q}`, c.Status, c.Was))})
		if err != nil {
			return nil, err
		}
		appends = append(appends, more)
	}
	return appends, nil
}

// The consequences of the end of a task are in the log with it, or neither is.
func TestWhatFollowsIsAppendedWithTheChange(t *testing.T) {
	t.Parallel()
	o := setupThen(t, team, func(*fixture) []tasktools.Then { return []tasktools.Then{milestones} })
	id := o.does("ruda", "task_backlog_add", `{"description":"x","milestone_id":"m1","milestone_item_id":"i1"}`).text("taskId")
	o.does("ruda", "task_pick_backlog", `{}`)
	o.does("ruda", "task_update", `{"action":"add_step","step_content":"a"}`)
	o.doesAs(asking("ruda", "1"), "task_complete", `{"force_complete":true}`)
	version := o.task("ruda", id).number("version")
	all := o.all()
	last := all[len(all)-3:]
	var types []string
	for _, e := range last {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff([]string{"task.force_completed", "task.completed", "work.scheduled"}, types); diff != "" {
		t.Fatalf("the last events (-want +got)\n%s", diff)
	}
	var w coordination.WorkScheduled
	if err := json.Unmarshal(last[2].Data, &w); err != nil {
		t.Fatal(err)
	}
	if w.EffectID != fmt.Sprintf("milestone/%s/%d", id, version) || w.Key != "milestone/i1" || string(w.Payload) != `{"status":"completed","was":"in_progress"}` {
		t.Errorf("scheduled is %+v; the task is at version %d", w, version)
	}
	again := o.doesAs(asking("ruda", "1"), "task_complete", `{"force_complete":true}`)
	if again["duplicate"] != true || len(o.all()) != len(all) {
		t.Errorf("again: %v, %d events more", again, len(o.all())-len(all))
	}
}

// Each change is passed on once, with the task after it; refusals and repetitions are not.
func TestEachChangeIsAskedAboutOnce(t *testing.T) {
	t.Parallel()
	type seen struct{ Types, Was, Status, By string }
	var all []seen
	var now tasktools.Changed
	o := setupThen(t, team, func(*fixture) []tasktools.Then {
		return []tasktools.Then{func(_ eventstore.Tx, c *tasktools.Changed, _ time.Time) ([]eventstore.StreamAppend, error) {
			var types []string
			for _, e := range c.Events {
				types = append(types, e.Type)
			}
			all, now = append(all, seen{strings.Join(types, " "), c.Was, c.Status, c.By}), *c
			return nil, nil
		}}
	})
	id := ""
	for i, s := range []struct {
		agent, tool, args string
		refused           string
		want              *seen
	}{
		{"ruda", "task_start", `{"description":"x","requires_approval":true,"steps":[{"content":"a"}]}`, "", &seen{"task.started", "", "pending_approval", "ruda"}},
		{"ruda", "task_approve", `{"task_id":%q}`, task.CodeNotAllowed, nil},
		{"eden", "task_approve", `{"task_id":%q}`, "", &seen{"task.approved", "pending_approval", "in_progress", "eden"}},
		{"ruda", "task_update", `{"progress":"p","task_id":%q}`, "", &seen{"task.updated", "in_progress", "in_progress", "ruda"}},
		{"ruda", "task_update", `{"progress":"p","version":1,"task_id":%q}`, task.CodeConflict, nil},
		{"ruda", "task_block", `{"reason":"r","unblock_by":["eden"],"task_id":%q}`, "", &seen{"task.blocked", "in_progress", "blocked", "ruda"}},
		{"eden", "task_resume", `{"task_id":%q}`, "", &seen{"task.resumed", "blocked", "in_progress", "eden"}},
		{"ruda", "task_complete", `{"task_id":%q}`, task.CodeStopGuard, &seen{"task.stop_guard_blocked", "in_progress", "in_progress", "ruda"}},
		{"ruda", "task_complete", `{"force_complete":true,"task_id":%q}`, "",
			&seen{"task.force_completed task.completed", "in_progress", "completed", "ruda"}},
		{"ruda", "task_cancel", `{"task_id":%q}`, task.CodeState, nil},
	} {
		args := s.args
		if id != "" {
			args = fmt.Sprintf(args, id)
		}
		for range 2 { // the second time is the same call again
			before := len(all)
			a, err := o.call(asking(s.agent, fmt.Sprint("call ", i)), s.tool, args)
			if err != nil || a.text("code") != s.refused {
				t.Fatalf("%s %s: %v, %v", s.tool, args, a, err)
			}
			if id == "" {
				id = a.text("taskId")
			}
			var want []seen
			if s.want != nil {
				want = []seen{*s.want}
			}
			if diff := cmp.Diff(want, all[before:], cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s %s (-want +got)\n%s", s.tool, args, diff)
			}
			if s.want != nil {
				if shown := o.task("ruda", id); int(now.Version) != shown.number("version") || now.Status != shown.text("status") || now.ID != id ||
					now.Last != o.events(id)[len(o.events(id))-1].Seq || now.ProgressCount != shown.number("progressCount") {
					t.Errorf("%s: asked about %+v, the task is %v", s.tool, now.Task, shown)
				}
			}
			s.want = nil
		}
	}
	o.does("ruda", "task_backlog_add", `{"description":"y","assignee":"eden"}`)
	if last := all[len(all)-1]; last != (seen{"task.backlog_added", "", "backlog", "ruda"}) || now.Agent != "eden" {
		t.Errorf("added: %+v", last)
	}
	person := o.waiting("z")
	if _, err := o.service.Reject(t.Context(), person, "지민", "r"); err != nil || !now.Human || all[len(all)-1] !=
		(seen{"task.cancelled", "pending_approval", "cancelled", "지민"}) {
		t.Errorf("rejected: %+v, %v", all[len(all)-1], err)
	}
}

// An impossible consequence prevents the change without a trace.
func TestWhatCannotFollow(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is gone")
	var fails error
	conflict := eventstore.StreamAppend{Stream: "log", Expect: eventstore.NoStream(),
		Events: []eventstore.NewEvent{{Type: "test.follows", Data: json.RawMessage(`{}`)}}}
	var follows []eventstore.StreamAppend
	o := setupThen(t, team, func(*fixture) []tasktools.Then {
		return []tasktools.Then{func(eventstore.Tx, *tasktools.Changed, time.Time) ([]eventstore.StreamAppend, error) {
			return follows, fails
		}}
	})
	id := o.waiting("x")
	o.appends("log", "test.first", "", eventstore.ActorSystem, struct{}{})
	before := len(o.all())
	who := asking("eden", "1")
	fails = broken
	if _, err := o.service.Approve(t.Context(), id, "지민"); !errors.Is(err, broken) {
		t.Errorf("approve: %v, want %v", err, broken)
	}
	if a, err := o.call(who, "task_approve", fmt.Sprintf(`{"task_id":%q}`, id)); err == nil {
		t.Errorf("task_approve: %v, %v, want an error", a, err)
	}
	fails, follows = nil, []eventstore.StreamAppend{conflict}
	if _, err := o.service.Reject(t.Context(), id, "지민", "r"); !errors.As(err, new(*eventstore.ConflictError)) {
		t.Errorf("reject: %v, want a conflict", err)
	}
	if n := len(o.all()); n != before {
		t.Errorf("%d events were appended, want none", n-before)
	}
	follows = nil
	if a := o.doesAs(who, "task_approve", `{"task_id":%q}`, id); a["duplicate"] != nil || a.text("status") != "in_progress" {
		t.Errorf("the same call later: %v", a)
	}
}
