package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// jobs takes over scheduled jobs with their runs.
func (t *taker) jobs(ctx context.Context) error {
	return t.source.Jobs(ctx, func(j *openclaw.Job) error {
		count := t.report.count(Cron)
		count.Found++
		job, reason, why := t.convertJob(j)
		if reason != "" {
			count.Left++
			t.leave(j.Place, reason, why, "")
			return nil
		}
		if t.o.Log == nil {
			count.New++
			return nil
		}
		return t.job(ctx, j, job, count)
	})
}

// foreign are members of a job that change what it may do or when it runs, and that do not exist here.
type foreign struct {
	DeclarationKey string
	Trigger        json.RawMessage
	Schedule       struct{ AtMs int64 }
	Payload        struct{ ToolsAllow []string }
}

// convertJob converts a job. It is not taken over if it would do more here, or something else.
func (t *taker) convertJob(j *openclaw.Job) (job coordination.CronJob, reason, why string) {
	var other foreign
	err := errors.Join(json.Unmarshal(j.Text, &job), json.Unmarshal(j.Text, &other))
	if _, is := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !is {
		return job, ReasonInvalidEntry, err.Error()
	}
	job.UpdatedAtMs = max(job.UpdatedAtMs, j.UpdatedAtMs, job.CreatedAtMs) // 2026.5 keeps it elsewhere
	if job.Schedule.At == "" && other.Schedule.AtMs > 0 {
		job.Schedule.At = time.UnixMilli(other.Schedule.AtMs).UTC().Format(time.RFC3339Nano)
	}
	switch allowed := other.Payload.ToolsAllow; {
	case job.Payload.Kind == schedule.PayloadHeartbeat:
		return job, ReasonManaged, "heartbeats follow agents.defaults.heartbeat of the configuration, and wake only for a cause: with wake \"always\" each time, as OpenClaw does"
	case other.DeclarationKey != "":
		return job, ReasonManaged, "OpenClaw's " + other.DeclarationKey + " keeps the job " + job.Name
	case len(other.Trigger) > 0 && string(other.Trigger) != "null":
		return job, ReasonUnsupported, "the job " + job.Name + " has a trigger, which decides whether it runs"
	case len(allowed) > 0 && !(len(allowed) == 1 && allowed[0] == "*"):
		return job, ReasonUnsupported, "the job " + job.Name + " may use some tools only: here it could use all of its agent's"
	case job.AgentID != "" && t.o.HasAgent != nil && !t.o.HasAgent(job.AgentID):
		return job, ReasonUnsupported, "the job " + job.Name + " is for the agent " + job.AgentID + ", which the configuration does not have"
	}
	if err := schedule.Check(&job); err != nil {
		return job, ReasonUnsupported, "the job " + job.Name + ": " + err.Error()
	}
	return job, "", ""
}

// job adds or changes a job, once for what it says: what was changed here since stays, and a job that was removed here does not come back.
func (t *taker) job(ctx context.Context, j *openclaw.Job, job coordination.CronJob, count *Count) error {
	id, err := jobID(job)
	if err != nil {
		return err
	}
	event := eventstore.NewEvent{ID: id, AgentID: job.AgentID, Actor: eventstore.ActorHuman}
	_, err = t.o.Log.EventByID(ctx, event.ID)
	switch {
	case err == nil:
		count.Already++
		return t.runs(ctx, j, &job)
	case !errors.Is(err, eventstore.ErrNotFound):
		return err
	}
	known, err := t.o.Log.StreamVersion(ctx, schedule.Stream(job.ID))
	if err != nil {
		return err
	}
	added := false
	_, err = t.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		row, found, err := schedules.Load(tx, job.ID)
		if added = found || known == 0; err != nil || !added {
			return nil, err
		}
		event.Type = coordination.TypeCronJobAdded
		if found {
			event.Type = coordination.TypeCronJobUpdated
		}
		next, err := t.nextRun(j, &job, &row)
		if err != nil {
			return nil, err
		}
		return eventstore.One(schedule.Stream(job.ID), event, coordination.CronJobChanged{Context: coordination.Context{EventRole: coordination.RoleObservability},
			Job: job, NextAtMs: next, By: client}, t.o.Now().UnixMilli())
	})
	if err != nil {
		return err
	}
	if !added {
		count.Left++
		t.leave(j.Place, ReasonRemovedHere, "the job "+job.Name+" was taken over before, and removed here", "")
		return nil
	}
	count.New++
	return t.runs(ctx, j, &job)
}

