package tasks

import (
	"cmp"
	"context"
	"database/sql"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// One index entry for each month.
const selectMonth = "SELECT max(t.month) FROM tasks t WHERE t.month <> '' AND t.agent = ? AND t.month < ?"

var (
	selectEntries     = selectTask + fromTasks + " WHERE t.month <> '' AND t.agent = ? AND t.month = ? AND t.over >= ? ORDER BY t.over"
	selectLastEntries = selectTask + fromTasks + " WHERE t.month <> '' AND t.agent = ? AND t.month = ? ORDER BY t.over DESC LIMIT ?"
)

// Owned is a task and its agent.
type Owned struct{ ID, AgentID string }

const selectOwned = "SELECT t.agent, CASE t.task_id WHEN '' THEN t.name ELSE t.task_id END FROM tasks t WHERE t.over = 0 ORDER BY t.agent, t.id"

// OpenTasks returns all open tasks, with their agents only: a start asks for thousands.
func OpenTasks(ctx context.Context, tx *sql.Tx) (all []Owned, err error) {
	err = each(ctx, tx, selectOwned, nil, func(r columns) { all = append(all, Owned{AgentID: r.Text(0), ID: r.Text(1)}) })
	return all, err
}

// selectKnownFiles returns one text for all files, since a start asks for thousands, and a row takes longer to pass on than to find. Each
// line has a name, which has no control characters, and for a file that another gateway managed its hash and whether the log has its text.
// Files of ours need no event. An unescaped quote cannot occur inside a JSON string.
const selectKnownFiles = `SELECT coalesce(group_concat(substr(f.path, ?) || CASE f.ours WHEN 1 THEN '' ELSE (
  SELECT CASE e.type WHEN ? THEN char(9) || f.sha256 || char(9) || coalesce(instr(e.data, '"text":') > 0, 0) ELSE '' END
  FROM events e WHERE e.seq = f.seq) END, char(10)), '')
 FROM task_files f WHERE f.path > ? AND f.path < ?`

// KnownFile is what the newest event about a task file says.
type KnownFile struct {
	SHA256   string // of a followed file
	Followed bool   // another gateway managed the file when it was seen so
	Told     bool   // likewise, and the log has the text that it had then
}

// KnownFiles returns, by name in it, the files in the directory of a workspace that have an event, such as workspace-eden/. The text of an
// event without data, since it was redacted, is not known.
func KnownFiles(ctx context.Context, tx *sql.Tx, dir string) (map[string]KnownFile, error) {
	const afterSlash = "0"
	var lines string
	args := []any{utf8.RuneCountInString(dir) + 1, coordination.TypeFileChanged, dir, strings.TrimSuffix(dir, "/") + afterSlash}
	if err := each(ctx, tx, selectKnownFiles, args, func(r columns) { lines = r.Text(0) }); err != nil || lines == "" {
		return nil, err
	}
	known := make(map[string]KnownFile, strings.Count(lines, "\n")+1)
	for line := range strings.SplitSeq(lines, "\n") {
		name, rest, followed := strings.Cut(line, "\t")
		sum, told, _ := strings.Cut(rest, "\t")
		known[name] = KnownFile{SHA256: sum, Followed: followed, Told: told == "1"}
	}
	return known, nil
}

// Months returns the months in which tasks of an agent have ended, such as 2026-02, newest first.
func Months(ctx context.Context, tx *sql.Tx, agent string) (months []string, err error) {
	for before := "~"; before != ""; { // sorts after all digits
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

// Entries returns the tasks of an agent that ended in a month, in that order, as in history. Only those that ended
// after the seq after; end is the seq of the last one, 0 if none. A task that has ended according to its own file has
// no entry.
func Entries(ctx context.Context, tx *sql.Tx, agent, month string, after int64) (entries []taskfile.Entry, end int64, err error) {
	if after >= math.MaxInt64/places {
		return nil, 0, nil
	}
	return readEntries(ctx, tx, selectEntries, strings.ToLower(agent), month, place(after+1, 0))
}

// LastEntries returns the last n results of Entries. Its cost does not grow with the others.
func LastEntries(ctx context.Context, tx *sql.Tx, agent, month string, n int) (entries []taskfile.Entry, end int64, err error) {
	return readEntries(ctx, tx, selectLastEntries, strings.ToLower(agent), month, n)
}

func readEntries(ctx context.Context, tx *sql.Tx, query string, args ...any) (entries []taskfile.Entry, end int64, err error) {
	var found []loadedTask
	if err := each(ctx, tx, query, args, func(r columns) { found = append(found, scanTask(r)) }); err != nil {
		return nil, 0, err
	}
	slices.SortFunc(found, func(a, b loadedTask) int { return cmp.Compare(a.state.over, b.state.over) })
	lines, err := linesOf(ctx, tx, found)
	if err != nil {
		return nil, 0, err
	}
	for i := range found {
		entries, end = append(entries, found[i].entry(lines[found[i].state.id])), seqOf(found[i].state.over)
	}
	return entries, end, nil
}

// entry is a finished task as in history.
func (h *loadedTask) entry(lines []string) taskfile.Entry {
	t := h.task()
	e := taskfile.Entry{Description: t.Description, Context: t.Background, TaskID: t.ID, Priority: t.Priority, Started: coordination.FormatTime(t.CreatedAt),
		Completed: coordination.FormatTime(t.EndedAt), Duration: taskfile.Duration(t.EndedAt - t.CreatedAt), Progress: lines, Summary: summary(t.Outcome)}
	if strings.HasPrefix(t.ID, namelessPrefix) {
		e.TaskID = ""
	}
	return e
}

// summary is the summary in history: taskfile.Entry.Cancelled parses it.
func summary(o task.Outcome) string {
	if o.Kind != "cancelled" {
		return cmp.Or(o.Summary, o.Reason, o.Error)
	}
	if o.Reason == "" {
		return "Cancelled"
	}
	return "Cancelled: " + o.Reason
}

// eventWord is an event type as in task files.
func eventWord(typ string) string { return strings.ReplaceAll(typ, ".", "_") }
