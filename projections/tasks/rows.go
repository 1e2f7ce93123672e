package tasks

import (
	"cmp"
	"encoding/json"
	"hash/fnv"
	"io"
	"reflect"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// columns returns the scan targets for one row.
type columns interface {
	Int(i int) int64
	Text(i int) string
}

// state is a row of tasks.
type state struct {
	id     int64
	name   string
	taskID string    // "" if equal to name
	task   task.Task // without the columns of work

	rank           int
	dueAt, startAt int64
	over, overAt   int64
	month          string
	gone, own      bool
	carried        string
}

var stateColumns = []string{"id", "name", "task_id", "agent", "status", "priority", "rank", "due_at", "start_at", "created_at", "ended_at", "over",
	"over_at", "month", "gone", "own", "work_session_id", "previous_id", "session_key", "source", "created_by", "simple", "description", "background",
	"blocked_reason", "blocked_by", "blocked_action", "requests", "last_index", "last_asked_at", "escalation", "failures", "assignee", "depends_on",
	"effort", "start_date", "due_date", "milestone_id", "milestone_item_id", "reassigned", "outcome", "carried"}

func newStates(table string) *projections.Table[string, state] {
	return projections.NewTable(projections.Columns[string, state]{
		Table: table, Key: 1, Fixed: 3, Keep: 1_000, Names: stateColumns,
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, s *state) error {
			*s = scanState(r)
			return nil
		},
		Args: func(args []any, s *state) []any {
			t := &s.task
			return append(args, s.id, s.name, s.taskID, t.Agent, t.Status, t.Priority, s.rank, s.dueAt, s.startAt, t.CreatedAt, t.EndedAt, s.over,
				s.overAt, s.month, s.gone, s.own, t.WorkSessionID, t.PreviousWorkSessionID, t.SessionKey, t.Source, t.CreatedBy, t.Simple, t.Description,
				t.Background, t.Blocked.Reason, projections.JSONList(t.Blocked.By), t.Blocked.Action, t.Blocked.Requests, t.Blocked.LastIndex, t.Blocked.LastAskedAt,
				t.Blocked.Escalation, t.Blocked.Failures, t.Backlog.Assignee, projections.JSONList(t.Backlog.DependsOn), t.Backlog.Effort, t.Backlog.StartDate,
				t.Backlog.DueDate, t.Backlog.MilestoneID, t.Backlog.MilestoneItemID, t.Backlog.Reassigned, outcome(t.Outcome), s.carried)
		},
	})
}

// scanState reads stateColumns.
func scanState(r columns) state {
	s := state{id: r.Int(0), name: r.Text(1), taskID: r.Text(2), rank: int(r.Int(6)), dueAt: r.Int(7), startAt: r.Int(8), over: r.Int(11), overAt: r.Int(12),
		month: r.Text(13), gone: r.Int(14) != 0, own: r.Int(15) != 0, carried: r.Text(41)}
	s.task = task.Task{
		ID: cmp.Or(s.taskID, s.name), Agent: r.Text(3), Seq: seqOf(s.id), Status: r.Text(4), Priority: r.Text(5), CreatedAt: r.Int(9), EndedAt: r.Int(10),
		WorkSessionID: r.Text(16), PreviousWorkSessionID: r.Text(17), SessionKey: r.Text(18), Source: r.Text(19), CreatedBy: r.Text(20),
		Simple: r.Int(21) != 0, Description: r.Text(22), Background: r.Text(23),
		Blocked: task.Blocked{Reason: r.Text(24), By: projections.ListOf[string](r.Text(25)), Action: r.Text(26), Requests: int(r.Int(27)), LastIndex: int(r.Int(28)),
			LastAskedAt: r.Int(29), Escalation: r.Text(30), Failures: int(r.Int(31))},
		Backlog: task.Backlog{Assignee: r.Text(32), DependsOn: projections.ListOf[string](r.Text(33)), Effort: r.Text(34), StartDate: r.Text(35), DueDate: r.Text(36),
			MilestoneID: r.Text(37), MilestoneItemID: r.Text(38), Reassigned: int(r.Int(39))},
	}
	if text := r.Text(40); text != "" {
		_ = json.Unmarshal([]byte(text), &s.task.Outcome) // written by outcome
	}
	return s
}

