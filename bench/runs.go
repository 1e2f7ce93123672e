package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Fixed sizes of the runs benchmark.
const (
	runsLanes    = 16
	runsSessions = 32
	runsWarm     = 50  // warm-up runs at one lane
	runsHomes    = 100 // sessions with waiting messages
	thinkTime    = 20 * time.Millisecond
)

type runsSizes struct {
	many     int // over all sessions, at many lanes
	thinking int // likewise, with a model that thinks
	alone    int // one after the other, at one lane
	queued   int // waiting at the same time
}

// runsSizes are small unless the big log is large: a small run only shows that the benchmark works.
func (b *bench) runsSizes() runsSizes {
	const whole = 100_000 // events
	if b.Events < whole {
		return runsSizes{many: 320, thinking: 320, alone: 60, queued: 1_000}
	}
	return runsSizes{many: 3_000, thinking: 2_000, alone: 300, queued: 10_000}
}

const runsConfig = `{ "gateway": { "auth": { "mode": "token", "token": "` + gatewayToken + `" } },
  "agents": { "defaults": { "model": { "primary": "bench/words" }, "maxConcurrent": %d },
    "list": [ { "id": "main", "default": true }, { "id": "eden" }, { "id": "seum" }, { "id": "ruda" } ] },
  "models": { "providers": { "bench": { "baseUrl": %q, "apiKey": "none", "models": [ { "id": "words" } ] } } } }
`

var runsAgents = []string{"main", "eden", "seum", "ruda"}

type runsFigures struct {
	many, thinking, alone float64 // runs per second
	over, overThinking    float64 // ms beyond the model's own time, p50, at one lane
	over99                float64
	goroutines, heap      float64 // cost of waiting messages; MB
	queue, drain          float64 // messages per second accepted, and ended
}

// runRuns measures agent runs through a model server in this process, from a client's request to its second answer.
func runRuns(ctx context.Context, b *bench) ([]figure, error) {
	var list []runsFigures
	for round := range b.Rounds {
		f, err := b.measureRuns(ctx, round)
		if err != nil {
			return nil, err
		}
		b.logf("runs round %d: %+v", round+1, *f)
		list = append(list, *f)
	}
	of := func(field func(*runsFigures) float64) float64 {
		values := make([]float64, len(list))
		for i := range list {
			values[i] = field(&list[i])
		}
		return median(values)
	}
	n := b.runsSizes()
	note := fmt.Sprintf("synchronous=FULL, OpenAI-compatible server on the same machine, median of %d rounds", b.Rounds)
	many := fmt.Sprintf("%d lanes, %d sessions", runsLanes, runsSessions)
	return []figure{
		reaches("runs.rate.16", of(func(f *runsFigures) float64 { return f.many }), "runs/s", 300,
			fmt.Sprintf("%d runs, %s, a model that answers at once; %s", n.many, many, note)),
		reaches("runs.rate.16.think", of(func(f *runsFigures) float64 { return f.thinking }), "runs/s", 300,
			fmt.Sprintf("%d runs, %s, a model that takes %s; %s", n.thinking, many, thinkTime, note)),
		reaches("runs.rate.1", of(func(f *runsFigures) float64 { return f.alone }), "runs/s", 27,
			fmt.Sprintf("%d runs one after the other at one lane, a model that answers at once; %s", n.alone, note)),
		within("runs.overhead.p50", of(func(f *runsFigures) float64 { return f.over }), "ms", 5,
			"from the request to its second answer, less what the model server took for that very run; one lane, a model that answers at once; "+note),
		within("runs.overhead.p99", of(func(f *runsFigures) float64 { return f.over99 }), "ms", 25, "the same, the slowest of a hundred; "+note),
		within("runs.overhead.think.p50", of(func(f *runsFigures) float64 { return f.overThinking }), "ms", 5,
			fmt.Sprintf("the same, with a model that takes %s; %s", thinkTime, note)),
		within("runs.waiting.goroutines", of(func(f *runsFigures) float64 { return f.goroutines }), "goroutines", 100,
			fmt.Sprintf("cost of %d messages that wait in %d sessions; %s", n.queued, runsHomes, note)),
		within("runs.waiting.heap", of(func(f *runsFigures) float64 { return f.heap }), "MB", 50,
			"cost of the same, of the live heap after the newest garbage collection; "+note),
		reaches("runs.waiting.taken", of(func(f *runsFigures) float64 { return f.queue }), "messages/s", 300, "until all of them were on disk; "+note),
		reaches("runs.waiting.drained", of(func(f *runsFigures) float64 { return f.drain }), "runs/s", 300, "until all of them had ended, in order; "+note),
	}, nil
}

