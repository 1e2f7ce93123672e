package openclaw

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/pronto-lab/openclawd/internal/jsoncheck"
)

// Files with the scheduled jobs of 2026.2, and with what 2026.5 keeps beside their definitions.
const (
	cronPath  = "cron/jobs.json"
	cronState = "cron/jobs-state.json"
)

// Job is a scheduled job.
type Job struct {
	Place string
	ID    string
	Text  json.RawMessage // the definition
	JobState

	runs func(visit func(*JobRun) error) error
}

// JobState is what changes of a job without its definition.
type JobState struct {
	State struct {
		NextRunAtMs int64 `json:"nextRunAtMs"`
	} `json:"state"`
	UpdatedAtMs int64 `json:"updatedAtMs"`
}

// JobRun is a run of a job that is over. Its members are those of OpenClaw's run logs.
type JobRun struct {
	Place          string `json:"-"`
	Action         string `json:"action"`
	Status         string `json:"status"`
	Error          string `json:"error"`
	Summary        string `json:"summary"`
	RunAtMs        int64  `json:"runAtMs"`
	DurationMs     int64  `json:"durationMs"`
	SessionKey     string `json:"sessionKey"`
	SessionID      string `json:"sessionId"`
	Provider       string `json:"provider"`
	Model          string `json:"model"`
	DeliveryStatus string `json:"deliveryStatus"`
	DeliveryError  string `json:"deliveryError"`
	Usage          *struct {
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Total  int64 `json:"total_tokens"`
	} `json:"usage"`
}

// Runs visits the runs of the job, oldest first.
func (j *Job) Runs(visit func(*JobRun) error) error { return j.runs(visit) }

// Jobs visits all scheduled jobs. Files beside a database are older than it, also if it cannot be read.
func (s *Source) Jobs(ctx context.Context, visit func(*Job) error) error {
	if s.known(statePath) {
		if d := s.stateDatabase(ctx, "cron_jobs.job_id", "cron_jobs.job_json", "cron_jobs.state_json", "cron_jobs.sort_order", "cron_jobs.updated_at"); d != nil {
			return d.jobs(visit)
		}
		return ctx.Err()
	}
	var file struct{ Jobs []json.RawMessage }
	if !s.ReadJSON(cronPath, &file) {
		return ctx.Err()
	}
	var beside struct{ Jobs map[string]JobState }
	s.ReadJSON(cronState, &beside)
	for i, text := range file.Jobs {
		job := &Job{Place: fmt.Sprintf("%s#%d", cronPath, i), Text: text}
		if !s.readJob(job, text) {
			continue
		}
		if now, ok := beside.Jobs[job.ID]; ok {
			job.JobState = now
		}
		log := path.Join("cron", "runs", job.ID+".jsonl")
		job.runs = func(visit func(*JobRun) error) error {
			if strings.ContainsAny(job.ID, `/\`) {
				return nil
			}
			return s.eachLine(log, func(line Line) error {
				if !jsoncheck.Valid(line.Text) {
					return ErrNotJSON
				}
				run := &JobRun{Place: fmt.Sprintf("%s:%d", log, line.Number)}
				if err := json.Unmarshal(line.Text, run); err != nil || run.Action != "finished" || run.RunAtMs == 0 {
					s.problem(run.Place, ReasonInvalid, "it is not the end of a run", "")
					return nil
				}
				return visit(run)
			})
		}
		if err := visit(job); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// readJob reads what all forms of a job have, and reports a text that is none.
func (s *Source) readJob(job *Job, text json.RawMessage) bool {
	var members struct {
		ID          string
		UpdatedAtMs int64
		State       json.RawMessage
	}
	if err := json.Unmarshal(text, &members); err != nil || members.ID == "" {
		s.problem(job.Place, ReasonInvalid, "the job has no id", "")
		return false
	}
	job.ID, job.UpdatedAtMs = members.ID, members.UpdatedAtMs
	_ = json.Unmarshal(members.State, &job.State) // without it the next due time is computed
	return true
}

// stateDatabase opens the database that all agents share, nil if it cannot be read, or lacks one of the columns.
func (s *Source) stateDatabase(ctx context.Context, columns ...string) *agentDatabase {
	if !s.shared.tried {
		s.shared.tried = true
		if db := s.database(statePath); db != nil {
			if schema, ok := s.schemaOf(ctx, db, statePath, newestStateSchema); ok {
				s.shared.db, s.shared.schema = db, schema
			}
		}
	}
	if s.shared.db == nil || !s.checkColumns(ctx, s.shared.db, statePath, s.shared.schema, columns...) {
		return nil
	}
	return &agentDatabase{Source: s, ctx: ctx, db: s.shared.db, name: statePath}
}

// shared is the database that all agents share, once it was asked for.
type shared struct {
	tried  bool
	db     *sql.DB // nil: it cannot be read
	schema string
}

// jobs visits the scheduled jobs of the database. Without their runs they are still jobs.
func (d *agentDatabase) jobs(visit func(*Job) error) error {
	hasRuns := d.checkColumns(d.ctx, d.db, d.name, d.shared.schema, "cron_run_receipts.receipt_id", "cron_run_receipts.job_id", "cron_run_receipts.status",
		"cron_run_receipts.error_text", "cron_run_receipts.started_at_ms", "cron_run_receipts.finished_at_ms")
	for _, row := range d.list(4, "SELECT job_id, job_json, state_json, updated_at FROM cron_jobs ORDER BY sort_order, job_id") {
		job := &Job{Place: statePath + "#" + row[0], Text: json.RawMessage(row[1])}
		if !d.readJob(job, job.Text) {
			continue
		}
		_ = json.Unmarshal([]byte(row[2]), &job.State)
		if job.UpdatedAtMs == 0 {
			_, _ = fmt.Sscan(row[3], &job.UpdatedAtMs)
		}
		job.runs = func(visit func(*JobRun) error) error {
			if !hasRuns {
				return nil
			}
			return d.receipts(job, visit)
		}
		if err := visit(job); err != nil {
			return err
		}
	}
	return d.ctx.Err()
}

// receipts visits the runs of a job that are over.
func (d *agentDatabase) receipts(job *Job, visit func(*JobRun) error) error {
	rows, err := d.db.QueryContext(d.ctx, `SELECT receipt_id, status, coalesce(error_text, ''), started_at_ms, finished_at_ms - started_at_ms FROM cron_run_receipts
 WHERE job_id = ? AND finished_at_ms IS NOT NULL ORDER BY started_at_ms, receipt_id`, job.ID)
	if err != nil {
		d.unreadable(job.Place, err)
		return nil
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		run := &JobRun{}
		if err := rows.Scan(&id, &run.Status, &run.Error, &run.RunAtMs, &run.DurationMs); err != nil {
			d.unreadable(job.Place, err)
			return nil
		}
		run.Place = statePath + "#" + id
		if err := visit(run); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		d.unreadable(job.Place, err)
	}
	return d.ctx.Err()
}
