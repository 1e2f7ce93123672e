package tasksync

import (
	"context"
	"database/sql"
	"math"
	"time"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/tasks"
)

// sync synchronizes the files of a subject and returns the number of writes. since is the event that caused it. force writes files that
// are in sync, too.
func (s *Syncer) sync(ctx context.Context, subj subject, since int64, force bool) (n int, err error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	switch {
	case subj.task != "":
		return s.syncTask(ctx, subj.task, since, force)
	case subj.month != "":
		return s.syncMonth(ctx, subj.agent, subj.month, force)
	}
	return s.syncFocus(ctx, subj.agent, force)
}

// syncTask keeps the file of an open task. When the task is over its history is written first, so that it is always in one of them. The
// agent's focus may change then.
func (s *Syncer) syncTask(ctx context.Context, id string, since int64, force bool) (n int, err error) {
	row, err := s.byID(ctx, id)
	switch {
	case err != nil:
		return 0, err
	case row == nil:
		return s.dropRedacted(ctx, id)
	}
	w := wantedFile{agent: row.AgentID, name: taskName(id), taskID: id, seq: row.Seq, force: force}
	switch {
	case row.EndedMs == 0 && row.Gone:
		return 0, nil
	case row.EndedMs == 0:
		w.content = []byte(taskfile.Format(&row.Task))
	default:
		if n, err = s.syncMonth(ctx, row.AgentID, monthOf(row.EndedMs), false); err != nil {
			return n, err
		}
	}
	wrote, err := s.put(ctx, &w)
	if err == nil {
		s.agenda.add(since, subject{agent: row.AgentID})
	}
	return n + wrote, err
}

func monthOf(ms int64) string { return time.UnixMilli(ms).UTC().Format("2006-01") }

func (s *Syncer) byID(ctx context.Context, id string) (row *tasks.Row, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		row, _, err = tasks.ByID(ctx, tx, id)
		return err
	})
	return row, err
}

// syncFocus keeps the file of an agent's focus. An existing one is left alone until a task of that agent gets an event of its own, or
// its text is redacted.
func (s *Syncer) syncFocus(ctx context.Context, agent string, force bool) (int, error) {
	var row *tasks.Row
	had := false
	err := s.o.Log.View(ctx, func(tx *sql.Tx) (err error) {
		if had, err = tasks.HadOwn(ctx, tx, agent); err != nil || !had {
			return err
		}
		id, _, err := tasks.Focus(projections.Reading(ctx, tx), agent)
		if err != nil || id == "" {
			return err
		}
		row, _, err = tasks.ByID(ctx, tx, id)
		return err
	})
	if err != nil {
		return 0, err
	}
	w := wantedFile{agent: agent, name: currentName, seq: math.MaxInt64, force: force}
	l, err := s.inspect(ctx, &w)
	if err != nil || l == nil || !had && !(l.there && l.last.redacted) {
		return 0, err
	}
	var shown *taskfile.Task
	if row != nil {
		shown = &row.Task
	}
	switch found := taskfile.ParseCurrent(string(l.have)).TaskID; {
	case shown == nil && found == "", shown != nil && found == shown.ID && row.Version == 0:
		w.seq = 0 // it says the same in other words
	case shown != nil && found == shown.ID:
		w.seq = row.Seq // likewise, until the task changes
	}
	w.content = []byte(taskfile.FormatCurrent(shown))
	return s.write(ctx, &w, l)
}
