package files

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/projections/task"
	"github.com/pronto-lab/openclawd/workspace"
)

// keepMonth keeps the history of a month: what is there, and after that the tasks that have ended since. Only what was edited by hand, or is
// gone, is made anew from all of them.
func (k *Keeper) keepMonth(ctx context.Context, agent, month string, force bool) (int, error) {
	w := wanted{agent: agent, name: monthName(month), force: force}
	l, err := k.look(ctx, &w)
	if err != nil || l == nil {
		return 0, err
	}
	anew := !l.there || l.edited || l.last.redacted
	if !anew {
		w.through = l.last.through
		if l.last.found {
			w.through = l.last.seq
		}
	}
	entries, end, err := k.entries(ctx, agent, month, w.through)
	if err != nil {
		return 0, err
	}
	asWritten := l.sum == l.last.sum
	if len(entries) == 0 && (anew || asWritten && !force) {
		return 0, nil
	}
	w.through = max(w.through, end)
	w.seq = w.through
	switch {
	case anew:
		w.content = append([]byte(taskfile.MonthHeader(month)), formatted(entries)...)
	case asWritten:
		w.content = slices.Concat(l.have, formatted(entries))
	default:
		if w.content, err = k.resumed(ctx, agent, month, l, entries); err != nil {
			return 0, err
		}
	}
	if len(w.content) > workspace.MaxFileBytes {
		k.full(l.path)
		return 0, nil
	}
	return k.write(ctx, &w, l)
}

// resumed is a month of which was said what it was going to have, and that has what it had before. later are the entries after those.
func (k *Keeper) resumed(ctx context.Context, agent, month string, l *look, later []taskfile.Entry) ([]byte, error) {
	all, _, err := k.entries(ctx, agent, month, 0)
	if err != nil {
		return nil, err
	}
	said := all[:max(len(all)-len(later), 0)]
	for i := len(said); i >= 0; i-- {
		if sumOf(slices.Concat(l.have, formatted(said[i:]))) == l.last.sum {
			return slices.Concat(l.have, formatted(all[i:])), nil
		}
	}
	had := taskfile.ParseMonth(string(l.have)) // another version may have written entries another way
	missing := slices.DeleteFunc(all, func(e taskfile.Entry) bool {
		_, ok := had.Find(e.TaskID)
		return ok
	})
	return slices.Concat(l.have, formatted(missing)), nil
}

func (k *Keeper) entries(ctx context.Context, agent, month string, after int64) (entries []taskfile.Entry, end int64, err error) {
	err = k.o.Log.View(ctx, func(tx *sql.Tx) error {
		entries, end, err = task.Entries(ctx, tx, agent, month, after)
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

// full notes that a month takes no more. The log has what is missing in it.
func (k *Keeper) full(path string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.filled[path] == "" {
		k.filled[path] = fmt.Sprintf("%s is full: it would exceed %d bytes", path, workspace.MaxFileBytes)
		k.o.Logger.Error("a month of history takes no more tasks; the log has them", "file", path)
	}
}
