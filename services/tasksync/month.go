package tasksync

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/workspace"
)

// syncMonth keeps the history of a month: the existing text, followed by the tasks that have ended since. Only an edited or missing file
// is written completely.
func (s *Syncer) syncMonth(ctx context.Context, agent, month string, force bool) (int, error) {
	w := wantedFile{agent: agent, name: monthName(month), force: force}
	l, err := s.inspect(ctx, &w)
	if err != nil || l == nil {
		return 0, err
	}
	rewrite := !l.there || l.edited || l.last.redacted
	if !rewrite {
		w.through = l.last.through
		if l.last.found {
			w.through = l.last.seq
		}
	}
	entries, end, err := s.entries(ctx, agent, month, w.through)
	if err != nil {
		return 0, err
	}
	asWritten := l.sum == l.last.sum
	if len(entries) == 0 && (rewrite || asWritten && !force) {
		return 0, nil
	}
	w.through = max(w.through, end)
	w.seq = w.through
	switch {
	case rewrite:
		w.content = append([]byte(taskfile.MonthHeader(month)), formatted(entries)...)
	case asWritten:
		w.content = slices.Concat(l.have, formatted(entries))
	default:
		if w.content, err = s.resumed(ctx, agent, month, l, entries); err != nil {
			return 0, err
		}
	}
	if len(w.content) > workspace.MaxFileBytes {
		s.full(l.path)
		return 0, nil
	}
	return s.write(ctx, &w, l)
}

// resumed is a month whose announced write did not happen: it still has its previous text. later are the entries after those.
func (s *Syncer) resumed(ctx context.Context, agent, month string, l *fileState, later []taskfile.Entry) ([]byte, error) {
	all, _, err := s.entries(ctx, agent, month, 0)
	if err != nil {
		return nil, err
	}
	said := all[:max(len(all)-len(later), 0)]
	for i := len(said); i >= 0; i-- {
		if sumOf(slices.Concat(l.have, formatted(said[i:]))) == l.last.sum {
			return slices.Concat(l.have, formatted(all[i:])), nil
		}
	}
	had := taskfile.ParseMonth(string(l.have)) // another version may have rendered entries differently
	missing := slices.DeleteFunc(all, func(e taskfile.Entry) bool {
		_, ok := had.Find(e.TaskID)
		return ok
	})
	return slices.Concat(l.have, formatted(missing)), nil
}

func (s *Syncer) entries(ctx context.Context, agent, month string, after int64) (entries []taskfile.Entry, end int64, err error) {
	err = s.o.Log.View(ctx, func(tx *sql.Tx) error {
		entries, end, err = tasks.Entries(ctx, tx, agent, month, after)
		return err
	})
	return entries, end, err
}

func formatted(entries []taskfile.Entry) (text []byte) {
	for i := range entries {
		text = append(text, taskfile.FormatEntry(&entries[i])...)
	}
	return text
}

// full records that a month is full. The log has what is missing in it.
func (s *Syncer) full(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.filled[path] == "" {
		s.filled[path] = fmt.Sprintf("%s is full: it would exceed %d bytes", path, workspace.MaxFileBytes)
		s.o.Logger.Error("a month of task history is full; the log has the rest", "file", path)
	}
}
