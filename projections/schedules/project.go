// Package schedules folds events into scheduled jobs and their runs: see coordination/schedule for their state. It is a decision table:
// whether a job is due is decided from it, in the transaction that begins the run. Events of an imported log change nothing here.
package schedules

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// Name of the projection.
const Name = "schedule"

// version of the fold. Increment it with every change of what it writes.
const version = "2"

// Definition describes the projection "schedule".
func Definition() projections.Definition {
	return projections.Definition{
		Name: Name, Version: version, Kind: projections.Decision, Tables: []string{"cron_jobs", "cron_runs"},
		New: func(name func(string) string) projections.Projector {
			return &projector{jobs: newJobs(name("cron_jobs")), runs: newRuns(name("cron_runs"))}
		},
	}
}

type projector struct {
	jobs *projections.Table[string, Row]
	runs *projections.Table[string, run]
}

func (p *projector) Rows() []projections.Rows { return []projections.Rows{p.jobs, p.runs} }

// streams is the prefix of jobs' streams.
const streams = "cron/"

// Apply folds one event. It never refuses an event: one that cannot be read changes nothing, except that a job whose definition was
// redacted is gone, and that a redacted end still ends the run.
func (p *projector) Apply(tx eventstore.Tx, e *projections.Event) error {
	name, ours := strings.CutPrefix(e.Stream, streams)
	if !ours || e.Actor == eventstore.ActorImport || !strings.HasPrefix(e.Type, "cron.") {
		return nil
	}
	known, err := p.jobs.Get(tx, name)
	if err != nil {
		return err
	}
	row := Row{name: name, Seq: e.Seq}
	if known != nil {
		row = *known
	}
	running := row.RunID
	means, gone := row.Apply(e.Type, e.Data)
	if e.Redacted() && (e.Type == coordination.TypeCronJobAdded || e.Type == coordination.TypeCronJobUpdated) {
		means, gone = true, true
	}
	if means || e.Type == coordination.TypeCronRunDelivered { // a post may end after its job is gone, or has run again
		if err := p.applyRun(tx, e, name, running); err != nil {
			return err
		}
	}
	if !means {
		return nil
	}
	if gone {
		if known == nil {
			return nil
		}
		into, _, err := p.jobs.Edit(tx, name)
		if err == nil {
			*into = Row{name: name}
		}
		return err
	}
	row.LastSeq = e.Seq
	into, _, err := p.jobs.Edit(tx, name)
	if err == nil {
		*into = row
	}
	return err
}

// applyRun folds an event about a run. running is the run in progress before it.
func (p *projector) applyRun(tx eventstore.Tx, e *projections.Event, job, running string) error {
	switch e.Type {
	case coordination.TypeCronRunDue:
		var d coordination.CronRunDue
		if json.Unmarshal(e.Data, &d) != nil || d.RunID == "" {
			return nil
		}
		row, existed, err := p.runs.Edit(tx, d.RunID)
		if err == nil && !existed {
			*row = run{id: d.RunID, job: job, seq: e.Seq, dueAt: d.DueAtMs, at: d.AtMs, manual: d.Manual}
		}
		return err
	case coordination.TypeCronRunFinished:
		var d coordination.CronRunFinished
		_ = json.Unmarshal(e.Data, &d) // a redacted one ends the run in progress
		if d.RunID == "" {
			d.RunID, d.AtMs = running, e.TS
		}
		return p.change(tx, d.RunID, func(r *run) {
			r.endedAt, r.status, r.delivery, r.deliveryError, r.endSeq = d.AtMs, d.Status, d.DeliveryStatus, d.DeliveryError, e.Seq
			if d.Usage != nil {
				r.tokens = int64(d.Usage.Total)
			}
		})
	case coordination.TypeCronRunDelivered:
		var d coordination.CronRunDelivered
		if json.Unmarshal(e.Data, &d) != nil {
			return nil
		}
		return p.change(tx, d.RunID, func(r *run) { r.delivery, r.deliveryError = d.Status, d.Error })
	}
	return nil
}

// change edits a known run.
func (p *projector) change(tx eventstore.Tx, id string, edit func(*run)) error {
	known, err := p.runs.Get(tx, id)
	if err != nil || known == nil {
		return err
	}
	row, _, err := p.runs.Edit(tx, id)
	if err == nil {
		edit(row)
	}
	return err
}

// Row is a job.
type Row struct {
	schedule.State
	Seq     int64 // of the event that added it
	LastSeq int64 // of the last event about it

	name string
}

func newJobs(table string) *projections.Table[string, Row] {
	return projections.NewTable(projections.Columns[string, Row]{
		Table: table, Key: 1, Fixed: 3, Keep: 2_000,
		Names: []string{"name", "job_id", "seq", "label", "agent", "kind", "enabled", "next_at", "wake_at", "run_id", "running_at", "last_status",
			"updated_at", "last_seq", "state"},
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, row *Row) (err error) {
			*row, err = scan(r.Text(0), r.Int(2), r.Int(13), r.Text(14))
			return err
		},
		Args: func(args []any, row *Row) []any {
			state, _ := json.Marshal(&row.State) // numbers, texts and flags always marshal
			j := &row.Job
			return append(args, row.name, j.ID, row.Seq, j.Name, strings.ToLower(j.AgentID), j.Schedule.Kind, flag(j.Enabled), row.NextAt, row.WakeAt(),
				row.RunID, row.RunningAt, row.LastStatus, j.UpdatedAtMs, row.LastSeq, string(state))
		},
		Empty: func(row *Row) bool { return row.Job.ID == "" },
	})
}

func scan(name string, seq, lastSeq int64, state string) (Row, error) {
	row := Row{name: name, Seq: seq, LastSeq: lastSeq}
	if err := json.Unmarshal([]byte(state), &row.State); err != nil {
		return Row{}, fmt.Errorf("read scheduled job %s: %w", name, err)
	}
	return row, nil
}

func flag(is bool) int64 {
	if is {
		return 1
	}
	return 0
}

// run is a row of cron_runs.
type run struct {
	id, job                 string
	seq, dueAt, at, endedAt int64
	manual                  bool
	status, delivery        string
	deliveryError           string
	tokens, endSeq          int64
}

func newRuns(table string) *projections.Table[string, run] {
	return projections.NewTable(projections.Columns[string, run]{
		Table: table, Key: 1, Fixed: 3, Keep: 2_000,
		Names:  []string{"run_id", "job", "seq", "due_at", "at", "ended_at", "manual", "status", "delivery", "delivery_error", "total_tokens", "end_seq"},
		Lookup: "run_id = ?", LookUp: func(id string) []any { return []any{id} },
		Scan: func(r eventstore.Row, x *run) error {
			*x = run{id: r.Text(0), job: r.Text(1), seq: r.Int(2), dueAt: r.Int(3), at: r.Int(4), endedAt: r.Int(5), manual: r.Int(6) != 0, status: r.Text(7),
				delivery: r.Text(8), deliveryError: r.Text(9), tokens: r.Int(10), endSeq: r.Int(11)}
			return nil
		},
		Args: func(args []any, x *run) []any {
			return append(args, x.id, x.job, x.seq, x.dueAt, x.at, x.endedAt, flag(x.manual), x.status, x.delivery, x.deliveryError, x.tokens, x.endSeq)
		},
	})
}
