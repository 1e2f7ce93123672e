package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/projections"
)

// runLive rebuilds all projections while clients append, and reports the longest append.
func runLive(ctx context.Context, b *bench) ([]figure, error) {
	big, err := b.bigLog(ctx)
	if err != nil {
		return nil, err
	}
	db, engine, err := openLog(ctx, big.db)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	running, stop := context.WithCancel(ctx)
	defer stop()
	var (
		mu      sync.Mutex
		wg      sync.WaitGroup
		longest time.Duration
		stored  int
		failed  error
	)
	for i := range clients {
		wg.Go(func() {
			team := newCorpus(uint64(1_000_000+i), time.Now().UnixMilli())
			for running.Err() == nil {
				start := time.Now()
				_, err := db.Append(ctx, team.next().append())
				took := time.Since(start)
				mu.Lock()
				longest, stored = max(longest, took), stored+1
				if err != nil && failed == nil {
					failed = err
				}
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	took, err := seconds(func() error { return engine.Rebuild(ctx, projections.RebuildOptions{Live: true}) })
	stop()
	wg.Wait()
	if err != nil {
		return nil, err
	}
	if failed != nil {
		return nil, failed
	}
	return []figure{within("rebuild.live.stall", float64(longest.Milliseconds()), "ms", 1000,
		fmt.Sprintf("longest append of %d clients while all projections of %d events were rebuilt in %.0f s; %d events were appended meanwhile",
			clients, b.Events, took, stored))}, nil
}
