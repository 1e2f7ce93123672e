package task

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"strings"
	"time"

	decide "github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// One entry of the index for each month.
const selectMonth = "SELECT max(t.month) FROM tasks t WHERE t.month <> '' AND t.agent = ? AND t.month < ?"

var (
	selectEntries = selectTask + fromTasks + " WHERE t.month <> '' AND t.agent = ? AND t.month = ? AND t.over >= ? ORDER BY t.over"

	selectFile  = "SELECT " + strings.Join(fileColumns, ", ") + " FROM task_files WHERE path = ?"
	selectFiles = "SELECT " + strings.Join(fileColumns, ", ") + " FROM task_files WHERE path > ? ORDER BY path LIMIT ?"
)

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
	var found []held
	err = each(ctx, tx, selectEntries, []any{strings.ToLower(agent), month, place(after+1, 0)}, func(r columns) { found = append(found, scanTask(r)) })
	if err != nil {
		return nil, 0, err
	}
	for i := range found {
		lines, err := linesOf(ctx, tx, found[i].work.end)
		if err != nil {
			return nil, 0, err
		}
		entries, end = append(entries, found[i].entry(lines)), seqOf(found[i].state.over)
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

// FileOf says what is known of a file.
func FileOf(ctx context.Context, tx *sql.Tx, path string) (f File, found bool, err error) {
	err = each(ctx, tx, selectFile, []any{path}, func(r columns) { f, found = scanFile(r).File, true })
	return f, found, err
}

// Files lists files by path, after one, at most limit.
func Files(ctx context.Context, tx *sql.Tx, after string, limit int) (files []File, err error) {
	err = each(ctx, tx, selectFiles, []any{after, limit}, func(r columns) { files = append(files, scanFile(r).File) })
	return files, err
}