func (b *bench) measureRuns(ctx context.Context, round int) (f *runsFigures, err error) {
	model, err := startModel()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.stop()) }()
	f = &runsFigures{}
	at := func(name string, lanes int, measure func(*runsServer) error) error {
		s, err := b.startRuns(ctx, fmt.Sprintf("runs-%s-%d", name, round), lanes, model)
		if err != nil {
			return err
		}
		return errors.Join(measure(s), s.close())
	}
	err = at("many", runsLanes, func(s *runsServer) (err error) {
		if f.many, err = s.rate(ctx, s.n.many); err != nil {
			return err
		}
		model.think(thinkTime)
		defer model.think(0)
		f.thinking, err = s.rate(ctx, s.n.thinking)
		return err
	})
	if err != nil {
		return nil, err
	}
	err = at("alone", 1, func(s *runsServer) error { return s.alone(ctx, f) })
	if err != nil {
		return nil, err
	}
	return f, at("waiting", runsLanes, func(s *runsServer) error { return s.wait(ctx, f) })
}

// runsServer is a server whose agents use the model, and a client of it.
type runsServer struct {
	*server
	client *client.Client
	model  *model
	db     string
	n      runsSizes
	asked  int // runs
}

func (b *bench) startRuns(ctx context.Context, name string, lanes int, m *model) (*runsServer, error) {
	home := filepath.Join(b.Dir, name)
	err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "openclaw.json"), fmt.Appendf(nil, runsConfig, lanes, m.url), 0o600))
	if err != nil {
		return nil, err
	}
	db := filepath.Join(home, "openclawd.db")
	s, c, _, err := b.startGateway(ctx, db, home)
	if err != nil {
		return nil, err
	}
	return &runsServer{server: s, client: c, model: m, db: db, n: b.runsSizes()}, nil
}

// close ends the server, and checks that every requested run has ended well.
func (s *runsServer) close() error {
	if err := errors.Join(s.client.Close(), s.stop()); err != nil {
		return err
	}
	counts, err := countRuns(context.Background(), s.db)
	if err == nil && counts[run.OK] != int64(s.asked) {
		err = fmt.Errorf("%d runs were requested, and they ended as %v", s.asked, counts)
	}
	return err
}

func (s *runsServer) run(ctx context.Context, session, n int) error {
	payload, err := s.client.CallFinal(ctx, "agent", map[string]any{"sessionKey": runsKey(session), "message": fmt.Sprintf("message %d", n),
		"idempotencyKey": fmt.Sprintf("bench-%d-%d", session, n)}, nil)
	if err != nil {
		return err
	}
	var answer struct{ Status string }
	if err := json.Unmarshal(payload, &answer); err != nil || answer.Status != "ok" {
		return errors.Join(fmt.Errorf("agent answers %s", payload), err)
	}
	return nil
}

func runsKey(session int) string {
	return fmt.Sprintf("agent:%s:bench-%d", runsAgents[session%len(runsAgents)], session)
}

// rate has n messages answered, as many at a time as there are sessions, and returns the messages per second.
func (s *runsServer) rate(ctx context.Context, n int) (float64, error) {
	errs := make([]error, runsSessions)
	all := func(from, each int) {
		var wg sync.WaitGroup
		for session := range runsSessions {
			wg.Go(func() {
				for i := range each {
					if errs[session] == nil {
						errs[session] = s.run(ctx, session, from+i)
					}
				}
			})
		}
		wg.Wait()
	}
	all(s.asked, 2) // warms up
	s.asked += 2 * runsSessions
	each := n / runsSessions
	start := time.Now()
	all(s.asked, each)
	took := time.Since(start)
	s.asked += each * runsSessions
	return float64(each*runsSessions) / took.Seconds(), errors.Join(errs...)
}

// alone has messages answered one after the other, in changing sessions, and compares each time with the model's own.
func (s *runsServer) alone(ctx context.Context, f *runsFigures) error {
	measure := func(n int) (over []float64, took time.Duration, err error) {
		start := time.Now()
		for range n {
			s.model.took()
			asked := time.Now()
			if err := s.run(ctx, s.asked%runsSessions, s.asked); err != nil {
				return nil, 0, err
			}
			over = append(over, milliseconds(time.Since(asked)-s.model.took()))
			s.asked++
		}
		return over, time.Since(start), nil
	}
	if _, _, err := measure(runsWarm); err != nil {
		return err
	}
	over, took, err := measure(s.n.alone)
	if err != nil {
		return err
	}
	f.alone, f.over, f.over99 = float64(s.n.alone)/took.Seconds(), median(over), quantile(over, 0.99)
	s.model.think(thinkTime)
	defer s.model.think(0)
	if over, _, err = measure(s.n.alone / 3); err != nil {
		return err
	}
	f.overThinking = median(over)
	return nil
}

func countRuns(ctx context.Context, db string) (counts map[run.State]int64, err error) {
	log, err := sqlite.Open(ctx, sqlite.Options{Path: db, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	err = log.View(ctx, func(tx *sql.Tx) error {
		counts, err = runs.Count(ctx, tx)
		return err
	})
	return counts, err
}
