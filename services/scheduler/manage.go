package scheduler

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// maxJobs limits the number of jobs.
const maxJobs = 20_000

// Add adds a job, which is on disk when Add returns. Its id and times are set. by is the requester. Errors: *schedule.Refusal, or the log's.
func (x *Service) Add(ctx context.Context, job coordination.CronJob, by string) (row schedules.Row, err error) {
	now := x.o.Now()
	job.ID, job.CreatedAtMs, job.UpdatedAtMs = x.o.NewID(), now.UnixMilli(), now.UnixMilli()
	if err := x.check(&job); err != nil {
		return row, err
	}
	next, err := first(&job, now.UnixMilli())
	if err != nil {
		return row, err
	}
	row.State = schedule.State{Job: job, NextAt: next}
	_, err = x.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		n, err := schedules.Count(tx)
		if err == nil && n >= maxJobs {
			err = &schedule.Refusal{Reason: schedule.CodeFull, Field: "jobs", Value: strconv.Itoa(n), HintText: "remove jobs that are no longer needed"}
		}
		if err != nil {
			return nil, err
		}
		return eventOf(&row, coordination.TypeCronJobAdded, coordination.CronJobChanged{Context: seenBy, Job: job, NextAtMs: next, By: by}, eventstore.ActorHuman, now)
	})
	return row, err
}

// check refuses a job that cannot run with the configuration in force.
func (x *Service) check(j *coordination.CronJob) error {
	if err := schedule.Check(j); err != nil {
		return err
	}
	if j.Payload.Kind == schedule.PayloadHeartbeat {
		return &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "payload.kind", Value: j.Payload.Kind, HintText: "set agents.defaults.heartbeat instead"}
	}
	conf := x.o.Config()
	if j.Check != nil && !conf.Cron.Checks {
		return &schedule.Refusal{Reason: schedule.CodeChecks, Field: "check", Value: j.Check.What(),
			HintText: "a check runs a command on this machine, or calls a tool: set cron.triggers.enabled to true first"}
	}
	if c := j.Check; c != nil && c.Tool != "" {
		server, _, _ := strings.Cut(c.Tool, "__")
		if !slices.ContainsFunc(conf.MCP.Servers, func(s config.MCPServer) bool { return s.Name == server }) {
			return &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "check.tool", Value: c.Tool, HintText: "name a tool of an MCP server of the configuration: openclawd mcp tools lists them"}
		}
	}
	if j.AgentID != "" && len(conf.Agents) > 0 && conf.AgentNamed(j.AgentID) == nil {
		return &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "agentId", Value: j.AgentID, HintText: "name an agent of the configuration"}
	}
	if j.SessionKey != "" {
		key, err := coordination.ParseSessionKey(j.SessionKey)
		if err != nil {
			return &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "sessionKey", Value: j.SessionKey, HintText: err.Error()}
		}
		if key.Agent != "" && !strings.EqualFold(key.Agent, cmp.Or(j.AgentID, conf.DefaultAgentID())) {
			return &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "sessionKey", Value: j.SessionKey, HintText: "name a session of the job's agent"}
		}
	}
	return nil
}

// checkChange refuses a changed job that cannot run. One that is disabled need not run with the configuration in force, so that what has become
// invalid can be paused and edited; enabling it checks all.
func (x *Service) checkChange(was, j *coordination.CronJob) error {
	if j.Enabled {
		return x.check(j)
	}
	same := *j
	same.Enabled, same.UpdatedAtMs = was.Enabled, was.UpdatedAtMs
	switch {
	case reflect.DeepEqual(&same, was): // only paused
		return nil
	case j.Payload.Kind == schedule.PayloadHeartbeat:
		return x.check(j)
	}
	return schedule.Check(j)
}

// first returns when a new or changed job is due first. A single time may have passed just now.
func first(j *coordination.CronJob, now int64) (int64, error) {
	if j.Schedule.Kind != schedule.KindAt || !j.Enabled {
		return schedule.First(j, now)
	}
	at, err := schedule.ParseAt(j.Schedule.At)
	if err == nil && at < now-schedule.Grace.Milliseconds() {
		err = &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "schedule.at", Value: j.Schedule.At, HintText: "schedule.at is in the past: give a time to come"}
	}
	return at, err
}

// Update changes a job: change edits a copy. A change of what the job does leaves its due time; a change of its schedule, or enabling it,
// computes it from now. Errors: those of change, *schedule.Refusal, or the log's.
func (x *Service) Update(ctx context.Context, id string, change func(*coordination.CronJob) error, by string) (row schedules.Row, err error) {
	_, err = x.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		now := x.o.Now()
		if row, err = x.load(tx, id); err != nil {
			return nil, err
		}
		if row.Job.Payload.Kind == schedule.PayloadHeartbeat {
			return nil, fixed(id)
		}
		was := row.Job
		if err := change(&row.Job); err != nil {
			return nil, err
		}
		row.Job.ID, row.Job.CreatedAtMs, row.Job.UpdatedAtMs = was.ID, was.CreatedAtMs, now.UnixMilli()
		if err := x.checkChange(&was, &row.Job); err != nil {
			return nil, err
		}
		if m := row.Job.MaxRuns; m > 0 && row.Runs >= m && row.Job.Enabled {
			return nil, &schedule.Refusal{Reason: schedule.CodeInvalid, Field: "maxRuns", Value: strconv.Itoa(m), HintText: "the job has had " + strconv.Itoa(row.Runs) + " runs: raise the limit"}
		}
		if !row.Job.Enabled {
			row.NextAt = 0
		} else if isNewlyDue(&row, &was) {
			if row.NextAt, err = first(&row.Job, now.UnixMilli()); err != nil {
				return nil, err
			}
		}
		row.NotBefore = 0
		return eventOf(&row, coordination.TypeCronJobUpdated, coordination.CronJobChanged{Context: seenBy, Job: row.Job, NextAtMs: row.NextAt, By: by}, eventstore.ActorHuman, now)
	})
	return row, err
}

