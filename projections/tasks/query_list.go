package tasks

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/task"
)

// List returns tasks: open ones first, in the order of lists, then finished ones, newest first. next is "" for the
// last page. Its cost does not grow with the number of finished tasks, unless those are selected. A cursor is a place
// in that order, so it does not depend on later changes of the tasks before it. Errors are ErrCursor or the log's.
func List(ctx context.Context, tx *sql.Tx, f Filter) (rows []Row, next string, err error) {
	at, err := parsePosition(f.After)
	if err != nil {
		return nil, "", err
	}
	var found []loadedTask
	for _, over := range [...]bool{false, true} {
		if at.over && !over || !f.wants(over) {
			continue
		}
		page := 0 // all
		if f.Limit > 0 {
			page = f.Limit - len(found) + 1
		}
		more, err := f.read(ctx, tx, over, at, page)
		if err != nil {
			return nil, "", err
		}
		if found = append(found, more...); f.Limit > 0 && len(found) > f.Limit {
			found = found[:f.Limit]
			next = positionOf(&found[f.Limit-1]).String()
			break
		}
	}
	if rows, err = rowsOf(ctx, tx, found, f.Whole); err != nil {
		return nil, "", err
	}
	return rows, next, nil
}

const isBlocked = " WHERE t.over = 0 AND t.status = 'blocked' AND t.gone = 0"

var (
	countBlocked  = "SELECT count(*) FROM tasks t" + isBlocked
	selectBlocked = selectTask + fromTasks + " WHERE t.id IN (SELECT t.id" + fromTasks + isBlocked +
		" ORDER BY w.active_at DESC, t.id DESC LIMIT ?) ORDER BY w.active_at DESC, t.id DESC"
)

// Blocked counts the blocked tasks, and lists up to most of them, those with the newest activity first. Tasks whose files are gone do
// not count.
func Blocked(ctx context.Context, tx *sql.Tx, most int) (rows []Row, n int, err error) {
	if err := each(ctx, tx, countBlocked, nil, func(r columns) { n = int(r.Int(0)) }); err != nil || n == 0 || most == 0 {
		return nil, n, err
	}
	var found []loadedTask
	if err := each(ctx, tx, selectBlocked, []any{most}, func(r columns) { found = append(found, scanTask(r)) }); err != nil {
		return nil, n, err
	}
	rows, err = rowsOf(ctx, tx, found, false)
	return rows, n, err
}

// wants reports whether the query selects tasks that are over, or that are not.
func (f *Filter) wants(over bool) bool {
	if f.Open != nil && *f.Open == over {
		return false
	}
	return len(f.Statuses) == 0 || slices.ContainsFunc(f.Statuses, func(s string) bool { return task.Terminal(s) == over })
}

// read reads one part of the list, up to limit; 0 is all.
func (f *Filter) read(ctx context.Context, tx *sql.Tx, over bool, at position, limit int) (found []loadedTask, err error) {
	query, args := f.sql(over, at, limit)
	text := strings.ToLower(f.Text)
	err = some(ctx, tx, query, args, func(r columns) bool {
		h := scanTask(r)
		if text == "" || strings.Contains(strings.ToLower(h.state.task.Description), text) {
			found = append(found, h)
		}
		return limit == 0 || len(found) < limit
	})
	return found, err
}

// sql builds the query for one part of the list.
func (f *Filter) sql(over bool, at position, limit int) (query string, args []any) {
	var where []string
	only := func(condition string, values ...any) { where, args = append(where, condition), append(args, values...) }
	among := func(column string, values []string) {
		items := make([]any, len(values))
		for i, v := range values {
			items[i] = v
		}
		only(column+" IN (?"+strings.Repeat(", ?", len(items)-1)+")", items...)
	}
	byWorkSession := f.WorkSession != ""
	order := inOrder
	if over {
		order = "t.over_at DESC, t.id DESC"
		only("t.over <> 0")
	} else {
		only("t.over = 0")
	}
	switch {
	case byWorkSession && over:
		only("t.work_session_id = ? AND t.work_session_id <> ''", f.WorkSession)
	case byWorkSession:
		only("+t.work_session_id = ?", f.WorkSession)
	}
	switch agents := lower(f.Agents); {
	case len(agents) == 0:
	case len(agents) == 1 && (!over || !byWorkSession):
		only("t.agent = ?", agents[0])
	case over:
		among("+t.agent", agents) // the newest of several lists are among the newest of each
	default:
		among("t.agent", agents)
	}
	if len(f.Statuses) > 0 {
		among("t.status", f.Statuses)
	}
	if f.Priority != "" {
		only("t.priority = ?", f.Priority)
	}
	switch {
	case at.none:
	case over && at.over:
		only("(t.over_at, t.id) < (?, ?)", at.key[0], at.key[1])
	case !over:
		only("(t.rank, t.due_at, t.start_at, t.created_at, t.id) > (?, ?, ?, ?, ?)", at.key[0], at.key[1], at.key[2], at.key[3], at.key[4])
	}
	query = selectTask + fromTasks + " WHERE " + strings.Join(where, " AND ") + " ORDER BY " + order
	if limit > 0 && f.Text == "" {
		query, args = query+" LIMIT ?", append(args, limit)
	}
	return query, args
}

func lower(names []string) (all []string) {
	for _, n := range names {
		all = append(all, strings.ToLower(n))
	}
	return all
}

// position is a place in the list: after the task that is, or was, there.
type position struct {
	none bool
	over bool
	key  [5]int64 // over_at and id of a finished task, otherwise the columns of inOrder
}

func positionOf(h *loadedTask) position {
	s := &h.state
	if s.over != 0 {
		return position{over: true, key: [5]int64{s.overAt, s.id}}
	}
	return position{key: [5]int64{int64(s.rank), s.dueAt, s.startAt, s.task.CreatedAt, s.id}}
}

func (p position) String() string {
	if p.over {
		return fmt.Sprintf("o%d.%d", p.key[0], p.key[1])
	}
	return fmt.Sprintf("t%d.%d.%d.%d.%d", p.key[0], p.key[1], p.key[2], p.key[3], p.key[4])
}

func parsePosition(text string) (p position, err error) {
	if text == "" {
		return position{none: true}, nil
	}
	if p.over = text[0] == 'o'; p.over {
		_, err = fmt.Sscanf(text, "o%d.%d", &p.key[0], &p.key[1])
	} else {
		_, err = fmt.Sscanf(text, "t%d.%d.%d.%d.%d", &p.key[0], &p.key[1], &p.key[2], &p.key[3], &p.key[4])
	}
	if err != nil || p.String() != text {
		return position{}, ErrCursor
	}
	return p, nil
}
