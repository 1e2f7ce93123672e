package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/backend"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// Sizes of the cluster benchmark.
const (
	clusterSingles = 500
	lagRate        = 5_000 // events a second
	lagClients     = 50
	readPage       = 100
	rawSingle      = "raw single"
	oneEvent       = dataBytes + 300 // bytes of a record with one event
)

func runCluster(ctx context.Context, b *bench) error {
	return b.rounds(ctx, b.measureCluster, func(v values) []figure {
		cores := runtime.NumCPU()
		note := fmt.Sprintf("one NATS server in this process, sync_interval always, one replica, %d-byte events, all projections inline on each node; %d cores; %s", dataBytes, cores, b.medians())
		alone, single := v.mid("alone rate"), v.mid("single")
		readers := 2.5
		if cores < 4 {
			readers = 0.8 * float64(cores) // of one goroutine each; writer and broker rest meanwhile
		}
		return []figure{
			atLeast("cluster.append.alone", v.mid("rate"), "events/s", alone, 0.5, fmt.Sprintf("%d clients; baseline: one node without a shared log; %s", clients, note)),
			atLeast("cluster.append.raw", v.mid("rate"), "events/s", v.mid("raw rate"), 0.5, fmt.Sprintf(
				"baseline: the broker alone, messages of %.0f bytes in order, as %.1f events of ours each (%.0f messages/s; 64 publishers without an order: %.0f); %s",
				v.mid("bytes"), v.mid("batch"), v.mid("raw rate")/v.mid("batch"), v.mid("raw many")/v.mid("batch"), note)),
			atMost("cluster.append.single.p50", single, "ms", v.mid(rawSingle), 3, "one client; baseline: one message with one event, the broker alone; "+note),
			atLeast("cluster.reads", v.mid("reads"), "pages/s", v.mid("alone reads"), 0.9, fmt.Sprintf("pages of %d events of a node that follows; baseline: one node without a shared log; %s", readPage, note)),
			within("cluster.lag.p50", v.mid("lag p50"), "ms", 25, fmt.Sprintf("from the acknowledgement to the commit on a node that follows, at %.0f events/s; %s", v.mid("lag rate"), note)),
			within("cluster.lag.p99", v.mid("lag p99"), "ms", 50, "likewise"),
			atLeast("cluster.readers", v.mid("three reads"), "pages/s", v.mid("reads"), readers, fmt.Sprintf("three nodes that follow, one reader each; baseline: one of them; %d cores allow %.3g; %s", cores, min(3, float64(cores)), note)),
		}
	})
}

func (b *bench) measureCluster(ctx context.Context, round int, v values) error {
	each := b.of(20, perClient)
	err := b.withLog(ctx, func(log *sqlite.DB) error {
		rate, _, err := drive(clients, each, uint64(round), into(ctx, log))
		v.add("alone rate", rate)
		if err == nil {
			err = v.reads(ctx, "alone reads", b.of(100, 3000), log)
		}
		return err
	})
	if err != nil {
		return err
	}
	// Nodes are on machines of their own where it matters, so no more run at once than a figure needs.
	return b.withBroker(func(address string) error {
		name := fmt.Sprintf("team%d", round)
		err := b.withTeam(ctx, address, name, 0, func(t *team) error { return t.appends(ctx, b, round, v) })
		if err == nil {
			err = b.measureRaw(ctx, address, v)
		}
		if err == nil {
			err = b.withTeam(ctx, address, name+"-lag", 1, func(t *team) error { return t.lag(ctx, b.of(200, 4*lagRate), v) })
		}
		if err != nil {
			return err
		}
		return b.withTeam(ctx, address, name+"-reads", 3, func(t *team) error {
			if _, _, err := drive(clients, each, uint64(round), into(ctx, t.writer)); err != nil {
				return err
			}
			if err := t.caughtUp(ctx); err != nil {
				return err
			}
			n := b.of(100, 3000)
			return errors.Join(v.reads(ctx, "reads", n, t.readers[0]), v.reads(ctx, "three reads", n, t.readers...))
		})
	})
}

