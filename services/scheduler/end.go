package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"time"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Then returns what follows from the end of an agent's run for the job that asked for it. posted says that its answer is being posted.
func (x *Service) Then(tx eventstore.Tx, e *runner.EndedRun, posted bool) ([]eventstore.StreamAppend, error) {
	row, ours, err := x.jobOf(tx, run.RootOf(e.Asked.RunID, e.Asked.RetryOf), e.Result.Cause)
	if err != nil || !ours {
		return nil, err
	}
	return x.ended(&row, &e.Result, posted, e.Now)
}

// jobOf returns the job whose run in progress has an id. A run of another cause is not of a job, whatever its id.
func (x *Service) jobOf(tx eventstore.Tx, runID, cause string) (row schedules.Row, ours bool, err error) {
	jobID := schedule.JobOf(runID)
	if jobID == "" || cause != coordination.CauseCron {
		return row, false, nil
	}
	row, found, err := schedules.Load(tx, jobID)
	return row, found && row.RunID == runID, err
}

func (x *Service) ended(row *schedules.Row, r *run.Result, posted bool, now time.Time) ([]eventstore.StreamAppend, error) {
	d := coordination.CronRunFinished{SessionKey: r.SessionKey, SessionID: r.SessionID, Status: schedule.OK}
	over := r.Over
	if over == nil {
		over = &coordination.RunOver{Error: "the end of the run was redacted"}
	}
	if r.State != run.OK {
		d.Status, d.Error = schedule.Error, cmp.Or(over.Error, over.ErrorClass, over.Reason, string(r.State))
	}
	d.Summary, d.Provider, d.Model, d.ModelCalls, d.Usage = over.Text, over.Provider, over.Model, over.ModelCalls, over.Usage
	d.DeliveryStatus, d.DeliveryError = deliveryOf(&row.Job, d.Status, over.Text, posted)
	return finished(row, d, now)
}

// deliveryOf is the state of the delivery when the run ends.
func deliveryOf(j *coordination.CronJob, status, text string, posted bool) (state, why string) {
	switch {
	case posted:
		return schedule.Unknown, "" // until the post has ended
	case j.Delivery == nil || j.Delivery.Mode != schedule.DeliverAnnounce:
		return schedule.NotRequested, ""
	case status != schedule.OK:
		return schedule.NotDelivered, "the run failed"
	case silent(text):
		return schedule.NotRequested, ""
	}
	return schedule.NotDelivered, "no place is known: give delivery.channel and delivery.to"
}

// Delivered returns what follows from the end of the post of a run's answer. It is an outbound.Then of replies.
func (x *Service) Delivered(tx eventstore.Tx, _ string, d *delivery.Delivery, o *delivery.Outcome, now time.Time) ([]eventstore.StreamAppend, error) {
	if d.RunID == "" {
		return nil, nil
	}
	r, found, err := runs.Load(tx, d.RunID)
	if err != nil || !found || r.Cause != coordination.CauseCron {
		return nil, err
	}
	root := run.RootOf(r.RunID, r.RetryOf)
	jobID := schedule.JobOf(root)
	if jobID == "" {
		return nil, nil
	}
	row := schedules.Row{State: schedule.State{Job: coordination.CronJob{ID: jobID, AgentID: d.AgentID}}} // the job may be gone
	data := coordination.CronRunDelivered{Context: seenBy, JobID: jobID, RunID: root, Status: schedule.Delivered}
	switch o.State {
	case delivery.Done:
	case delivery.Unknown:
		data.Status, data.Error = schedule.Unknown, clean(o.Text, maxError)
	default:
		data.Status, data.Error = schedule.NotDelivered, clean(cmp.Or(o.Text, o.Code), maxError)
	}
	return eventOf(&row, coordination.TypeCronRunDelivered, data, eventstore.ActorSchedule, now)
}

// Recover ends the runs in progress whose agent's run is over, or was never queued, without that being recorded, and lets jobs go on that a
// clock has silenced which ran ahead. It is called before anything is started.
func (x *Service) Recover(ctx context.Context) error {
	if err := x.rewind(ctx); err != nil {
		return err
	}
	_, err := x.o.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		running, err := schedules.Running(tx)
		if err != nil {
			return nil, err
		}
		for i := range running {
			more, err := x.recover(tx, &running[i], x.o.Now())
			if err != nil {
				return nil, err
			}
			appends = append(appends, more...)
		}
		return appends, nil
	})
	return err
}

// clockSetBack is who changed the due time of a job after its clock ran ahead.
const clockSetBack = "openclawd: the clock was set back"

// rewind has recurring jobs go on from now whose due times were stored by a clock that ran far ahead. Those that have a run are passed over
// when they come.
func (x *Service) rewind(ctx context.Context) error {
	var late []schedules.Row
	err := x.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		late, err = schedules.LaterThan(projections.Reading(ctx, tx), x.o.Now().Add(schedule.Ahead).UnixMilli())
		return err
	})
	changed := 0
	for i := 0; i < len(late) && err == nil; i++ {
		_, err = x.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			row, found, err := schedules.Load(tx, late[i].Job.ID)
			now := x.o.Now()
			if err != nil || !found || !row.Rewind(now.UnixMilli()) {
				return nil, err
			}
			changed++
			return eventOf(&row, coordination.TypeCronJobUpdated, coordination.CronJobChanged{Context: seenBy, Job: row.Job, NextAtMs: row.NextAt, By: clockSetBack},
				eventstore.ActorSystem, now)
		})
	}
	if changed > 0 {
		x.o.Logger.Warn("the clock ran far ahead and was set back: jobs go on from now", "jobs", changed)
	}
	return err
}

func (x *Service) recover(tx eventstore.Tx, row *schedules.Row, now time.Time) ([]eventstore.StreamAppend, error) {
	r, queued, err := runs.LoadLast(tx, row.RunID)
	switch {
	case err != nil:
		return nil, err
	case queued && r.Cause != coordination.CauseCron: // its id was taken by a client
		return finished(row, coordination.CronRunFinished{Status: schedule.Error, Error: "the id of the run is taken", DeliveryStatus: schedule.NotRequested}, now)
	case queued && !r.State.Over():
		return nil, nil
	case queued:
		return x.ended(row, &r, false, now)
	}
	item, found, err := workqueue.Load(tx, row.RunID)
	if err != nil || found && item.State != workqueue.Dead {
		return nil, err
	}
	return finished(row, coordination.CronRunFinished{Status: schedule.Error, Error: "the run was lost: the log says nothing of it", DeliveryStatus: schedule.NotRequested}, now)
}
