package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/maintenance/backup"
)

// quietTime is how long appends are counted without a backup, before and after one.
const quietTime = 5 * time.Second

// runBackup copies and verifies the big log while clients append, and reports how much slower they were than just
// before and after, and the longest append.
func runBackup(ctx context.Context, b *bench) error {
	h, err := b.filled(ctx, b.Events)
	if err != nil {
		return err
	}
	log, _, err := h.open(ctx)
	if err != nil {
		return err
	}
	defer log.Close()
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		load := appending(ctx, log)
		return errors.Join(b.backUp(ctx, log, load, v), load.end())
	}, func(v values) []figure {
		note := fmt.Sprintf("%d clients on a live log of %d events; copy and verification took %.0f s and the WAL grew to %.0f MB; %s",
			clients, b.Events, v.mid("seconds"), v.mid("WAL MB"), b.medians())
		return []figure{
			atLeast("backup.slowdown", v.mid("rate"), "events/s", v.mid("quiet"), 0.40, note+"; baseline: the same clients just before and after"),
			within("backup.stall", quantile(v["stall"], 1), "ms", 100, "longest append of all; "+note),
		}
	})
}

func (b *bench) backUp(ctx context.Context, log *sqlite.DB, load *load, v values) error {
	dir := filepath.Join(b.Dir, "backup")
	pause := func() error { return wait.For(ctx, quietTime) }
	before, err := load.during(pause)
	if err != nil {
		return err
	}
	during, err := load.during(func() error {
		_, err := backup.Create(ctx, backup.CreateOptions{Log: log, Dir: dir, Now: time.Now, Version: "bench"})
		return err
	})
	if err != nil {
		return err
	}
	wal, err := os.Stat(log.Path() + "-wal")
	if err != nil {
		return err
	}
	after, err := load.during(pause)
	v.add("rate", during.rate)
	v.add("quiet", (before.rate+after.rate)/2)
	v.add("stall", during.worst)
	v.add("seconds", during.took)
	v.add("WAL MB", float64(wal.Size())/1e6)
	return errors.Join(err, os.RemoveAll(dir))
}