// set stores the state of a task. at is the place of the event, ts its time.
func (s *state) set(t *task.Task, at, ts int64) {
	s.task = *t
	var none work
	none.onto(&s.task)
	s.task.Seq = seqOf(s.id)
	s.rank = rankOf(t.Priority)
	s.dueAt, s.startAt = momentOf(t.Backlog.DueDate), momentOf(t.Backlog.StartDate)
	switch over := s.gone || t.Terminal(); {
	case !over:
		s.over, s.overAt, s.month = 0, 0, ""
	case s.over == 0:
		s.over, s.overAt = at, ts
		if t.EndedAt != 0 && t.Terminal() {
			s.overAt = t.EndedAt
		}
	}
}

// same reports whether two rows are equal.
func (s *state) same(o *state) bool { return reflect.DeepEqual(s, o) }

// never stands for a missing time: it sorts last, and JSON numbers are exact up to there.
const never = 1 << 53

// momentOf converts a date for comparison.
func momentOf(date string) int64 {
	ms, ok := coordination.ParseTime(date)
	if !ok {
		return never
	}
	return int64(projections.ClampTime(ms))
}

// rankOf returns the rank of a priority in lists.
func rankOf(priority string) int {
	switch priority {
	case "urgent":
		return 0
	case "high":
		return 1
	case "low":
		return 3
	}
	return 2
}

// work is a row of task_work.
type work struct {
	id, version, last, activeAt, focus int64
	steps                              []coordination.TaskStep
	count                              int
	line                               string
	first, end                         int64 // task_progress.id
	sum                                int64
}

var workColumns = []string{"id", "version", "last_seq", "active_at", "focus", "steps", "progress_count", "progress", "first_line", "last_line", "line_sum"}

func newWorks(table string) *projections.Table[int64, work] {
	return projections.NewTable(projections.Columns[int64, work]{
		Table: table, Key: 1, Fixed: 1, Keep: 4_000, Names: workColumns,
		Lookup: "id = ?", LookUp: func(id int64) []any { return []any{id} },
		Scan: func(r eventstore.Row, w *work) error {
			*w = scanWork(r, 0)
			return nil
		},
		Args: func(args []any, w *work) []any {
			return append(args, w.id, w.version, w.last, w.activeAt, w.focus, projections.JSONList(w.steps), w.count, w.line, w.first, w.end, w.sum)
		},
	})
}

// scanWork reads workColumns, from column i on.
func scanWork(r columns, i int) work {
	return work{id: r.Int(i), version: r.Int(i + 1), last: r.Int(i + 2), activeAt: r.Int(i + 3), focus: r.Int(i + 4),
		steps: stepsOf(r.Text(i + 5)), count: int(r.Int(i + 6)), line: r.Text(i + 7), first: r.Int(i + 8), end: r.Int(i + 9), sum: r.Int(i + 10)}
}

// onto copies the work onto its task.
func (w *work) onto(t *task.Task) {
	t.Version, t.Last, t.ActiveAt, t.Focus = w.version, w.last, w.activeAt, w.focus
	t.Steps, t.ProgressCount, t.Progress = w.steps, w.count, w.line
}

// set stores the state of a task after the event of that seq.
func (w *work) set(t *task.Task, seq int64) {
	w.version, w.last, w.activeAt, w.focus, w.steps = t.Version, seq, t.ActiveAt, t.Focus, t.Steps
}

// forget drops the progress lines before they are replaced.
func (w *work) forget() { w.count, w.line, w.first, w.end, w.sum = 0, "", 0, 0, 0 }

