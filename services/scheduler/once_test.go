package scheduler_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// checking is a configuration with checks.
var checking = `{"cron": {"triggers": {"enabled": true}}, "tools": {"exec": {"sandbox": "off"}}, ` + strings.TrimPrefix(settings, "{")

func in(d time.Duration) coordination.CronSchedule {
	return coordination.CronSchedule{Kind: schedule.KindAt, At: begin.Add(d).Format(time.RFC3339)}
}

func (p *plan) update(id string, change func(*coordination.CronJob)) (row schedules.Row) {
	p.t.Helper()
	row, err := p.Update(p.t.Context(), id, func(j *coordination.CronJob) error { change(j); return nil }, "test")
	if err != nil {
		p.t.Fatal(err)
	}
	return row
}

// A due time that ended in its check is not queued again when its job is enabled within the minute, and other jobs go on.
func TestADueTimeThatEndedInItsCheckHasRun(t *testing.T) {
	t.Parallel()
	p := newPlan(t, checking)
	checked := p.add(in(time.Minute), func(j *coordination.CronJob) { j.Check = &coordination.CronCheck{Command: []string{"false"}} })
	p.now = begin.Add(time.Minute)
	p.look()
	p.checked(func() bool { return len(p.history(checked.Job.ID)) > 0 })
	p.now = p.now.Add(10 * time.Second)
	other := p.add(in(70 * time.Second))
	p.update(checked.Job.ID, func(j *coordination.CronJob) { j.Enabled = true })
	p.look()
	p.finish(false)
	row, _ := p.job(checked.Job.ID)
	if n := len(p.history(checked.Job.ID)); n != 1 || row.Job.Enabled || row.Missed != 1 {
		t.Errorf("it has %d runs, %+v", n, row.State)
	}
	if n := len(p.history(other.Job.ID)); n != 1 {
		t.Errorf("the other job has %d runs", n)
	}
}

// An id that a client has chosen makes no run the run of a job.
func TestARunOfAnotherCauseIsOfNoJob(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	j := p.add(in(time.Minute))
	p.now = begin.Add(time.Minute)
	p.look()
	row, _ := p.job(j.Job.ID)
	for cause, want := range map[string]int{"agent": 0, coordination.CauseCron: 1} {
		n := 0
		_, err := p.db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			follows, err := p.Then(tx, &runner.EndedRun{Asked: &coordination.RunQueued{RunID: row.RunID}, Now: p.now,
				Result: run.Result{RunID: row.RunID, Cause: cause, State: run.OK, Over: &coordination.RunOver{Text: "done"}}}, false)
			n = min(len(follows), 1)
			return nil, err
		})
		if err != nil || n != want {
			t.Errorf("a run with the cause %s: %d follow, %v", cause, n, err)
		}
	}
}

// How the post of an answer ended is kept although the job is gone.
func TestAPostMayEndAfterItsJobIsGone(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	j := p.add(in(time.Minute))
	p.now = begin.Add(time.Minute)
	p.look()
	p.finish(false)
	if _, there := p.job(j.Job.ID); there {
		t.Fatal("the job is still there")
	}
	ran := p.history(j.Job.ID)[0]
	_, err := p.db.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		return p.Delivered(tx, "", &delivery.Delivery{RunID: ran.RunID, AgentID: "main"}, &delivery.Outcome{State: delivery.Done}, p.now)
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := p.history(j.Job.ID)[0].Delivery; got != schedule.Delivered {
		t.Errorf("the delivery is %q", got)
	}
}

// A job that is due once can be edited during its run; enabling a disabled one computes its due time.
func TestEditsDuringARun(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	j := p.add(in(time.Minute))
	p.now = begin.Add(time.Minute)
	p.look()
	p.now = begin.Add(3 * time.Minute) // the time is in the past
	if row := p.update(j.Job.ID, func(j *coordination.CronJob) { j.Name = "renamed" }); row.NextAt != 0 || row.Job.Name != "renamed" {
		t.Errorf("after an edit: %+v", row.State)
	}
	limited := p.add(every(time.Minute), func(j *coordination.CronJob) { j.MaxRuns = 1 })
	p.now = p.now.Add(time.Minute)
	p.look()
	if row := p.update(limited.Job.ID, func(j *coordination.CronJob) { j.MaxRuns = 2 }); row.NextAt <= p.now.UnixMilli() {
		t.Errorf("after its limit was raised: %+v", row.State)
	}
}

// No client makes a heartbeat.
func TestHeartbeatsAreNotAdded(t *testing.T) {
	t.Parallel()
	p := newPlan(t, settings)
	j := p.add(every(time.Hour))
	beat := func(j *coordination.CronJob) error { j.Payload.Kind = schedule.PayloadHeartbeat; return nil }
	_, updated := p.Update(t.Context(), j.Job.ID, beat, "test")
	_ = beat(&j.Job)
	_, added := p.Add(t.Context(), j.Job, "test")
	for _, err := range []error{added, updated} {
		if refused, is := err.(*schedule.Refusal); !is || refused.Field != "payload.kind" {
			t.Errorf("got %v, want a refusal", err)
		}
	}
}
