package monitor

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

const (
	schedulesPath = "/api/schedules"
	runsTail      = "/runs"
)

// jobAnswer is a scheduled job with its state. Times are ms since 1970.
type jobAnswer struct {
	coordination.CronJob
	State jobState `json:"state"`
}

type jobState struct {
	NextAt         int64  `json:"nextAt,omitempty"`    // when it runs next; absent: never
	NotBefore      int64  `json:"notBefore,omitempty"` // of a job in a back-off: it is not started before
	RunID          string `json:"runId,omitempty"`     // of the run in progress
	RunningAt      int64  `json:"runningAt,omitempty"` // when that began
	LastRunID      string `json:"lastRunId,omitempty"`
	LastRunAt      int64  `json:"lastRunAt,omitempty"`
	LastStatus     string `json:"lastStatus,omitempty"` // ok, error, skipped
	LastError      string `json:"lastError,omitempty"`
	LastDurationMs int64  `json:"lastDurationMs,omitempty"`
	LastDelivery   string `json:"lastDelivery,omitempty"` // delivered, not-delivered, unknown, not-requested
	DeliveryError  string `json:"lastDeliveryError,omitempty"`
	Runs           int    `json:"runs"`   // that were due
	Missed         int    `json:"missed"` // due times without a run
	Errors         int    `json:"errors"` // consecutive failures
}

func jobAnswerOf(row *schedules.Row) jobAnswer {
	s := jobState{NextAt: row.NextAt, RunID: row.RunID, RunningAt: row.RunningAt, LastRunID: row.LastRunID, LastRunAt: row.LastRunAt,
		LastStatus: row.LastStatus, LastError: row.LastError, LastDurationMs: row.LastDurationMs, LastDelivery: row.LastDelivery,
		DeliveryError: row.LastDeliveryError, Runs: row.Runs, Missed: row.Missed, Errors: row.Errors}
	if at := row.WakeAt(); at > row.NextAt {
		s.NextAt, s.NotBefore = at, at
	}
	return jobAnswer{row.Job, s}
}

// SchedulesAnswer answers GET /api/schedules.
type SchedulesAnswer struct {
	Jobs    []jobAnswer `json:"jobs"`
	Count   int         `json:"count"`
	Total   int         `json:"total"` // that pass the filters, regardless of limit and offset
	On      *bool       `json:"on"`    // due jobs are started here; null: this is not known
	AsOfSeq int64       `json:"asOfSeq"`
}

// maxPayload is how many characters of what a job says a list shows.
const maxPayload = 500

// listJobs lists scheduled jobs, those that are due next first. Long texts are cut.
func (s *Server) listJobs(c echo.Context) error {
	p := parametersOf(c)
	q := schedules.Query{Agent: p.agent("agent"), Text: p.first("q"), Limit: p.limit(), Offset: int(p.integer("offset", 0, 0, mostSkippedOver))}
	if enabled := p.word("enabled", "true", "false"); enabled != "" {
		is := enabled == "true"
		q.Enabled = &is
	}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		rows, total, err := schedules.List(projections.Reading(ctx, v.tx), q)
		a := SchedulesAnswer{Jobs: make([]jobAnswer, len(rows)), Count: len(rows), Total: total, AsOfSeq: v.asOf}
		for i := range rows {
			rows[i].Job.Payload.Text = coordination.Head(rows[i].Job.Payload.Text, maxPayload)
			rows[i].Job.Payload.Message = coordination.Head(rows[i].Job.Payload.Message, maxPayload)
			a.Jobs[i] = jobAnswerOf(&rows[i])
		}
		if v.Schedules != nil && v.then == nil {
			on := v.Schedules.On()
			a.On = &on
		}
		return a, err
	})
}

// scheduleAnswer answers GET /api/schedules/:id.
type scheduleAnswer struct {
	Job     jobAnswer `json:"job"`
	AsOfSeq int64     `json:"asOfSeq"`
}

