package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Fixed sizes of the runs benchmark.
const (
	runsLanes    = 16
	runsSessions = 32
	runsWarm     = 50  // warm-up runs at one lane
	runsHomes    = 100 // sessions with waiting messages
	thinkTime    = 20 * time.Millisecond
)

const runsConfig = `{ "gateway": { "auth": { "mode": "token", "token": "` + gatewayToken + `" } },
  "agents": { "defaults": { "model": { "primary": "bench/words" }, "maxConcurrent": %d },
    "list": [ { "id": "main", "default": true }, { "id": "eden" }, { "id": "seum" }, { "id": "ruda" } ] },
  "models": { "providers": { "bench": { "baseUrl": %q, "apiKey": "none", "models": [ { "id": "words" } ] } } } }
`

var runsAgents = []string{"main", "eden", "seum", "ruda"}

// runRuns measures agent runs through a model server in this process, from a client's request to its second answer.
func runRuns(ctx context.Context, b *bench) error {
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return withModel(ctx, func(m *model) error { return b.measureRuns(ctx, m, v) })
	}, func(v values) []figure {
		note := "synchronous=FULL, OpenAI-compatible server on the same machine, " + b.medians()
		many := fmt.Sprintf("%d lanes, %d sessions", runsLanes, runsSessions)
		return []figure{
			reaches("runs.rate.16", v.mid("rate"), "runs/s", 900, fmt.Sprintf("%d runs, %s, a model that answers at once; %s", b.manyRuns(), many, note)),
			reaches("runs.rate.16.think", v.mid("rate think"), "runs/s", 370, fmt.Sprintf("%d runs, %s, a model that takes %s; %s", b.thinkingRuns(), many, thinkTime, note)),
			reaches("runs.rate.16.long", v.mid("rate long"), "runs/s", 900, fmt.Sprintf("%d runs, %s that have %d turns, a model that answers at once; %s",
				b.longRuns(), many, b.longTurns(), note)),
			within("runs.cpu.long", v.mid("cpu long"), "ms", 2.2, "processor time of the server for each of these runs, the turns before included; "+note),
			within("runs.ack.p50", v.mid("ack"), "ms", 3, fmt.Sprintf("from chat.send to its answer, each session sends when its last run has ended, for as many runs; p95 %.1f ms; "+
				"the same sessions; %s", v.mid("ack p95"), note)),
			reaches("runs.rate.1", v.mid("rate alone"), "runs/s", 200, fmt.Sprintf("%d runs one after the other at one lane, a model that answers at once; %s", b.runsAlone(), note)),
			within("runs.overhead.p50", v.mid("over"), "ms", 5,
				"from the request to its second answer, less what the model server took for that very run; one lane, a model that answers at once; "+note),
			within("runs.overhead.p99", v.mid("over p99"), "ms", 12, "the same, the slowest of a hundred; "+note),
			within("runs.overhead.think.p50", v.mid("over think"), "ms", 5, fmt.Sprintf("the same, with a model that takes %s; %s", thinkTime, note)),
			within("runs.waiting.goroutines", v.mid("goroutines"), "goroutines", 75, fmt.Sprintf("cost of %d messages that wait in %d sessions; %s", b.queuedRuns(), runsHomes, note)),
			within("runs.waiting.heap", v.mid("heap MB"), "MB", 7, "cost of the same, of the live heap after the newest garbage collection; "+note),
			reaches("runs.waiting.taken", v.mid("taken"), "messages/s", 3_000, "until all of them were on disk; "+note),
			reaches("runs.waiting.drained", v.mid("drained"), "runs/s", 540, "until all of them had ended, in order; "+note),
		}
	})
}

// Amounts of one round: over all sessions at many lanes, one after the other at one lane, and waiting at the same time.
func (b *bench) manyRuns() int     { return b.of(320, 3_000) }
func (b *bench) thinkingRuns() int { return b.of(320, 2_000) }
func (b *bench) longTurns() int    { return b.of(10, 100) }
func (b *bench) longRuns() int     { return b.of(96, 960) }
func (b *bench) runsAlone() int    { return b.of(60, 300) }
func (b *bench) queuedRuns() int   { return b.of(1_000, 10_000) }

