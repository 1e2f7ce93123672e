package back

import (
	"context"
	"database/sql"
	"io"
	"path"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/schedules"
)

// job is a scheduled job with its state, as cron/jobs.json has it.
type job struct {
	coordination.CronJob
	State state `json:"state"`
}

type state struct {
	NextRunAtMs    int64  `json:"nextRunAtMs,omitempty"`
	LastRunAtMs    int64  `json:"lastRunAtMs,omitempty"`
	LastStatus     string `json:"lastStatus,omitempty"`
	LastRunStatus  string `json:"lastRunStatus,omitempty"`
	LastError      string `json:"lastError,omitempty"`
	LastDurationMs int64  `json:"lastDurationMs,omitempty"`
	Errors         int    `json:"consecutiveErrors,omitempty"`
}

// jobRun is a line of cron/runs/<job>.jsonl.
type jobRun struct {
	At             int64  `json:"ts"`
	JobID          string `json:"jobId"`
	Action         string `json:"action"`
	Status         string `json:"status"`
	Error          string `json:"error,omitempty"`
	Summary        string `json:"summary,omitempty"`
	RunAtMs        int64  `json:"runAtMs"`
	DurationMs     int64  `json:"durationMs"`
	SessionKey     string `json:"sessionKey,omitempty"`
	SessionID      string `json:"sessionId,omitempty"`
	Provider       string `json:"provider,omitempty"`
	Model          string `json:"model,omitempty"`
	DeliveryStatus string `json:"deliveryStatus,omitempty"`
}

// jobs writes the scheduled jobs, except heartbeats, which follow the configuration.
func (w *writer) jobs(ctx context.Context) error {
	all := struct {
		Version int   `json:"version"`
		Jobs    []job `json:"jobs"`
	}{1, []job{}}
	for offset := 0; ; offset += atOnce {
		var rows []schedules.Row
		err := w.read(ctx, func(tx eventstore.Tx) (err error) {
			rows, _, err = schedules.List(tx, schedules.Query{SortBy: "name", Offset: offset, Limit: atOnce})
			return err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			r := &rows[i]
			if r.Job.Payload.Kind == schedule.PayloadHeartbeat {
				continue
			}
			all.Jobs = append(all.Jobs, job{r.Job, state{r.NextAt, r.LastRunAt, r.LastStatus, r.LastStatus, r.LastError, r.LastDurationMs, r.Errors}})
			if err := w.runs(ctx, r); err != nil {
				return err
			}
		}
		if len(rows) < atOnce {
			break
		}
	}
	w.report.Jobs = int64(len(all.Jobs))
	return w.file("cron/jobs.json", func(out io.Writer) error { return line(out, all) })
}

// runs writes the runs of a job that are over, if it has had any.
func (w *writer) runs(ctx context.Context, r *schedules.Row) error {
	if r.LastRunID == "" || !isFileName(r.Job.ID) {
		return nil
	}
	return w.file(path.Join("cron", "runs", r.Job.ID+".jsonl"), func(out io.Writer) error {
		for offset := 0; ; offset += atOnce {
			var list []schedules.Run
			err := w.read(ctx, func(tx eventstore.Tx) (err error) {
				list, _, err = schedules.ListRuns(tx, schedules.RunsQuery{JobID: r.Job.ID, Up: true, Offset: offset, Limit: atOnce})
				return err
			})
			if err != nil {
				return err
			}
			for i := range list {
				x := &list[i]
				w.report.JobRuns++
				if err := line(out, jobRun{At: x.EndedAt, JobID: r.Job.ID, Action: "finished", Status: x.Status, Error: x.End.Error, Summary: x.End.Summary, RunAtMs: x.At,
					DurationMs: x.EndedAt - x.At, SessionKey: x.End.SessionKey, SessionID: x.End.SessionID, Provider: x.End.Provider, Model: x.End.Model,
					DeliveryStatus: x.Delivery}); err != nil {
					return err
				}
			}
			if len(list) < atOnce {
				return nil
			}
		}
	})
}

func (w *writer) read(ctx context.Context, read func(eventstore.Tx) error) error {
	return w.Log.View(ctx, func(tx *sql.Tx) error { return read(projections.Reading(ctx, tx)) })
}
