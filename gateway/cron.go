package gateway

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"strconv"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// Schedules changes and runs scheduled jobs. Its refusals are *schedule.Refusal.
type Schedules interface {
	Add(ctx context.Context, job coordination.CronJob, by string) (schedules.Row, error)
	Update(ctx context.Context, id string, change func(*coordination.CronJob) error, by string) (schedules.Row, error)
	Remove(ctx context.Context, id, by string) (removed bool, err error)
	Now(ctx context.Context, id string, onlyDue bool, by string) (schedule.Ran, error)
}

// cronMethods list, change and run scheduled jobs.
func (s *Server) cronMethods() map[string]answer {
	return map[string]answer{
		"cron.status": s.answerCronStatus, "cron.list": s.answerJobs, "cron.get": s.answerJob, "cron.runs": s.answerJobRuns,
		"cron.add": s.addJob, "cron.update": s.updateJob, "cron.remove": s.removeJob, "cron.run": s.runJob,
	}
}

type cronStatus struct {
	Enabled    bool   `json:"enabled"`
	StorePath  string `json:"storePath"`
	Jobs       int    `json:"jobs"`
	NextWakeAt *int64 `json:"nextWakeAtMs"`
}

// jobs reads the tables of jobs.
func (s *Server) jobs(ctx context.Context, read func(tx eventstore.Tx) error) error {
	return s.opts.Log.View(ctx, func(tx *sql.Tx) error { return read(projections.Reading(ctx, tx)) })
}

