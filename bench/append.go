package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// Sizes of one round of the append benchmark.
const (
	clients      = 64
	perClient    = 400
	singleEvents = 1_000
	naiveEvents  = 4_000
)

// store appends one event.
type store func(eventstore.StreamAppend) error

// into returns the store of a log.
func into(ctx context.Context, log *sqlite.DB) store {
	return func(a eventstore.StreamAppend) error {
		_, err := log.Append(ctx, a)
		return err
	}
}

func runAppend(ctx context.Context, b *bench) error {
	big, err := b.filled(ctx, b.Events)
	if err != nil {
		return err
	}
	return b.rounds(ctx, func(ctx context.Context, round int, v values) error {
		if err := b.measureAppends(ctx, round, v); err != nil {
			return err
		}
		return big.with(ctx, func(log *sqlite.DB, _ *projections.Engine) error {
			rate, times, err := drive(clients, perClient, uint64(round), into(ctx, log))
			v.add("big rate", rate)
			v.add("big p99", quantile(times, 0.99))
			return err
		})
	}, func(v values) []figure {
		note := fmt.Sprintf("synchronous=FULL, %d-byte events, %d clients x %d events, all projections inline; %s", dataBytes, clients, perClient, b.medians())
		return []figure{
			atLeast("append.rate", v.mid("rate"), "events/s", v.mid("bare rate"), 0.35, note+"; baseline: group commit into a table with a unique id"),
			atMost("append.p99", v.mid("p99"), "ms", v.mid("bare p99"), 3, note+"; baseline: the same"),
			atLeast("append.naive", v.mid("rate"), "events/s", v.mid("naive"), 1.3, note+"; baseline: one transaction per event on one connection, which the clients share, bare table"),
			atMost("append.single.p50", v.mid("single"), "ms", v.mid("bare single"), 1.5,
				fmt.Sprintf("synchronous=FULL, one client, %d events; baseline: single commits into the bare table", singleEvents)),
			atLeast("append.big", v.mid("big rate"), "events/s", v.mid("bare rate"), 0.1, fmt.Sprintf("into a log of %d events, p99 %.0f ms; %s; baseline: group "+
				"commit into an empty table", b.Events, v.mid("big p99"), note)),
		}
	})
}

func (b *bench) measureAppends(ctx context.Context, round int, v values) error {
	seed := uint64(round)
	both := func(prefix string, into store) error {
		rate, times, err := drive(clients, perClient, seed, into)
		if err != nil {
			return err
		}
		_, single, err := drive(1, singleEvents, seed, into)
		v.add(prefix+"rate", rate)
		v.add(prefix+"p99", quantile(times, 0.99))
		v.add(prefix+"single", median(single))
		return err
	}
	err := b.withTable(func(t *table) error {
		grouped, stop := t.grouped()
		defer stop()
		return both("bare ", grouped)
	})
	if err != nil {
		return err
	}
	if err := b.withLog(ctx, func(log *sqlite.DB) error { return both("", into(ctx, log)) }); err != nil {
		return err
	}
	return b.withTable(func(t *table) error {
		rate, _, err := drive(clients, naiveEvents/clients, seed, t.append)
		v.add("naive", rate)
		return err
	})
}

// ofSize returns a store that gets events with so many bytes of data.
func ofSize(bytes int, into store) store {
	data := slices.Repeat([]byte("x"), bytes)
	return func(a eventstore.StreamAppend) error {
		a.Events[0].Data = data
		return into(a)
	}
}

// drive appends from n clients at once, each to its own sessions one event after the other, and returns the rate and
// all latencies in ms.
func drive(n, each int, seed uint64, store store) (rate float64, times []float64, err error) {
	work := make([][]eventstore.StreamAppend, n)
	for i := range work {
		c := newCorpus(seed<<16+uint64(i)+1, 1_771_000_000_000)
		for range each {
			work[i] = append(work[i], c.next().append())
		}
	}
	var mu sync.Mutex
	start := time.Now()
	err = together(n, func(i int) error {
		mine := make([]float64, 0, each)
		for _, a := range work[i] {
			t := time.Now()
			if err := store(a); err != nil {
				return err
			}
			mine = append(mine, milliseconds(time.Since(t)))
		}
		mu.Lock()
		defer mu.Unlock()
		times = append(times, mine...)
		return nil
	})
	return float64(n*each) / time.Since(start).Seconds(), times, err
}
