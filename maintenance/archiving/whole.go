package archiving

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// WriteWhole writes a log into a database of its own, with every archived payload in its place, and builds the
// tables. A file at path is an os.ErrExist; a failed attempt removes its files. Redacted payloads stay redacted.
func WriteWhole(ctx context.Context, log eventstore.Reader, path string, rules coordination.Rules, now func() time.Time, tell func(done, total int64)) (events int64, err error) {
	if _, err := os.Lstat(path); err == nil {
		return 0, fmt.Errorf("write %s: %w", path, os.ErrExist)
	}
	defer func() {
		if err == nil {
			return
		}
		for _, suffix := range []string{"", "-wal", "-shm", ".lock"} {
			if removed := os.Remove(path + suffix); removed != nil && !errors.Is(removed, os.ErrNotExist) {
				err = errors.Join(err, removed)
			}
		}
	}()
	out, err := database.OpenToWrite(ctx, path, "archive restore", now)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	if events, err = copyLog(ctx, log, out, tell); err != nil {
		return 0, fmt.Errorf("write %s: %w", path, err)
	}
	engine, err := projections.Start(ctx, out, database.Projections(rules), projections.Options{Rules: rules, Now: now})
	if err != nil {
		return 0, err
	}
	return events, engine.Rebuild(ctx, projections.RebuildOptions{})
}

func copyLog(ctx context.Context, log eventstore.Reader, out *sqlite.DB, tell func(done, total int64)) (seq int64, err error) {
	const page = 1000
	head, err := log.Head(ctx)
	if err != nil {
		return 0, err
	}
	for seq < head.Seq {
		events, err := log.Read(ctx, seq, int(min(page, head.Seq-seq)))
		if err != nil {
			return 0, err
		}
		if len(events) == 0 {
			return 0, fmt.Errorf("event %d: %w", seq+1, eventstore.ErrNotFound)
		}
		if err := out.Restore(ctx, events); err != nil {
			return 0, err
		}
		seq = events[len(events)-1].Seq
		tell(seq, head.Seq)
	}
	return seq, nil
}