// measureRaw stores what appends has stored, and as many records, in a stream of the broker.
func (b *bench) measureRaw(ctx context.Context, address string, v values) error {
	size, batch := int(v.mid("bytes")), v.mid("batch")
	for _, m := range []struct {
		name           string
		n, each, bytes int
	}{{"raw rate", 1, b.of(50, 2000), size}, {"raw many", clients, b.of(5, 100), size}, {rawSingle, 1, b.of(50, clusterSingles), oneEvent}} {
		err := withRaw(ctx, address, "raw", func(s *rawStream) error {
			rate, times, err := s.publish(ctx, m.n, m.each, m.bytes)
			if m.name == rawSingle {
				v.add(m.name, median(times))
			} else {
				v.add(m.name, rate*batch)
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// reads adds how many pages one reader of each log reads in a second, all at once.
func (v values) reads(ctx context.Context, name string, n int, logs ...*sqlite.DB) error {
	start := time.Now()
	err := together(len(logs), func(i int) error {
		head, err := logs[i].Head(ctx)
		if err != nil {
			return err
		}
		r := rand.New(rand.NewPCG(uint64(i), 1))
		for range n {
			if _, err := logs[i].Read(ctx, r.Int64N(max(head.Seq-readPage, 1)), readPage); err != nil {
				return err
			}
		}
		return nil
	})
	v.add(name, float64(n*len(logs))/time.Since(start).Seconds())
	return err
}

// team is a writer and nodes that follow it.
type team struct {
	writer  *sqlite.DB
	log     *backend.Log // as the writer sees it
	readers []*sqlite.DB
}

// withTeam calls do with the nodes of a new shared log.
func (b *bench) withTeam(ctx context.Context, address, name string, readers int, do func(*team) error) error {
	dir, err := b.newDir("nodes")
	if err != nil {
		return err
	}
	url := "nats://" + address + "/" + name
	var nodes []*clusterNode
	defer func() {
		for _, n := range nodes {
			_ = errors.Join(n.db.Close(), n.log.Close())
		}
		_ = os.RemoveAll(dir)
	}()
	for i := range readers + 1 {
		n, err := openNode(ctx, filepath.Join(dir, fmt.Sprint(i)), url)
		if err != nil {
			return err
		}
		nodes = append(nodes, n)
	}
	t := &team{writer: nodes[0].db, log: nodes[0].log}
	lease, err := t.log.Acquire(ctx, "writer", time.Hour)
	if err == nil {
		err = t.writer.Lead(ctx, lease)
	}
	if err != nil {
		return err
	}
	following, stop := context.WithCancel(ctx)
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	for _, n := range nodes[1:] {
		t.readers = append(t.readers, n.db)
		ended.Go(func() { _ = n.db.Follow(following) })
	}
	return do(t)
}

// clusterNode is a node with its own connection.
type clusterNode struct {
	db  *sqlite.DB
	log *backend.Log
}

func openNode(ctx context.Context, dir, url string) (*clusterNode, error) {
	log, err := backend.Open(ctx, url, backend.Options{})
	if err != nil {
		return nil, err
	}
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, database.Name), Shared: log})
	if err != nil {
		return nil, errors.Join(err, log.Close())
	}
	rules := coordination.RulesV2
	_, err = projections.Start(ctx, db, database.Projections(rules), projections.Options{Rules: rules})
	if err != nil {
		return nil, errors.Join(err, db.Close(), log.Close())
	}
	return &clusterNode{db, log}, nil
}

// caughtUp waits until all readers have what the writer has.
func (t *team) caughtUp(ctx context.Context) error {
	head, err := t.writer.Head(ctx)
	if err != nil {
		return err
	}
	for _, r := range t.readers {
		if _, err := r.Wait(ctx, head.Seq); err != nil {
			return err
		}
	}
	return nil
}

// appends measures what the writer takes, and how large its records are.
func (t *team) appends(ctx context.Context, b *bench, round int, v values) error {
	before, err := t.log.Head(ctx)
	if err != nil {
		return err
	}
	rate, _, err := drive(clients, b.of(20, perClient), uint64(round), into(ctx, t.writer))
	if err != nil {
		return err
	}
	after, err := t.log.Head(ctx)
	if err != nil {
		return err
	}
	v.add("rate", rate)
	v.add("batch", float64(after.Seq-before.Seq)/float64(after.Number-before.Number))
	size, err := bodyBytes(ctx, t.log, before, after)
	v.add("bytes", size)
	if err != nil {
		return err
	}
	_, single, err := drive(1, b.of(20, clusterSingles), uint64(round)+100, into(ctx, t.writer))
	v.add("single", median(single))
	return err
}

// bodyBytes returns the mean size of some records.
func bodyBytes(ctx context.Context, log shared.Log, before, after shared.Head) (float64, error) {
	const most = 200
	records, err := log.Read(ctx, max(before.Number, after.Number-most), most)
	if err != nil || len(records) == 0 {
		return 0, err
	}
	total := 0
	for i := range records {
		total += len(records[i].Body)
	}
	return float64(total) / float64(len(records)), nil
}

// lag appends n events at a fixed rate, and measures when the first reader has them.
func (t *team) lag(ctx context.Context, n int, v values) error {
	type stored struct {
		seq int64
		at  time.Time
	}
	acked := make(chan stored, n)
	var lags []float64
	var observing sync.WaitGroup
	observing.Go(func() {
		for s := range acked {
			if _, err := t.readers[0].Wait(ctx, s.seq); err != nil {
				return
			}
			lags = append(lags, max(0, milliseconds(time.Since(s.at))))
		}
	})
	start := time.Now()
	err := together(lagClients, func(i int) error {
		c := newCorpus(uint64(i)+1_000, 1_771_000_000_000)
		ticks := time.NewTicker(time.Second * lagClients / lagRate)
		defer ticks.Stop()
		for range n / lagClients {
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return ctx.Err()
			}
			result, err := t.writer.Append(ctx, c.next().append())
			if err != nil {
				return err
			}
			acked <- stored{result.Seq, time.Now()}
		}
		return nil
	})
	took := time.Since(start).Seconds()
	close(acked)
	observing.Wait()
	v.add("lag rate", float64(n)/took)
	v.add("lag p50", quantile(lags, 0.5))
	v.add("lag p99", quantile(lags, 0.99))
	return errors.Join(err, t.caughtUp(ctx))
}