func (s *Server) answerCronStatus(ctx context.Context, _ *wire.Call) (any, error) {
	status := cronStatus{Enabled: s.opts.Schedules != nil && s.opts.Configuration.InForce().Cron.Enabled, StorePath: s.opts.Database}
	err := s.jobs(ctx, func(tx eventstore.Tx) (err error) {
		if status.Jobs, err = schedules.Count(tx); err != nil {
			return err
		}
		next, err := schedules.NextWake(tx)
		if next > 0 {
			status.NextWakeAt = &next
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return encoded(status)
}

// jobState is the state of a job in the clients' form.
type jobState struct {
	NextRunAt     int64  `json:"nextRunAtMs,omitempty"`
	RunningAt     int64  `json:"runningAtMs,omitempty"`
	LastRunAt     int64  `json:"lastRunAtMs,omitempty"`
	LastRunStatus string `json:"lastRunStatus,omitempty"`
	LastStatus    string `json:"lastStatus,omitempty"`
	LastError     string `json:"lastError,omitempty"`
	LastDuration  *int64 `json:"lastDurationMs,omitempty"`
	Errors        int    `json:"consecutiveErrors,omitempty"`
	Skips         int    `json:"consecutiveSkipped,omitempty"`
	Delivered     *bool  `json:"lastDelivered,omitempty"`
	Delivery      string `json:"lastDeliveryStatus,omitempty"`
	DeliveryError string `json:"lastDeliveryError,omitempty"`
}

type jobInfo struct {
	coordination.CronJob
	State jobState `json:"state"`

	// Protocol 4.
	Revision      string `json:"configRevision,omitempty"`
	NextRunAt     int64  `json:"nextRunAtMs,omitempty"`
	LastRunAt     int64  `json:"lastRunAtMs,omitempty"`
	LastRunStatus string `json:"lastRunStatus,omitempty"`
	LastRunError  string `json:"lastRunError,omitempty"`
	Delivery      string `json:"lastDeliveryStatus,omitempty"`
	DeliveryError string `json:"lastDeliveryError,omitempty"`
}

func jobInfoOf(row *schedules.Row, version int) jobInfo {
	i := jobInfo{CronJob: row.Job, State: jobState{NextRunAt: row.NextAt, RunningAt: row.RunningAt, LastRunAt: row.LastRunAt, LastRunStatus: row.LastStatus,
		LastStatus: row.LastStatus, LastError: row.LastError, Errors: row.Errors, Skips: row.Skips, Delivered: delivered(row.LastDelivery),
		Delivery: row.LastDelivery, DeliveryError: row.LastDeliveryError}}
	if row.LastRunID != "" {
		i.State.LastDuration = &row.LastDurationMs
	}
	if row.WakeAt() > row.NextAt { // in a back-off
		i.State.NextRunAt = row.WakeAt()
	}
	if version >= protocol.SincePages {
		i.Revision = strconv.FormatInt(row.Job.UpdatedAtMs, 10)
		i.NextRunAt, i.LastRunAt, i.LastRunStatus, i.LastRunError = i.State.NextRunAt, row.LastRunAt, row.LastStatus, row.LastError
		i.Delivery, i.DeliveryError = row.LastDelivery, row.LastDeliveryError
	}
	return i
}

// delivered says whether an answer was delivered; nil: that was not asked for.
func delivered(status string) *bool {
	switch status {
	case schedule.Delivered, schedule.NotDelivered:
		is := status == schedule.Delivered
		return &is
	}
	return nil
}

const (
	usualJobs = 50
	maxJobs   = 200
)

// maxPageBytes bounds the entries of a page, in bytes of JSON.
const maxPageBytes = 4 << 20

// fitting is the beginning of a page that is not too large, at least one entry. Clients go on at its nextOffset.
func fitting[T any](entries []T) []T {
	size := 0
	for i := range entries {
		text, _ := json.Marshal(&entries[i]) // texts and numbers always marshal
		if size += len(text); size > maxPageBytes && i > 0 {
			return entries[:i]
		}
	}
	return entries
}

// pageOf is the frame of a list.
func pageOf(name string, rows any, total, offset, limit, n int) map[string]any {
	p := map[string]any{name: rows, "total": total, "offset": offset, "limit": limit, "hasMore": offset+n < total, "nextOffset": nil}
	if offset+n < total {
		p["nextOffset"] = offset + n
	}
	return p
}

func (s *Server) answerJobs(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		Limit    int    `json:"limit"`
		Offset   int    `json:"offset"`
		Query    string `json:"query"`
		Disabled bool   `json:"includeDisabled"`
		Enabled  string `json:"enabled"`
		SortBy   string `json:"sortBy"`
		SortDir  string `json:"sortDir"`
		Agent    string `json:"agentId"`
		Kind     string `json:"scheduleKind"`
		Status   string `json:"lastRunStatus"`
		Trigger  string `json:"trigger"`
	}](call)
	if err != nil {
		return nil, err
	}
	all := func(value string) string {
		if value == "all" {
			return ""
		}
		return value
	}
	q := schedules.Query{Agent: p.Agent, Kind: all(p.Kind), Status: all(p.Status), Text: p.Query, SortBy: p.SortBy, Down: p.SortDir == "desc", Offset: p.Offset,
		Limit: max(min(cmp.Or(p.Limit, usualJobs), maxJobs), 1)}
	switch is := p.Enabled != "disabled"; {
	case p.Enabled == "enabled", p.Enabled == "disabled", p.Enabled == "" && !p.Disabled:
		q.Enabled = &is
	}
	infos, total, revision := []jobInfo{}, 0, int64(0)
	err = s.jobs(ctx, func(tx eventstore.Tx) error {
		rows, n, err := schedules.List(tx, q)
		for i := range rows {
			infos = append(infos, jobInfoOf(&rows[i], call.Peer.Protocol))
		}
		if total = n; err != nil {
			return err
		}
		revision, err = schedules.Revision(tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	infos = fitting(infos)
	answer := pageOf("jobs", infos, total, q.Offset, q.Limit, len(infos))
	if call.Peer.Protocol >= protocol.SincePages {
		answer["snapshotRevision"] = strconv.FormatInt(revision, 10)
	}
	return encoded(answer)
}

// jobIDOf is the job that a request names by id, or by jobId as older clients do.
type jobIDOf struct {
	ID    string `json:"id"`
	JobID string `json:"jobId"`
}

func (p *jobIDOf) id() string { return cmp.Or(p.ID, p.JobID) }

func (s *Server) answerJob(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[jobIDOf](call)
	if err != nil {
		return nil, err
	}
	var row schedules.Row
	found := false
	err = s.jobs(ctx, func(tx eventstore.Tx) (err error) {
		row, found, err = schedules.Load(tx, p.id())
		return err
	})
	switch {
	case err != nil:
		return nil, err
	case !found:
		return nil, invalidRequest("unknown cron job id: "+echo(p.id()), fault{Code: schedule.CodeUnknown, Field: "id", Value: echo(p.id()), Hint: "list the jobs with cron.list"})
	}
	return encoded(jobInfoOf(&row, call.Peer.Protocol))
}

// jobRun is an entry of the history of runs in the clients' form.
type jobRun struct {
	TS             int64          `json:"ts"`
	JobID          string         `json:"jobId"`
	Action         string         `json:"action"`
	Status         string         `json:"status,omitempty"`
	Completion     string         `json:"completionStatus,omitempty"` // protocol 4
	Error          string         `json:"error,omitempty"`
	Summary        string         `json:"summary,omitempty"`
	Delivered      *bool          `json:"delivered,omitempty"`
	DeliveryStatus string         `json:"deliveryStatus,omitempty"`
	DeliveryError  string         `json:"deliveryError,omitempty"`
	SessionID      string         `json:"sessionId,omitempty"`
	SessionKey     string         `json:"sessionKey,omitempty"`
	RunID          string         `json:"runId,omitempty"`
	RunAt          int64          `json:"runAtMs,omitempty"`
	Duration       int64          `json:"durationMs"`
	Model          string         `json:"model,omitempty"`
	Provider       string         `json:"provider,omitempty"`
	Usage          map[string]any `json:"usage,omitempty"`
	JobName        string         `json:"jobName,omitempty"`
}

func jobRunOf(r *schedules.Run, version int) jobRun {
	e := &r.End
	x := jobRun{TS: r.EndedAt, JobID: r.JobID, Action: "finished", Status: r.Status, Error: e.Error, Summary: e.Summary, Delivered: delivered(r.Delivery),
		DeliveryStatus: r.Delivery, DeliveryError: r.DeliveryText, SessionID: e.SessionID, SessionKey: e.SessionKey, RunID: r.RunID, RunAt: r.At,
		Duration: e.DurationMs, Model: e.Model, Provider: e.Provider, JobName: r.JobName}
	if u := e.Usage; u != nil {
		x.Usage = map[string]any{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Total}
	}
	if version >= protocol.SincePages {
		switch {
		case r.Status == schedule.Error || r.Delivery == schedule.NotDelivered:
			x.Completion = "failed"
		case r.Delivery == schedule.Unknown:
			x.Completion = "unknown"
		default:
			x.Completion = "succeeded"
		}
	}
	return x
}

func (s *Server) answerJobRuns(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		jobIDOf
		Scope      string   `json:"scope"`
		RunID      string   `json:"runId"`
		Limit      int      `json:"limit"`
		Offset     int      `json:"offset"`
		Status     string   `json:"status"`
		Statuses   []string `json:"statuses"`
		Delivery   string   `json:"deliveryStatus"`
		Deliveries []string `json:"deliveryStatuses"`
		Query      string   `json:"query"`
		SortDir    string   `json:"sortDir"`
		Agent      string   `json:"agentId"`
	}](call)
	if err != nil {
		return nil, err
	}
	q := schedules.RunsQuery{JobID: p.id(), RunID: p.RunID, Agent: p.Agent, Text: p.Query, Up: p.SortDir == "asc", Offset: p.Offset,
		Limit: max(min(cmp.Or(p.Limit, usualJobs), maxJobs), 1), Statuses: p.Statuses, Delivery: p.Deliveries}
	if p.Scope == "all" {
		q.JobID = ""
	}
	if p.Status != "" && p.Status != "all" {
		q.Statuses = append(q.Statuses, p.Status)
	}
	if p.Delivery != "" {
		q.Delivery = append(q.Delivery, p.Delivery)
	}
	entries, total := []jobRun{}, 0
	err = s.jobs(ctx, func(tx eventstore.Tx) error {
		list, n, err := schedules.ListRuns(tx, q)
		for i := range list {
			entries = append(entries, jobRunOf(&list[i], call.Peer.Protocol))
		}
		total = n
		return err
	})
	if err != nil {
		return nil, err
	}
	entries = fitting(entries)
	return encoded(pageOf("entries", entries, total, q.Offset, q.Limit, len(entries)))
}

func (s *Server) noSchedules() error {
	return notHere("no_agents", "no agents run here: another gateway keeps the jobs")
}

func (s *Server) removeJob(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[jobIDOf](call)
	if err != nil {
		return nil, err
	}
	if s.opts.Schedules == nil {
		return nil, s.noSchedules()
	}
	removed, err := s.opts.Schedules.Remove(ctx, p.id(), call.Peer.Client.ID)
	if err != nil {
		return nil, jobRefusalOf(call.Method, err)
	}
	return map[string]bool{"ok": removed, "removed": removed}, nil
}

// ranAnswer answers cron.run. The run goes on after the answer.
type ranAnswer struct {
	OK       bool   `json:"ok"`
	Ran      *bool  `json:"ran,omitempty"`
	Enqueued bool   `json:"enqueued,omitempty"`
	RunID    string `json:"runId,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

func (s *Server) runJob(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[struct {
		jobIDOf
		Mode string `json:"mode"`
	}](call)
	if err != nil {
		return nil, err
	}
	if s.opts.Schedules == nil {
		return nil, s.noSchedules()
	}
	ran, err := s.opts.Schedules.Now(ctx, p.id(), p.Mode == "due", call.Peer.Client.ID)
	if err != nil {
		return nil, jobRefusalOf(call.Method, err)
	}
	is := ran.RunID != ""
	a := ranAnswer{OK: true, RunID: ran.RunID, Reason: ran.Reason}
	if is && call.Peer.Protocol >= protocol.SincePages {
		a.Enqueued = true
	} else {
		a.Ran = &is
	}
	return a, nil
}

// jobRefusalOf converts an error of Schedules.
func jobRefusalOf(method string, err error) error {
	refused, ok := errors.AsType[*schedule.Refusal](err)
	if !ok {
		return refusalOf(err)
	}
	text := "invalid " + method + " params: " + refused.Error()
	if refused.Reason == schedule.CodeUnknown {
		text = "unknown cron job id: " + echo(refused.Value)
	}
	return invalidRequest(text, fault{Code: refused.Code(), Field: refused.Field, Value: echo(refused.Value), Hint: refused.HintText})
}
