package task

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"time"

	decide "github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// One entry of the index for each month.
const selectMonth = "SELECT max(t.month) FROM tasks t WHERE t.month <> '' AND t.agent = ? AND t.month < ?"

var (
	selectEntries     = selectTask + fromTasks + " WHERE t.month <> '' AND t.agent = ? AND t.month = ? AND t.over >= ? ORDER BY t.over"
	selectLastEntries = selectTask + fromTasks + " WHERE t.month <> '' AND t.agent = ? AND t.month = ? ORDER BY t.over DESC LIMIT ?"
)

// Owned is a task and the agent whose it is.
type Owned struct{ ID, AgentID string }

const selectOwned = "SELECT t.agent, CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END FROM tasks t WHERE t.over = 0 ORDER BY t.agent, t.id"

// OpenTasks are all tasks that are open, and no more than whose they are: what a start asks for thousands of.
func OpenTasks(ctx context.Context, tx *sql.Tx) (all []Owned, err error) {
	err = each(ctx, tx, selectOwned, nil, func(r columns) { all = append(all, Owned{AgentID: r.Text(0), ID: r.Text(1)}) })
	return all, err
}

// Months are the months in which tasks of an agent have ended, such as 2026-02, newest first.
func Months(ctx context.Context, tx *sql.Tx, agent string) (months []string, err error) {
	for before := "~"; before != ""; { // it is above all digits
		var found string
		if err := each(ctx, tx, selectMonth, []any{strings.ToLower(agent), before}, func(r columns) { found = r.Text(0) }); err != nil {
			return nil, err
		}
		if before = found; found != "" {
			months = append(months, found)
		}
	}
	return months, nil
}

// Entries are the tasks of an agent that have ended in a month, in that order, as history has them. After is a seq: only those that ended
// after it; end is the seq of the last one, 0 for none. A task that a file of its own says is over has no entry.
func Entries(ctx context.Context, tx *sql.Tx, agent, month string, after int64) (entries []taskfile.Entry, end int64, err error) {
	if after >= math.MaxInt64/places {
		return nil, 0, nil
	}
	return readEntries(ctx, tx, selectEntries, strings.ToLower(agent), month, place(after+1, 0))
}

// LastEntries are the last n of all that Entries gives. What they cost does not grow with the others.
func LastEntries(ctx context.Context, tx *sql.Tx, agent, month string, n int) (entries []taskfile.Entry, end int64, err error) {
	return readEntries(ctx, tx, selectLastEntries, strings.ToLower(agent), month, n)
}

func readEntries(ctx context.Context, tx *sql.Tx, query string, args ...any) (entries []taskfile.Entry, end int64, err error) {
	var found []held
	if err := each(ctx, tx, query, args, func(r columns) { found = append(found, scanTask(r)) }); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(found, func(a, b held) int { return cmp.Compare(a.state.over, b.state.over) })
	lines, err := linesOf(ctx, tx, found)
	if err != nil {
		return nil, 0, err
	}
	for i := range found {
		entries, end = append(entries, found[i].entry(lines[found[i].state.id])), seqOf(found[i].state.over)
	}
	return entries, end, nil
}

// entry is a task that has ended as history has it.
func (h *held) entry(lines []string) taskfile.Entry {
	t := h.task()
	e := taskfile.Entry{Description: t.Description, Context: t.Background, TaskID: t.ID, Priority: t.Priority, Started: isoOf(t.CreatedAt),
		Completed: isoOf(t.EndedAt), Duration: taskfile.Duration(t.EndedAt - t.CreatedAt), Progress: lines, Summary: summary(t.Outcome)}
	if strings.HasPrefix(t.ID, namelessPrefix) {
		e.TaskID = ""
	}
	return e
}

// summary is what history says of an end: taskfile.Entry.Cancelled reads it.
func summary(o decide.Outcome) string {
	if o.Kind != "cancelled" {
		return cmp.Or(o.Summary, o.Reason, o.Error)
	}
	if o.Reason == "" {
		return "Cancelled"
	}
	return "Cancelled: " + o.Reason
}

// isoOf is a moment as files have it; "" for none.
func isoOf(ms int64) string {
	if ms == 0 {
		return ""
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02T15:04:05.000Z")
}

// eventWord is the type of an event as task files have it.
func eventWord(typ string) string { return strings.ReplaceAll(typ, ".", "_") }