// addLine extends the hash of all progress lines by one line.
func addLine(sum int64, text string) int64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte{byte(sum), byte(sum >> 8), byte(sum >> 16), byte(sum >> 24), byte(sum >> 32), byte(sum >> 40), byte(sum >> 48), byte(sum >> 56)})
	_, _ = io.WriteString(h, text)
	return int64(h.Sum64())
}

// delegation is a row of task_delegations.
type delegation struct {
	task   int64
	d      task.Delegation
	events []incident
}

// incident is an event of a delegation.
type incident struct {
	Type string `json:"type"`
	Seq  int64  `json:"seq"`
	At   int64  `json:"at"` // ms since 1970
	Note string `json:"note,omitempty"`
}

var delegationColumns = []string{"id", "name", "task", "agent", "from_agent", "job_id", "run_id", "child_key", "label", "work", "status", "retries", "most",
	"snapshot", "error", "note", "decided_by", "created_at", "ended_at", "last_seq", "events"}

func newDelegations(table string) *projections.Table[string, delegation] {
	return projections.NewTable(projections.Columns[string, delegation]{
		Table: table, Key: 1, Fixed: 3, Keep: 500, Names: delegationColumns,
		Lookup: "name = ?", LookUp: func(name string) []any { return []any{name} },
		Scan: func(r eventstore.Row, x *delegation) error {
			*x = scanDelegation(r)
			return nil
		},
		Args: func(args []any, x *delegation) []any {
			d := &x.d
			return append(args, d.Seq, d.ID, x.task, d.Agent, d.From, d.JobID, d.RunID, d.ChildKey, d.Label, d.Work, d.Status, d.Retries, d.Most,
				d.Snapshot, d.Error, d.Note, d.DecidedBy, d.CreatedAt, d.EndedAt, d.Last, projections.JSONList(x.events))
		},
	})
}

// scanDelegation reads delegationColumns, without the id of its task.
func scanDelegation(r columns) delegation {
	return delegation{task: r.Int(2), events: projections.ListOf[incident](r.Text(20)), d: task.Delegation{
		Seq: r.Int(0), ID: r.Text(1), Agent: r.Text(3), From: r.Text(4), JobID: r.Text(5), RunID: r.Text(6), ChildKey: r.Text(7), Label: r.Text(8),
		Work: r.Text(9), Status: r.Text(10), Retries: int(r.Int(11)), Most: int(r.Int(12)), Snapshot: r.Text(13), Error: r.Text(14), Note: r.Text(15),
		DecidedBy: r.Text(16), CreatedAt: r.Int(17), EndedAt: r.Int(18), Last: r.Int(19),
	}}
}

// file is a row of task_files: what we have written to a file, or seen in it.
type file struct {
	path             string
	sha256, previous string
	through, seq     int64
	ours             bool
	points           string
}

var fileColumns = []string{"path", "sha256", "previous", "through", "seq", "ours", "points"}

func newFiles(table string) *projections.Table[string, file] {
	return projections.NewTable(projections.Columns[string, file]{
		Table: table, Key: 1, Fixed: 1, Keep: 4_000, Names: fileColumns,
		Lookup: "path = ?", LookUp: func(path string) []any { return []any{path} },
		Scan: func(r eventstore.Row, f *file) error {
			*f = file{path: r.Text(0), sha256: r.Text(1), previous: r.Text(2), through: r.Int(3), seq: r.Int(4), ours: r.Int(5) != 0, points: r.Text(6)}
			return nil
		},
		Args: func(args []any, f *file) []any {
			return append(args, f.path, f.sha256, f.previous, f.through, f.seq, f.ours, f.points)
		},
	})
}

// outcome encodes the end of a task as JSON, "" if it is open.
func outcome(o task.Outcome) string {
	if o == (task.Outcome{}) {
		return ""
	}
	text, _ := json.Marshal(o) // texts always marshal
	return string(text)
}
