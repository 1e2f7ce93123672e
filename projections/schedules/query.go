package schedules

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const (
	selectJobs     = "SELECT j.name, j.seq, j.last_seq, j.state FROM cron_jobs j"
	selectJob      = selectJobs + " WHERE j.name = ?"
	selectDue      = selectJobs + " WHERE j.wake_at > 0 AND j.wake_at <= ? ORDER BY j.wake_at, j.seq LIMIT ?"
	selectLater    = selectJobs + " WHERE j.wake_at > ? ORDER BY j.wake_at, j.seq"
	selectRunning  = selectJobs + " WHERE j.run_id <> '' ORDER BY j.seq"
	selectTaken    = `SELECT 'has run' FROM cron_runs WHERE run_id = ? UNION ALL SELECT 'id taken' FROM streams WHERE name IN (?, ?) LIMIT 1`
	selectWake     = "SELECT min(wake_at) FROM cron_jobs WHERE wake_at > 0"
	selectRevision = "SELECT coalesce(max(last_seq), 0) FROM cron_jobs"
	selectCount    = "SELECT count(*) FROM cron_jobs"
	selectBeats    = selectJobs + " WHERE j.name >= 'heartbeat-' AND j.name < 'heartbeat.' ORDER BY j.name"
	selectRuns     = `SELECT r.run_id, coalesce(j.job_id, r.job), coalesce(j.label, ''), r.due_at, r.at, r.ended_at, r.manual, r.status, r.delivery,
 r.delivery_error, r.seq, e.data FROM cron_runs r LEFT JOIN cron_jobs j ON j.name = r.job LEFT JOIN events e ON e.seq = r.end_seq`
)

func nameOf(jobID string) string { return strings.TrimPrefix(schedule.Stream(jobID), streams) }

// All functions here may be called in a decision, or with projections.Reading.

