package files

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections/task"
)

// keep makes the files of a subject what they should be, and says how many were written. since is the event because of which it is looked at.
// force writes them although they are.
func (k *Keeper) keep(ctx context.Context, s subject, since int64, force bool) (n int, err error) {
	k.writing.Lock()
	defer k.writing.Unlock()
	switch {
	case s.task != "":
		return k.keepTask(ctx, s.task, since, force)
	case s.month != "":
		return k.keepMonth(ctx, s.agent, s.month, force)
	}
	return k.keepFocus(ctx, s.agent, force)
}

// keepTask keeps the file of a task while it is open. When it is over its history is written first: at no moment it is in neither. Its agent
// may have another task in focus then.
func (k *Keeper) keepTask(ctx context.Context, id string, since int64, force bool) (n int, err error) {
	row, err := k.byID(ctx, id)
	if err != nil || row == nil {
		return 0, err
	}
	w := wanted{agent: row.AgentID, name: taskName(id), taskID: id, seq: row.Seq, force: force}
	switch {
	case row.EndedMs == 0 && row.Gone:
		return 0, nil
	case row.EndedMs == 0:
		w.content = []byte(taskfile.Format(&row.Task))
	default:
		if n, err = k.keepMonth(ctx, row.AgentID, monthOf(row.EndedMs), false); err != nil {
			return n, err
		}
	}
	wrote, err := k.put(ctx, &w)
	if err == nil {
		k.agenda.add(since, subject{agent: row.AgentID})
	}
	return n + wrote, err
}

func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01") }

func (k *Keeper) byID(ctx context.Context, id string) (row *task.Row, err error) {
	err = k.o.Log.View(ctx, func(tx *sql.Tx) error {
		found, ok, err := task.ByID(ctx, tx, id)
		if ok {
			row = found
		}
		return err
	})
	return row, err
}

// keepFocus keeps the file that says what an agent has in focus. An agent that has never had a task may keep there what it likes.
func (k *Keeper) keepFocus(ctx context.Context, agent string, force bool) (int, error) {
	var board *task.Board
	err := k.o.Log.View(ctx, func(tx *sql.Tx) error {
		boards, err := task.Boards(ctx, tx)
		for i := range boards {
			if boards[i].AgentID == agent {
				board = &boards[i]
			}
		}
		return err
	})
	if err != nil || board == nil {
		return 0, err
	}
	w := wanted{agent: agent, name: currentName, seq: math.MaxInt64, force: force}
	l, err := k.look(ctx, &w)
	if err != nil || l == nil {
		return 0, err
	}
	var (
		row   *task.Row
		shown *taskfile.Task
	)
	if board.Focus != nil {
		if row, err = k.byID(ctx, board.Focus.ID); err != nil {
			return 0, err
		}
	}
	if row != nil {
		shown = &row.Task
	}
	if found := taskfile.ParseCurrent(string(l.have)).TaskID; shown == nil && found == "" || shown != nil && found == shown.ID && row.Version == 0 {
		w.seq = 0 // it says the same, in whatever words
	}
	w.content = []byte(taskfile.FormatCurrent(shown))
	return k.write(ctx, &w, l)
}
