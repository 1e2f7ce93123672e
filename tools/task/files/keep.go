package files

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections"
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
	switch {
	case err != nil:
		return 0, err
	case row == nil:
		return k.dropRedacted(ctx, id)
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
	err = k.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		row, _, err = task.ByID(ctx, tx, id)
		return err
	})
	return row, err
}

// keepFocus keeps the file that says what an agent has in focus. It is left alone until a task of that agent has an event of its own, or
// what it said is redacted.
func (k *Keeper) keepFocus(ctx context.Context, agent string, force bool) (int, error) {
	var row *task.Row
	had := false
	err := k.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if had, err = task.HadOwn(ctx, tx, agent); err != nil || !had {
			return err
		}
		id, _, err := task.Focus(projections.Reading(ctx, tx), agent)
		if err != nil || id == "" {
			return err
		}
		row, _, err = task.ByID(ctx, tx, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	w := wanted{agent: agent, name: currentName, seq: math.MaxInt64, force: force}
	l, err := k.look(ctx, &w)
	if err != nil || l == nil || !had && !(l.there && l.last.redacted) {
		return 0, err
	}
	var shown *taskfile.Task
	if row != nil {
		shown = &row.Task
	}
	switch found := taskfile.ParseCurrent(string(l.have)).TaskID; {
	case shown == nil && found == "", shown != nil && found == shown.ID && row.Version == 0:
		w.seq = 0 // it says the same, in whatever words
	case shown != nil && found == shown.ID:
		w.seq = row.Seq // likewise, until something happens to the task
	}
	w.content = []byte(taskfile.FormatCurrent(shown))
	return k.write(ctx, &w, l)
}
