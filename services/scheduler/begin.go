package scheduler

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

const internalSystem = "internal_system" // provenance of runs' messages

// beginDue begins the first jobs that are due, in one transaction. If the log refuses what one of them appends, each gets a transaction of
// its own, so that the others go on.
func (x *Service) beginDue(ctx context.Context) error {
	seen, due, err := x.look(ctx)
	if err != nil {
		return err
	}
	err = x.beginAll(ctx, seen, "")
	if !errors.As(err, new(*eventstore.ConflictError)) && !errors.As(err, new(*eventstore.InvalidError)) {
		return err
	}
	err = nil
	for i := range due {
		if failed := x.beginAll(ctx, seen, due[i].Job.ID); failed != nil {
			err = errors.Join(err, fmt.Errorf("begin job %s: %w", due[i].Job.ID, failed))
		}
	}
	return err
}

// beginAll begins jobs that are due: all of a batch, or only one.
func (x *Service) beginAll(ctx context.Context, seen map[string]notes, only string) error {
	_, err := x.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		now := x.o.Now()
		due, err := schedules.Due(tx, now.UnixMilli(), batch)
		if err != nil {
			return nil, err
		}
		b := beginning{Service: x, tx: tx, now: now, seen: seen, sessions: map[string]bool{}}
		for i := range due {
			if only != "" && due[i].Job.ID != only {
				continue
			}
			if more, err := b.due(&due[i]); err != nil || !more {
				return b.appends, err
			}
		}
		return b.appends, nil
	})
	return err
}

