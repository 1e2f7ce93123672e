package main

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// Sizes of one round of the append benchmark.
const (
	clients      = 64
	perClient    = 400
	singleEvents = 1_000
	naiveEvents  = 2_000
)

func runAppend(ctx context.Context, b *bench) ([]figure, error) {
	var ours, raw, naive, ourP99, rawP99, ourP50, rawP50 []float64
	for round := range b.Rounds {
		dir := func(name string) string { return filepath.Join(b.Dir, fmt.Sprintf("append-%s-%d.db", name, round)) }

		bare, err := openBare(dir("raw"))
		if err != nil {
			return nil, err
		}
		rate, times, err := drive(clients, perClient, uint64(round), bare.append)
		if err != nil {
			return nil, err
		}
		raw, rawP99 = append(raw, rate), append(rawP99, quantile(times, 0.99))
		if _, times, err = drive(1, singleEvents, uint64(round), bare.append); err != nil {
			return nil, err
		}
		rawP50 = append(rawP50, median(times))
		if err := bare.close(); err != nil {
			return nil, err
		}

		log, _, err := openLog(ctx, dir("openclawd"))
		if err != nil {
			return nil, err
		}
		store := func(a eventstore.StreamAppend) error {
			_, err := log.Append(ctx, a)
			return err
		}
		if rate, times, err = drive(clients, perClient, uint64(round), store); err != nil {
			return nil, err
		}
		ours, ourP99 = append(ours, rate), append(ourP99, quantile(times, 0.99))
		if _, times, err = drive(1, singleEvents, uint64(round), store); err != nil {
			return nil, err
		}
		ourP50 = append(ourP50, median(times))
		if err := log.Close(); err != nil {
			return nil, err
		}

		pool, err := openNaive(dir("naive"))
		if err != nil {
			return nil, err
		}
		if rate, _, err = drive(clients, naiveEvents/clients, uint64(round), pool.append); err != nil {
			return nil, err
		}
		naive = append(naive, rate)
		if err := pool.db.Close(); err != nil {
			return nil, err
		}
		b.logf("append round %d: ours %.0f/s, raw %.0f/s, naive %.0f/s", round+1, ours[round], raw[round], naive[round])
	}
	note := fmt.Sprintf("synchronous=FULL, %d-byte events, %d clients x %d events, all projections inline; median of %d rounds", dataBytes, clients, perClient, b.Rounds)
	return []figure{
		atLeast("append.rate", median(ours), "events/s", median(raw), 0.20, note+"; baseline: group commit into a table with a unique id"),
		atMost("append.p99", median(ourP99), "ms", median(rawP99), 3, note+"; baseline: the same"),
		atLeast("append.naive", median(ours), "events/s", median(naive), 8, note+"; baseline: one transaction per event over a 64-connection pool, bare table"),
		atMost("append.single.p50", median(ourP50), "ms", median(rawP50), 3, fmt.Sprintf("synchronous=FULL, one client, %d events; baseline: single commits into the bare table", singleEvents)),
	}, nil
}

// drive appends from n clients at once, each to its own sessions one event after the other, and returns the rate and
// all latencies in ms.
func drive(n, each int, seed uint64, store func(eventstore.StreamAppend) error) (rate float64, times []float64, err error) {
	work := make([][]eventstore.StreamAppend, n)
	for i := range work {
		c := newCorpus(seed<<16+uint64(i)+1, 1_771_000_000_000)
		for range each {
			work[i] = append(work[i], c.next().append())
		}
	}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	for i := range n {
		wg.Go(func() {
			mine := make([]float64, 0, each)
			for _, a := range work[i] {
				t := time.Now()
				if e := store(a); e != nil {
					mu.Lock()
					err = e
					mu.Unlock()
					return
				}
				mine = append(mine, float64(time.Since(t).Microseconds())/1000)
			}
			mu.Lock()
			times = append(times, mine...)
			mu.Unlock()
		})
	}
	wg.Wait()
	return float64(n*each) / time.Since(start).Seconds(), times, err
}

// openLog opens a log with all projections, as the server does.
func openLog(ctx context.Context, path string) (*sqlite.DB, *projections.Engine, error) {
	db, err := sqlite.Open(ctx, sqlite.Options{Path: path})
	if err != nil {
		return nil, nil, err
	}
	rules := coordination.RulesV2
	engine, err := projections.Start(ctx, db, database.Projections(rules), projections.Options{Rules: rules})
	return db, engine, err
}

// The bare table is the obvious design: an event's payload under its 16-byte id; no hash, no stream number, no index
// but the id's.
const (
	bareTable = `CREATE TABLE e (seq INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, stream TEXT, type TEXT, ver INTEGER, agent TEXT, ts INTEGER,
 recorded_at INTEGER, actor TEXT, data TEXT) STRICT`
	bareInsert = "INSERT INTO e (id, stream, type, ver, agent, ts, recorded_at, actor, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)

func bareArgs(id eventstore.ID, a eventstore.StreamAppend) []any {
	e := &a.Events[0]
	return []any{id[:], a.Stream, e.Type, 1, e.AgentID, e.TS, time.Now().UnixMilli(), string(e.Actor), string(e.Data)}
}

// bare is the raw baseline: group commit of queued events into a table with a unique id and nothing else.
type bare struct {
	db      *sql.DB
	ids     *eventstore.IDs
	queue   chan bareRequest
	stopped chan struct{}
}

type bareRequest struct {
	event eventstore.StreamAppend
	done  chan error
}

func openBare(path string) (*bare, error) {
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		return nil, err
	}
	if _, err := db.Exec(bareTable); err != nil {
		return nil, err
	}
	b := &bare{db: db, ids: newIDs(), queue: make(chan bareRequest, 256), stopped: make(chan struct{})}
	insert, err := db.Prepare(bareInsert)
	if err != nil {
		return nil, err
	}
	go func() {
		defer close(b.stopped)
		for first := range b.queue {
			b.commit(insert, first)
		}
	}()
	return b, nil
}

func (b *bare) commit(insert *sql.Stmt, first bareRequest) {
	batch := []bareRequest{first}
	for len(batch) < 256 {
		select {
		case r := <-b.queue:
			batch = append(batch, r)
			continue
		default:
		}
		break
	}
	err := func() error {
		tx, err := b.db.Begin()
		if err != nil {
			return err
		}
		in := tx.Stmt(insert)
		for _, r := range batch {
			if _, err := in.Exec(bareArgs(b.ids.Next(), r.event)...); err != nil {
				return err
			}
		}
		return tx.Commit()
	}()
	for _, r := range batch {
		r.done <- err
	}
}

func (b *bare) append(a eventstore.StreamAppend) error {
	r := bareRequest{a, make(chan error, 1)}
	b.queue <- r
	return <-r.done
}

func (b *bare) close() error {
	close(b.queue)
	<-b.stopped
	return b.db.Close()
}

// naive is the obvious implementation: a pool of connections, a transaction per event.
type naive struct {
	db  *sql.DB
	ids *eventstore.IDs
}

func openNaive(path string) (*naive, error) {
	db, err := sqlite.OpenPlain(path, clients)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec(bareTable)
	return &naive{db: db, ids: newIDs()}, err
}

func (n *naive) append(a eventstore.StreamAppend) error {
	_, err := n.db.Exec(bareInsert, bareArgs(n.ids.Next(), a)...)
	return err
}