// jobID is the id of the event that adds a job or changes it to this. OpenClaw changes the time of the last change after each run.
func jobID(job coordination.CronJob) (eventstore.ID, error) {
	job.UpdatedAtMs = 0
	definition, err := json.Marshal(job)
	return idOf(0, "job", job.ID, string(definition)), err
}

// nextRun is when the job is due next. What OpenClaw has missed is not made up for.
func (t *taker) nextRun(j *openclaw.Job, job *coordination.CronJob, row *schedules.Row) (int64, error) {
	now := t.o.Now().UnixMilli()
	switch next := j.State.NextRunAtMs; {
	case !job.Enabled:
		return 0, nil
	case next > now:
		return next, nil
	case row.NextAt > now:
		return row.NextAt, nil
	}
	return schedule.First(job, now)
}

// runs takes over the runs of a job that are newer than its last one here.
func (t *taker) runs(ctx context.Context, j *openclaw.Job, job *coordination.CronJob) error {
	count := t.report.count(CronRuns)
	var row schedules.Row
	return errors.Join(j.Runs(func(r *openclaw.JobRun) error {
		count.Found++
		id := schedule.RunID(job.ID, r.RunAtMs, false)
		due := eventstore.NewEvent{ID: idOf(r.RunAtMs, "run", job.ID, strconv.FormatInt(r.RunAtMs, 10)), Type: coordination.TypeCronRunDue, AgentID: job.AgentID,
			Actor: eventstore.ActorSchedule}
		if _, err := t.o.Log.EventByID(ctx, due.ID); !errors.Is(err, eventstore.ErrNotFound) {
			if err == nil {
				count.Already++
			}
			return err
		}
		taken := false
		_, err := t.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
			var found bool
			var err error
			row, found, err = schedules.Load(tx, job.ID)
			if taken = found && row.RunID == "" && row.LastRunAt <= r.RunAtMs; err != nil || !taken {
				return nil, err
			}
			return runEvents(&row, r, id, due)
		})
		if err != nil {
			return err
		}
		if taken {
			count.New++
			return nil
		}
		count.Left++
		t.leave(r.Place, ReasonOlder, "the job "+job.Name+" has had a later run here", "")
		return nil
	}), ctx.Err())
}

// outcomes maps how runs end.
var outcomes = map[string]string{"ok": schedule.OK, "skipped": schedule.Skipped}

// runEvents are the begin and the end of a run that was over before it was taken over.
func runEvents(row *schedules.Row, r *openclaw.JobRun, id string, due eventstore.NewEvent) ([]eventstore.StreamAppend, error) {
	status := outcomes[r.Status]
	if status == "" {
		status = schedule.Error
	}
	text := r.Error
	if status == schedule.Error && text == "" {
		text = r.Status
	}
	seen := coordination.Context{EventRole: coordination.RoleObservability}
	over := coordination.CronRunFinished{Context: seen, JobID: row.Job.ID, RunID: id, Status: status, Error: text, Summary: coordination.Head(r.Summary, maxSummary), AtMs: r.RunAtMs + r.DurationMs,
		DurationMs: r.DurationMs, SessionKey: r.SessionKey, SessionID: r.SessionID, Provider: r.Provider, Model: r.Model, DeliveryStatus: schedule.NotRequested,
		DeliveryError: r.DeliveryError}
	if r.DeliveryStatus != "" {
		over.DeliveryStatus = r.DeliveryStatus
	}
	if u := r.Usage; u != nil {
		over.Usage = &coordination.SessionUsage{Input: u.Input, Output: u.Output, Total: u.Total}
	}
	end := eventstore.NewEvent{ID: idOf(r.RunAtMs, "run over", row.Job.ID, strconv.FormatInt(r.RunAtMs, 10)), Type: coordination.TypeCronRunFinished, AgentID: due.AgentID,
		Actor: eventstore.ActorSchedule}
	a := eventstore.StreamAppend{Stream: schedule.Stream(row.Job.ID)}
	err := errors.Join(
		a.Add(due, coordination.CronRunDue{Context: seen, JobID: row.Job.ID, RunID: id, DueAtMs: r.RunAtMs, AtMs: r.RunAtMs, NextAtMs: row.NextAt}, r.RunAtMs),
		a.Add(end, over, over.AtMs))
	return []eventstore.StreamAppend{a}, err
}

// maxSummary bounds the beginning of an answer, in bytes.
const maxSummary = 4 << 10