func (b *bench) measureRuns(ctx context.Context, m *model, v values) error {
	err := b.withRuns(ctx, runsLanes, m, func(s *runsServer) (err error) {
		if err = s.rate(ctx, 2, b.manyRuns(), "rate", v); err != nil {
			return err
		}
		m.think(thinkTime)
		defer m.think(0)
		return s.rate(ctx, 2, b.thinkingRuns(), "rate think", v)
	})
	if err != nil {
		return err
	}
	err = b.withRuns(ctx, runsLanes, m, func(s *runsServer) error {
		before, err := s.cpu()
		if err != nil {
			return err
		}
		if err := s.rate(ctx, b.longTurns(), b.longRuns(), "rate long", v); err != nil {
			return err
		}
		spent, err := s.cpu()
		if err != nil {
			return err
		}
		v.add("cpu long", (spent-before)/float64(s.asked))
		return s.acknowledged(ctx, b.longRuns(), v)
	})
	if err != nil {
		return err
	}
	if err := b.withRuns(ctx, 1, m, func(s *runsServer) error { return s.alone(ctx, b.runsAlone(), v) }); err != nil {
		return err
	}
	return b.withRuns(ctx, runsLanes, m, func(s *runsServer) error { return s.wait(ctx, b.queuedRuns(), v) })
}

// runsServer is a server whose agents use the model.
type runsServer struct {
	*server
	home  home
	model *model
	asked int // runs
}

// withRuns calls do with a server, and checks that every run that do has requested has ended well.
func (b *bench) withRuns(ctx context.Context, lanes int, m *model, do func(*runsServer) error) error {
	h, err := b.newHome(fmt.Sprintf(runsConfig, lanes, m.url))
	if err != nil {
		return err
	}
	s := &runsServer{home: h, model: m}
	err = b.serving(ctx, h, func(server *server) error {
		s.server = server
		return do(s)
	}, withGateway)
	if err != nil {
		return err
	}
	if over, err := s.drained(ctx)(); !over || err != nil {
		return errors.Join(err, errors.New("the server has stopped with runs open"))
	}
	return nil
}

func (s *runsServer) run(ctx context.Context, session, n int) error {
	var answer struct{ Status string }
	err := s.call(ctx, "agent", map[string]any{"sessionKey": runsKey(session), "message": fmt.Sprintf("message %d", n),
		"idempotencyKey": fmt.Sprintf("bench-%d-%d", session, n)}, &answer)
	if err == nil && answer.Status != "ok" {
		err = fmt.Errorf("agent answers %s", answer.Status)
	}
	return err
}

func runsKey(session int) string {
	return fmt.Sprintf("agent:%s:bench-%d", runsAgents[session%len(runsAgents)], session)
}

// rate has n messages answered, as many at a time as there are sessions, and adds the messages per second. Before that
// each session has some turns, which also warm up.
func (s *runsServer) rate(ctx context.Context, turns, n int, name string, v values) error {
	all := func(each int) error {
		from := s.asked
		s.asked += each * runsSessions
		return together(runsSessions, func(session int) error {
			for i := range each {
				if err := s.run(ctx, session, from+i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := all(turns); err != nil {
		return err
	}
	each := n / runsSessions
	took, err := seconds(func() error { return all(each) })
	v.add(name, float64(each*runsSessions)/took)
	return err
}

// acknowledged sends n messages, as many at a time as there are sessions, and adds how long it takes until they are
// acknowledged while others run.
func (s *runsServer) acknowledged(ctx context.Context, n int, v values) error {
	times, from := make([][]float64, runsSessions), s.asked
	each := n / runsSessions
	s.asked += each * runsSessions
	err := together(runsSessions, func(session int) error {
		for i := range each {
			id, start := fmt.Sprintf("ack-%d-%d", session, from+i), time.Now()
			if err := s.chat(ctx, session, id); err != nil {
				return err
			}
			times[session] = append(times[session], milliseconds(time.Since(start)))
			if err := s.call(ctx, "agent.wait", map[string]any{"runId": id, "timeoutMs": 60_000}, nil); err != nil {
				return err
			}
		}
		return nil
	})
	all := slices.Concat(times...)
	v.add("ack", median(all))
	v.add("ack p95", quantile(all, 0.95))
	return err
}

// alone has messages answered one after the other, in changing sessions, and compares each time with the model's own.
func (s *runsServer) alone(ctx context.Context, n int, v values) error {
	measure := func(n int) (over []float64, took float64, err error) {
		took, err = seconds(func() error {
			for range n {
				s.model.took()
				asked := time.Now()
				if err := s.run(ctx, s.asked%runsSessions, s.asked); err != nil {
					return err
				}
				over = append(over, milliseconds(time.Since(asked)-s.model.took()))
				s.asked++
			}
			return nil
		})
		return over, took, err
	}
	if _, _, err := measure(runsWarm); err != nil {
		return err
	}
	over, took, err := measure(n)
	if err != nil {
		return err
	}
	s.model.think(thinkTime)
	defer s.model.think(0)
	thinking, _, err := measure(n / 3)
	v.add("rate alone", float64(n)/took)
	v.add("over", median(over))
	v.add("over p99", quantile(over, 0.99))
	v.add("over think", median(thinking))
	return err
}