func (s *Server) showJob(c echo.Context) error {
	id, err := pathID(c, "")
	if err != nil {
		return err
	}
	return s.answerTo(c, parametersOf(c), func(ctx context.Context, v *view) (any, error) {
		row, err := loadJob(projections.Reading(ctx, v.tx), id)
		return scheduleAnswer{jobAnswerOf(&row), v.asOf}, err
	})
}

func loadJob(tx eventstore.Tx, id string) (schedules.Row, error) {
	row, found, err := schedules.Load(tx, id)
	if err == nil && !found {
		err = notFound("There is no scheduled job " + coordination.Shown(id))
	}
	return row, err
}

// jobRunAnswer is a run of a scheduled job. Times are ms since 1970.
type jobRunAnswer struct {
	RunID         string                     `json:"runId"`
	JobID         string                     `json:"jobId"`
	JobName       string                     `json:"jobName,omitempty"`
	DueAt         int64                      `json:"dueAt"`
	At            int64                      `json:"at"`      // when it began
	EndedAt       *int64                     `json:"endedAt"` // null while it is in progress
	Manual        bool                       `json:"manual"`  // on request
	Status        string                     `json:"status,omitempty"`
	Error         string                     `json:"error,omitempty"`
	Summary       string                     `json:"summary,omitempty"` // beginning of the answer
	DurationMs    int64                      `json:"durationMs,omitempty"`
	SessionKey    string                     `json:"sessionKey,omitempty"`
	Provider      string                     `json:"provider,omitempty"`
	Model         string                     `json:"model,omitempty"`
	ModelCalls    int                        `json:"modelCalls,omitempty"`
	Usage         *coordination.SessionUsage `json:"usage,omitempty"`
	Delivery      string                     `json:"delivery,omitempty"`
	DeliveryError string                     `json:"deliveryError,omitempty"`
	Seq           int64                      `json:"seq"` // of its cron.run.due
}

func jobRunAnswerOf(r *schedules.Run) jobRunAnswer {
	e := &r.End
	return jobRunAnswer{RunID: r.RunID, JobID: r.JobID, JobName: r.JobName, DueAt: r.DueAt, At: r.At, EndedAt: orNull(r.EndedAt), Manual: r.Manual, Status: r.Status,
		Error: e.Error, Summary: e.Summary, DurationMs: e.DurationMs, SessionKey: e.SessionKey, Provider: e.Provider, Model: e.Model, ModelCalls: e.ModelCalls,
		Usage: e.Usage, Delivery: r.Delivery, DeliveryError: r.DeliveryText, Seq: r.Seq}
}

// JobRunsAnswer answers GET /api/schedules/:id/runs.
type JobRunsAnswer struct {
	Runs       []jobRunAnswer `json:"runs"`
	Count      int            `json:"count"`
	Total      int            `json:"total"` // of the job, regardless of the page
	NextCursor *string        `json:"nextCursor"`
	AsOfSeq    int64          `json:"asOfSeq"`
}

// listJobRuns lists the runs of a job, also those in progress, newest first.
func (s *Server) listJobRuns(c echo.Context) error {
	id, err := pathID(c, runsTail)
	if err != nil {
		return err
	}
	p := parametersOf(c)
	limit := p.limit()
	q := schedules.RunsQuery{JobID: id, Open: true, Before: p.placeCursor("j"), Limit: limit + 1, Statuses: p.words("status", schedule.OK, schedule.Error, schedule.Skipped)}
	return s.answerTo(c, p, func(ctx context.Context, v *view) (any, error) {
		tx := projections.Reading(ctx, v.tx)
		list, total, err := schedules.ListRuns(tx, q)
		if err == nil && total == 0 {
			_, err = loadJob(tx, id)
		}
		if err != nil {
			return nil, err
		}
		list, next := pageOf(list, limit, "j", func(r *schedules.Run) int64 { return r.Seq })
		return JobRunsAnswer{Runs: each(list, jobRunAnswerOf), Count: len(list), Total: total, NextCursor: next, AsOfSeq: v.asOf}, nil
	})
}