// Load returns a job.
func Load(tx eventstore.Tx, jobID string) (row Row, found bool, err error) {
	rows, err := read(tx, "load a job", selectJob, nameOf(jobID))
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

// Due returns jobs that have to be started at a time, in ms since 1970, in order. Its cost does not depend on the other jobs.
func Due(tx eventstore.Tx, now int64, limit int) ([]Row, error) {
	return read(tx, "list due jobs", selectDue, now, limit)
}

// LaterThan returns the jobs that have to be started after a time, in ms since 1970, in order.
func LaterThan(tx eventstore.Tx, at int64) ([]Row, error) {
	return read(tx, "list later jobs", selectLater, max(at, 1))
}

// Running returns the jobs with a run in progress.
func Running(tx eventstore.Tx) ([]Row, error) { return read(tx, "list running jobs", selectRunning) }

// Heartbeats returns the jobs that are heartbeats: their ids begin with heartbeat-.
func Heartbeats(tx eventstore.Tx) ([]Row, error) { return read(tx, "list heartbeats", selectBeats) }

// WhyTaken says why no run can begin under an id; "" if one can: the run has started, or another run or work has the id.
func WhyTaken(tx eventstore.Tx, runID string) (why string, err error) {
	why, _, err = projections.ReadOne(tx, "look for a run of a job", selectTaken, []any{runID, coordination.RunStream(runID), coordination.WorkStream(runID)},
		func(r eventstore.Row) string { return r.Text(0) })
	return why, err
}

// NextWake returns when the first job has to be started, in ms since 1970; 0: never.
func NextWake(tx eventstore.Tx) (at int64, err error) {
	at, _, err = projections.ReadOne(tx, "find the next job", selectWake, nil, func(r eventstore.Row) int64 {
		if r.Null(0) {
			return 0
		}
		return r.Int(0)
	})
	return at, err
}

// Count returns the number of jobs.
func Count(tx eventstore.Tx) (n int, err error) {
	n, _, err = projections.ReadOne(tx, "count jobs", selectCount, nil, func(r eventstore.Row) int { return int(r.Int(0)) })
	return n, err
}

// Revision changes with every change of the jobs.
func Revision(tx eventstore.Tx) (seq int64, err error) {
	seq, _, err = projections.ReadOne(tx, "read the revision of the jobs", selectRevision, nil, func(r eventstore.Row) int64 { return r.Int(0) })
	return seq, err
}

// Query selects jobs.
type Query struct {
	Agent   string // "": of any
	Enabled *bool  // nil: both
	Kind    string // "": any
	Status  string // of the last run; "": any
	Text    string // in name or id, without regard to case; "": any
	SortBy  string // nextRunAtMs, updatedAtMs, name; "": nextRunAtMs
	Down    bool
	Offset  int
	Limit   int
}

// List returns a page of jobs, and how many there are on all pages.
func List(tx eventstore.Tx, q Query) (rows []Row, total int, err error) {
	where, args := q.where()
	total, _, err = projections.ReadOne(tx, "count jobs", selectCount+" j"+where, args, func(r eventstore.Row) int { return int(r.Int(0)) })
	if err != nil {
		return nil, 0, err
	}
	direction := ""
	if q.Down {
		direction = " DESC"
	}
	order := map[string]string{"updatedAtMs": "j.updated_at" + direction, "name": "lower(j.label)" + direction}[q.SortBy]
	order = cmp.Or(order, "CASE WHEN j.next_at > 0 THEN 0 ELSE 1 END, j.next_at"+direction)
	rows, err = read(tx, "list jobs", selectJobs+where+" ORDER BY "+order+", j.seq LIMIT ? OFFSET ?", append(args, q.Limit, q.Offset)...)
	return rows, total, err
}

func (q *Query) where() (text string, args []any) {
	var all []string
	only := func(condition string, values ...any) { all, args = append(all, condition), append(args, values...) }
	if q.Agent != "" {
		only("j.agent = ?", strings.ToLower(q.Agent))
	}
	if q.Enabled != nil {
		only("j.enabled = ?", flag(*q.Enabled))
	}
	if q.Kind != "" {
		only("j.kind = ?", q.Kind)
	}
	if q.Status != "" {
		only("j.last_status = ?", q.Status)
	}
	if q.Text != "" {
		only("(instr(lower(j.label), lower(?)) > 0 OR instr(lower(j.job_id), lower(?)) > 0)", q.Text, q.Text)
	}
	if len(all) > 0 {
		text = " WHERE " + strings.Join(all, " AND ")
	}
	return text, args
}

// Run is a run of a job.
type Run struct {
	RunID, JobID, JobName  string
	DueAt, At, EndedAt     int64 // ms since 1970; EndedAt is 0 while it is not over
	Manual                 bool
	Status                 string // "" while it is not over
	Delivery, DeliveryText string
	Seq                    int64
	End                    coordination.CronRunFinished // zero while it is not over, and if redacted
}

// RunsQuery selects runs that are over, newest first.
type RunsQuery struct {
	JobID, RunID       string // "": of any
	Statuses, Delivery []string
	Agent              string
	Text               string // in the summary or error
	Up                 bool   // oldest first
	Open               bool   // also those in progress
	Before             int64  // only runs that began before this event; 0: all. The total counts the others too.
	Offset, Limit      int
}

// ListRuns returns a page of runs, and how many there are on all pages.
func ListRuns(tx eventstore.Tx, q RunsQuery) (list []Run, total int, err error) {
	where, args := q.where()
	from := strings.TrimPrefix(selectRuns, selectRuns[:strings.Index(selectRuns, " FROM ")])
	total, _, err = projections.ReadOne(tx, "count runs of jobs", "SELECT count(*)"+from+where, args, func(r eventstore.Row) int { return int(r.Int(0)) })
	if err != nil {
		return nil, 0, err
	}
	if q.Before > 0 {
		where, args = where+" AND r.seq < ?", append(args, q.Before)
	}
	order := " ORDER BY r.seq DESC"
	if q.Up {
		order = " ORDER BY r.seq"
	}
	list, err = projections.ReadAll(tx, "list runs of jobs", selectRuns+where+order+" LIMIT ? OFFSET ?", append(args, q.Limit, q.Offset), runOf)
	return list, total, err
}

func (q *RunsQuery) where() (text string, args []any) {
	all := []string{"1 = 1"}
	only := func(condition string, values ...any) { all, args = append(all, condition), append(args, values...) }
	if !q.Open {
		only("r.end_seq > 0")
	}
	if q.JobID != "" {
		only("r.job = ?", nameOf(q.JobID))
	}
	if q.RunID != "" {
		only("r.run_id = ?", q.RunID)
	}
	if q.Agent != "" {
		only("j.agent = ?", strings.ToLower(q.Agent))
	}
	for _, f := range [...]struct {
		column string
		values []string
	}{{"r.status", q.Statuses}, {"r.delivery", q.Delivery}} {
		if len(f.values) == 0 {
			continue
		}
		var values []any
		for _, v := range f.values {
			values = append(values, v)
		}
		only(f.column+" IN (?"+strings.Repeat(", ?", len(values)-1)+")", values...)
	}
	if q.Text != "" {
		only("instr(lower(coalesce(json_extract(e.data, '$.summary'), '') || ' ' || coalesce(json_extract(e.data, '$.error'), '')), lower(?)) > 0", q.Text)
	}
	return " WHERE " + strings.Join(all, " AND "), args
}

func runOf(r eventstore.Row) Run {
	x := Run{RunID: r.Text(0), JobID: r.Text(1), JobName: r.Text(2), DueAt: r.Int(3), At: r.Int(4), EndedAt: r.Int(5), Manual: r.Int(6) != 0,
		Status: r.Text(7), Delivery: r.Text(8), DeliveryText: r.Text(9), Seq: r.Int(10)}
	if !r.Null(11) {
		_ = json.Unmarshal([]byte(r.Text(11)), &x.End) // a member of another type is blank
	}
	return x
}

func read(tx eventstore.Tx, doing, query string, args ...any) (rows []Row, err error) {
	var failed error
	rows, err = projections.ReadAll(tx, doing, query, args, func(r eventstore.Row) Row {
		row, err := scan(r.Text(0), r.Int(1), r.Int(2), r.Text(3))
		failed = cmp.Or(failed, err)
		return row
	})
	return rows, cmp.Or(err, failed)
}