// look reads, outside of the transaction, what the heartbeats which are due ask about: files, and what is open.
func (x *Service) look(ctx context.Context) (seen map[string]notes, due []schedules.Row, err error) {
	seen = map[string]notes{}
	err = x.o.Log.View(ctx, func(tx *sql.Tx) error {
		now := x.o.Now()
		due, err = schedules.Due(projections.Reading(ctx, tx), now.UnixMilli(), batch)
		for i := 0; i < len(due) && err == nil; i++ {
			if j := &due[i].Job; j.Payload.Kind == schedule.PayloadHeartbeat {
				var causes []cause
				causes, err = causesOf(ctx, tx, j.AgentID, now)
				seen[j.ID] = notes{causes: causes}
			}
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	for i := range due {
		if j := &due[i].Job; j.Payload.Kind == schedule.PayloadHeartbeat {
			seen[j.ID] = notes{readNotes(x.o.Workspace(j.AgentID)).hash, seen[j.ID].causes}
		}
	}
	return seen, due, nil
}

// beginning is a transaction that begins runs.
type beginning struct {
	*Service
	tx       eventstore.Tx
	now      time.Time
	seen     map[string]notes // of heartbeats
	sessions map[string]bool  // that get a run in this transaction
	forced   bool             // on request
	by       string           // who asked
	appends  []eventstore.StreamAppend
}

// due decides about the due times of a job. more is false if the next transaction has to go on with this job: a session that does not
// exist yet gets one run in a transaction, and a heartbeat is decided with its file.
func (b *beginning) due(row *schedules.Row) (more bool, err error) {
	if key := b.session(&row.Job); b.sessions[key.String()] {
		return false, nil
	}
	if _, read := b.seen[row.Job.ID]; row.Job.Payload.Kind == schedule.PayloadHeartbeat && !read && !b.forced { // due since the look
		return false, nil
	}
	l, err := row.Due(b.now.UnixMilli())
	if err != nil { // the job is kept as it was checked; only the zones of the machine can have changed
		l = schedule.Look{}
		b.o.Logger.Error("cannot find the due times of a scheduled job; disabled", "job", row.Job.ID, "err", err)
		return true, b.add(row, coordination.TypeCronRunMissed, coordination.CronRunMissed{Context: seenBy, JobID: row.Job.ID, FromMs: row.NextAt, ToMs: row.NextAt, Count: 1, Rule: "unreadable", Ends: true})
	}
	if l.Missed != nil {
		l.Missed.Context = seenBy
		if err := b.add(row, coordination.TypeCronRunMissed, l.Missed); err != nil {
			return false, err
		}
	}
	if !l.Run {
		return true, nil
	}
	return true, b.begin(row, l.DueAt, l.NextAt, false)
}

// seenBy is the context of the events of jobs.
var seenBy = coordination.Context{EventRole: coordination.RoleObservability}

// begin begins a run of a job. A due time that has a run already, or whose run id is taken, is only passed over.
func (b *beginning) begin(row *schedules.Row, dueAt, nextAt int64, manual bool) error {
	d := coordination.CronRunDue{Context: seenBy, JobID: row.Job.ID, RunID: schedule.RunID(row.Job.ID, dueAt, manual), DueAtMs: dueAt, AtMs: b.now.UnixMilli(),
		NextAtMs: nextAt, Manual: manual, Check: row.Job.Check != nil}
	if manual {
		d.By = b.by
	}
	if why, err := schedules.WhyTaken(b.tx, d.RunID); err != nil || why != "" {
		if err != nil || manual {
			return cmp.Or(err, errAgain)
		}
		return b.add(row, coordination.TypeCronRunMissed, coordination.CronRunMissed{Context: seenBy, JobID: d.JobID, FromMs: dueAt, ToMs: dueAt, Count: 1, Rule: why,
			NextAtMs: nextAt, Ends: nextAt == 0})
	}
	if err := b.add(row, coordination.TypeCronRunDue, d); err != nil {
		return err
	}
	row.RunID, row.RunDueAt, row.RunningAt = d.RunID, dueAt, d.AtMs
	if !manual {
		row.NextAt = nextAt
	}
	switch {
	case row.Job.Payload.Kind == schedule.PayloadHeartbeat:
		return b.heartbeat(row)
	case d.Check:
		return b.queueCheck(row)
	}
	return b.start(row, wake{})
}

var errAgain = errors.New("the job was started in the same millisecond already")

// wake is why an agent is woken.
type wake struct {
	found        string // by the job's check, or by a heartbeat
	cause, notes string // of a heartbeat
}

// start queues the agent's run. A refusal ends the run of the job.
func (b *beginning) start(row *schedules.Row, why wake) error {
	ask, err := b.ask(row, why.found)
	if err == nil {
		var queued []eventstore.StreamAppend
		if queued, err = b.o.Queue.Ask(b.tx, ask, b.now); err == nil {
			b.sessions[ask.Session.String()] = true
			started := coordination.CronRunStarted{Context: seenBy, JobID: row.Job.ID, RunID: row.RunID, SessionKey: ask.Session.String(),
				Cause: why.cause, Notes: why.notes}
			if err := b.add(row, coordination.TypeCronRunStarted, started); err != nil {
				return err
			}
			b.appends = append(b.appends, queued...)
			return nil
		}
	}
	if !isRefused(err) {
		return err
	}
	b.o.Logger.Warn("a scheduled run was refused", "job", row.Job.ID, "err", err)
	return b.finish(row, coordination.CronRunFinished{Status: schedule.Error, Error: err.Error(), DeliveryStatus: schedule.NotRequested})
}

// isRefused reports whether an error is a refusal of the run, not a failure of the log.
func isRefused(err error) bool {
	return errors.As(err, new(*run.Refusal)) || errors.As(err, new(*run.Busy)) || errors.As(err, new(*coordination.SessionKeyError))
}

// session is the session of a job's run: a main job's is the agent's main one or another that it names, an isolated job's is its own.
func (x *Service) session(j *coordination.CronJob) coordination.SessionKey {
	agent := strings.ToLower(cmp.Or(j.AgentID, x.o.Config().DefaultAgentID()))
	if j.SessionTarget == schedule.TargetIsolated {
		return coordination.SessionKey{Kind: coordination.KeyCron, Agent: agent, ID: j.ID}
	}
	if key, err := coordination.ParseSessionKey(j.SessionKey); err == nil && j.SessionKey != "" {
		return key
	}
	return coordination.MainKey(agent)
}

// ask is the run of a job. found is what its check has printed.
func (b *beginning) ask(row *schedules.Row, found string) (run.Ask, error) {
	j := &row.Job
	key := b.session(j)
	ask := run.Ask{Session: key, RunQueued: coordination.RunQueued{Context: seenBy, RunID: row.RunID, SessionKey: key.String(), Lane: run.LaneCron, Cause: coordination.CauseCron,
		Message: messageOf(j, found), Provenance: internalSystem, OnRestart: run.OnRestartRetry, Model: j.Payload.Model, Thinking: j.Payload.Thinking}}
	if t := j.Payload.TimeoutSeconds; t != nil {
		ms := *t * 1000
		ask.TimeoutMs = &ms
	}
	if j.SessionTarget == schedule.TargetIsolated {
		ask.Reset = "new" // each run begins with an empty transcript
		ask.Label = "Cron: " + coordination.Head(j.Name, 50) + " " + coordination.Head(j.ID, 8)
	}
	to, err := placeOf(b.tx, j, key.Agent)
	if err == nil && to.Channel != "" {
		ask.Deliver, ask.Channel, ask.To, ask.AccountID, ask.ThreadID = true, to.Channel, to.To, to.AccountID, to.ThreadID
	}
	return ask, err
}

// messageOf is what the agent is told.
func messageOf(j *coordination.CronJob, found string) string {
	if j.Payload.Kind == schedule.PayloadHeartbeat {
		text := cmp.Or(j.Payload.Message, heartbeatPrompt)
		if found != "" {
			text += "\n\nThis may need your attention:\n" + found
		}
		return text
	}
	text := fmt.Sprintf("[cron:%s %s] %s", j.ID, j.Name, cmp.Or(j.Payload.Message, j.Payload.Text))
	if found = strings.TrimSpace(found); found != "" {
		text += "\n\nThe job's check found:\n" + found
	}
	return text
}

// placeOf is where the answer of a job is posted; Channel is "" for nowhere.
func placeOf(tx eventstore.Tx, j *coordination.CronJob, agent string) (sessions.LastRoute, error) {
	d := j.Delivery
	if d == nil || d.Mode != schedule.DeliverAnnounce {
		return sessions.LastRoute{}, nil
	}
	if d.Channel != "" && d.Channel != schedule.ChannelLast {
		return sessions.LastRoute{Channel: strings.ToLower(d.Channel), To: d.To, AccountID: d.AccountID, ThreadID: d.ThreadID}, nil
	}
	last, err := sessions.LoadRoute(tx, coordination.MainKey(agent))
	if d.To != "" && err == nil {
		last.To, last.ThreadID = d.To, d.ThreadID
	}
	return last, err
}

// add appends an event to the job's stream.
func (b *beginning) add(row *schedules.Row, typ string, data any) error {
	a, err := eventOf(row, typ, data, eventstore.ActorSchedule, b.now)
	b.appends = append(b.appends, a...)
	return err
}

func eventOf(row *schedules.Row, typ string, data any, actor eventstore.Actor, now time.Time) ([]eventstore.StreamAppend, error) {
	return eventstore.One(schedule.Stream(row.Job.ID), eventstore.NewEvent{Type: typ, AgentID: row.Job.AgentID, Actor: actor}, data, now.UnixMilli())
}

// finish ends the run in progress, and the job if it is never due again.
func (b *beginning) finish(row *schedules.Row, d coordination.CronRunFinished) error {
	appends, err := finished(row, d, b.now)
	b.appends = append(b.appends, appends...)
	return err
}

func finished(row *schedules.Row, d coordination.CronRunFinished, now time.Time) (appends []eventstore.StreamAppend, err error) {
	at := now.UnixMilli()
	end := row.Finish(d.Status, at)
	d.Context, d.JobID, d.RunID, d.AtMs, d.DurationMs = seenBy, row.Job.ID, row.RunID, at, max(at-row.RunningAt, 0)
	d.NotBeforeMs, d.Ends = end.NotBefore, end.Ends
	d.Error, d.Summary = clean(d.Error, maxError), clean(d.Summary, maxSummary)
	if appends, err = eventOf(row, coordination.TypeCronRunFinished, d, eventstore.ActorSchedule, now); err != nil || !end.Remove {
		return appends, err
	}
	gone, err := eventOf(row, coordination.TypeCronJobRemoved, coordination.CronJobRemoved{Context: seenBy, JobID: row.Job.ID, Reason: "finished"}, eventstore.ActorSchedule, now)
	return append(appends, gone...), err
}

const (
	maxError   = 1_000 // characters
	maxSummary = 2_000
)

func clean(text string, most int) string {
	return coordination.Mask(coordination.Head(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\uFFFD"), most))
}

// payloadOf decodes the payload of a check.
func payloadOf(raw json.RawMessage) (p checkPayload, err error) {
	if err := json.Unmarshal(raw, &p); err != nil {
		return p, fmt.Errorf("read the check of a job: %w", err)
	}
	return p, nil
}
