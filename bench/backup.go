package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/maintenance/backup"
)

// quietTime is how long appends are counted without a backup, before and after one.
const quietTime = 5 * time.Second

// runBackup copies and verifies the big log while clients append, and reports how much slower they were than just
// before and after, and the longest append.
func runBackup(ctx context.Context, b *bench) ([]figure, error) {
	big, err := b.bigLog(ctx)
	if err != nil {
		return nil, err
	}
	db, _, err := openLog(ctx, big.db)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	var slow, quiet, took, wal []float64
	stall := 0.0
	for round := range b.Rounds {
		dir := filepath.Join(b.Dir, fmt.Sprintf("backup-%d", round))
		r, err := backUpUnderLoad(ctx, db, dir)
		if err != nil {
			return nil, err
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
		slow, quiet, took = append(slow, r.during), append(quiet, r.quiet), append(took, r.took)
		wal, stall = append(wal, r.wal), max(stall, r.stall)
		b.logf("backup round %d: %.0f/s in %.1f s, %.0f/s without, longest append %.0f ms, WAL %.0f MB", round+1, r.during, r.took, r.quiet, r.stall, r.wal)
	}
	note := fmt.Sprintf("%d clients on a live log of %d events; copy and verification took %.0f s and the WAL grew to %.0f MB (medians of %d rounds)",
		clients, b.Events, median(took), median(wal), b.Rounds)
	return []figure{
		atLeast("backup.slowdown", median(slow), "events/s", median(quiet), 0.40, note+"; baseline: the same clients just before and after"),
		within("backup.stall", stall, "ms", 1000, "longest append of all; "+note),
	}, nil
}

// loaded is the cost of one backup under load.
type loaded struct {
	during, quiet float64 // events/s
	took          float64 // s
	stall         float64 // ms
	wal           float64 // MB, at the end of the copy
}

func backUpUnderLoad(ctx context.Context, db *sqlite.DB, dir string) (r loaded, err error) {
	load := appending(ctx, db)
	defer func() {
		if e := load.end(); err == nil {
			err = e
		}
	}()
	before, _ := load.during(func() error { return wait.For(ctx, quietTime) })
	r.during, r.took, r.stall, err = func() (float64, float64, float64, error) {
		start := time.Now()
		load.reset()
		rate, err := load.during(func() error {
			_, err := backup.Create(ctx, backup.CreateOptions{Log: db, Dir: dir, Now: time.Now, Version: "bench"})
			return err
		})
		return rate, time.Since(start).Seconds(), load.longest(), err
	}()
	if err != nil {
		return r, err
	}
	if info, err := os.Stat(db.Path() + "-wal"); err == nil {
		r.wal = float64(info.Size()) / 1e6
	}
	after, _ := load.during(func() error { return wait.For(ctx, quietTime) })
	r.quiet = (before + after) / 2
	return r, nil
}

// load is clients that append until they are stopped.
type load struct {
	stop context.CancelFunc
	wg   sync.WaitGroup

	mu     sync.Mutex
	stored int
	worst  time.Duration
	failed error
}

func appending(ctx context.Context, db *sqlite.DB) *load {
	running, stop := context.WithCancel(ctx)
	l := &load{stop: stop}
	for i := range clients {
		l.wg.Go(func() {
			team := newCorpus(uint64(time.Now().UnixNano())<<8+uint64(i), time.Now().UnixMilli())
			for running.Err() == nil {
				start := time.Now()
				_, err := db.Append(ctx, team.next().append())
				if l.note(time.Since(start), err); err != nil {
					return
				}
			}
		})
	}
	return l
}

func (l *load) note(took time.Duration, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stored, l.worst = l.stored+1, max(l.worst, took)
	if l.failed == nil {
		l.failed = err
	}
}

// during returns the rate of appends while f runs, in events/s.
func (l *load) during(f func() error) (float64, error) {
	l.mu.Lock()
	before := l.stored
	l.mu.Unlock()
	took, err := seconds(f)
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.stored-before) / took, err
}

func (l *load) reset() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.worst = 0
}

func (l *load) longest() float64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return float64(l.worst.Microseconds()) / 1000
}

func (l *load) end() error {
	l.stop()
	l.wg.Wait()
	return l.failed
}