// isNewlyDue reports whether a change of an enabled job moves its due time. A single time that has its run is not due again.
func isNewlyDue(row *schedules.Row, was *coordination.CronJob) bool {
	more := row.NextAt == 0 && was.MaxRuns != row.Job.MaxRuns && row.Job.Schedule.Kind != schedule.KindAt
	return !was.Enabled || more || !reflect.DeepEqual(was.Schedule, row.Job.Schedule)
}

// Remove removes a job; a run in progress goes on. known is false for an unknown job. Errors: *schedule.Refusal, or the log's.
func (x *Service) Remove(ctx context.Context, id, by string) (known bool, err error) {
	_, err = x.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		row, found, err := schedules.Load(tx, id)
		if known = found; err != nil || !found {
			return nil, err
		}
		if row.Job.Payload.Kind == schedule.PayloadHeartbeat {
			return nil, fixed(id)
		}
		return removed(&row, coordination.CronJobRemoved{By: by}, eventstore.ActorHuman, x.o.Now())
	})
	return known, err
}

// removed ends the run in progress of a job, which is not awaited any more, and removes the job.
func removed(row *schedules.Row, d coordination.CronJobRemoved, by eventstore.Actor, now time.Time) ([]eventstore.StreamAppend, error) {
	d.Context, d.JobID = seenBy, row.Job.ID
	gone, err := eventOf(row, coordination.TypeCronJobRemoved, d, by, now)
	if err != nil || row.RunID == "" {
		return gone, err
	}
	row.Job.Schedule.Kind = "" // it is removed here, not by its end
	end, err := finished(row, coordination.CronRunFinished{Status: schedule.Error, Error: "the job was removed; the agent's run goes on", DeliveryStatus: schedule.Unknown}, now)
	return append(end, gone...), err
}

func fixed(id string) error {
	return &schedule.Refusal{Reason: schedule.CodeFixed, Field: "id", Value: id, HintText: "a heartbeat follows the configuration: change agents.defaults.heartbeat, or that of the agent"}
}

func (x *Service) load(tx eventstore.Tx, id string) (schedules.Row, error) {
	row, found, err := schedules.Load(tx, id)
	if err == nil && !found {
		err = &schedule.Refusal{Reason: schedule.CodeUnknown, Field: "id", Value: id, HintText: "list the jobs with: openclawd cron list --all"}
	}
	return row, err
}

// Enable lets a job be due again, or not, and reports whether that has changed anything. by is the requester. Errors: *schedule.Refusal, or
// the log's.
func (x *Service) Enable(ctx context.Context, id string, enabled bool, by string) (row schedules.Row, changed bool, err error) {
	row, err = x.Update(ctx, id, func(job *coordination.CronJob) error {
		if changed = job.Enabled != enabled; !changed {
			return errUnchanged
		}
		job.Enabled = enabled
		return nil
	}, by)
	if errors.Is(err, errUnchanged) {
		err = nil
	}
	return row, changed, err
}

var errUnchanged = errors.New("the job is so already")

// On reports whether jobs are started when they are due.
func (x *Service) On() bool { return x.o.Config().Cron.Enabled }

// Now runs a job, whatever its schedule, or with onlyDue only if it is due. by is the requester. Errors: *schedule.Refusal, or the log's.
func (x *Service) Now(ctx context.Context, id string, onlyDue bool, by string) (ran schedule.Ran, err error) {
	seen := map[string]notes{}
	_, err = x.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		ran = schedule.Ran{}
		now := x.o.Now()
		row, err := x.load(tx, id)
		if err != nil {
			return nil, err
		}
		b := beginning{Service: x, tx: tx, now: now, seen: seen, sessions: map[string]bool{}, forced: true, by: by}
		switch {
		case row.RunID != "":
			ran.Reason = "already-running"
		case onlyDue && !row.Job.Enabled:
			ran.Reason = "disabled"
		case onlyDue && (row.WakeAt() == 0 || row.WakeAt() > now.UnixMilli()):
			ran.Reason = "not-due"
		case onlyDue:
			_, err = b.due(&row)
		default:
			err = b.begin(&row, now.UnixMilli(), row.NextAt, true)
		}
		ran.RunID = row.RunID
		if ran.Reason != "" {
			ran.RunID = ""
		}
		return b.appends, err
	})
	return ran, err
}
