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

	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/flows"
)

// Fixed sizes of the flows benchmark.
const (
	flowAgents    = 15
	flowLanes     = 24
	flowLimit     = 3 // flows per agent at a time
	flowTurns     = 2
	flowRuns      = 1 + flowTurns // of each flow
	flowThinkTime = 100 * time.Millisecond
	flowSenders   = 32
)

type flowSizes struct {
	many    int // all at once
	alone   int // one after the other
	waiting int // waiting at the same time
}

// flowSizes are small unless the big log is large: a small run only shows that the benchmark works.
func (b *bench) flowSizes() flowSizes {
	const whole = 100_000 // events
	if b.Events < whole {
		return flowSizes{many: 120, alone: 20, waiting: 500}
	}
	return flowSizes{many: 1_000, alone: 100, waiting: 10_000}
}

// flowConfig is openclaw.json of the measured server, without its agents.
const flowConfig = `{ "gateway": { "auth": { "mode": "token", "token": "` + gatewayToken + `" } },
  "tools": { "agentToAgent": { "enabled": true } },
  "session": { "agentToAgent": { "maxPingPongTurns": %d } },
  "agents": { "defaults": { "model": { "primary": "bench/words" }, "maxConcurrent": %[2]d, "nested": { "maxConcurrent": %[2]d },
      "a2aConcurrency": { "maxConcurrentFlows": %d, "queueTimeoutMs": 3600000 } },
    "list": %s },
  "models": { "providers": { "bench": { "baseUrl": %q, "apiKey": "none", "models": [ { "id": "words" } ] } } } }
`

type flowFigures struct {
	ideal, took      float64 // seconds for many flows: what lanes and limits allow, and the actual time
	overhead         float64 // ms beyond the model's own time, per run of a flow, p50
	goroutines, heap float64 // cost of waiting flows; MB
	taken            float64 // flows accepted per second while they wait
}

// runA2A measures flows between agents through a model server in this process.
func runA2A(ctx context.Context, b *bench) ([]figure, error) {
	var list []flowFigures
	for round := range b.Rounds {
		f, err := b.measureFlows(ctx, round)
		if err != nil {
			return nil, err
		}
		b.logf("a2a round %d: %+v", round+1, *f)
		list = append(list, *f)
	}
	of := func(field func(*flowFigures) float64) float64 {
		values := make([]float64, len(list))
		for i := range list {
			values[i] = field(&list[i])
		}
		return median(values)
	}
	n := b.flowSizes()
	note := fmt.Sprintf("synchronous=FULL, OpenAI-compatible server on the same machine, median of %d rounds", b.Rounds)
	ideal := of(func(f *flowFigures) float64 { return f.ideal })
	return []figure{
		atLeast("a2a.flows", float64(n.many)/of(func(f *flowFigures) float64 { return f.took }), "flows/s", float64(n.many)/ideal, 0.8,
			fmt.Sprintf("%d flows of %d runs each over %d agents, %d flows at a time for each, %d lanes, a model that takes %s; the baseline is "+
				"what lanes and limits allow; %s", n.many, flowRuns, flowAgents, flowLimit, flowLanes, flowThinkTime, note)),
		within("a2a.overhead.p50", of(func(f *flowFigures) float64 { return f.overhead }), "ms", 10,
			"per run of a flow, from the request to the event that ends the flow, less the model's time; one flow at a time, a model that "+
				"answers at once; "+note),
		within("a2a.waiting.goroutines", of(func(f *flowFigures) float64 { return f.goroutines }), "goroutines", 100,
			fmt.Sprintf("cost of %d flows that wait for their turn; %s", n.waiting, note)),
		within("a2a.waiting.heap", of(func(f *flowFigures) float64 { return f.heap }), "MB", 50,
			"cost of the same, of the live heap after the newest garbage collection; "+note),
		reaches("a2a.waiting.taken", of(func(f *flowFigures) float64 { return f.taken }), "flows/s", 300, "until all of them were on disk; "+note),
	}, nil
}

func (b *bench) measureFlows(ctx context.Context, round int) (f *flowFigures, err error) {
	model, err := startModel()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.stop()) }()
	f = &flowFigures{}
	s, err := b.startFlows(ctx, fmt.Sprintf("a2a-%d", round), model)
	if err != nil {
		return nil, err
	}
	measured := errors.Join(s.alone(ctx, f), s.many(ctx, f))
	if measured == nil {
		measured = s.wait(ctx, f)
	}
	return f, errors.Join(measured, s.close())
}

// flowServer is a server whose agents send messages to each other.
type flowServer struct {
	*runsServer
	sizes flowSizes
	sent  int // flows
}

func (b *bench) startFlows(ctx context.Context, name string, m *model) (*flowServer, error) {
	home := filepath.Join(b.Dir, name)
	return b.startFlowsOn(ctx, home, filepath.Join(home, "openclawd.db"), m)
}

// startFlowsOn is startFlows for a database that may exist already.
func (b *bench) startFlowsOn(ctx context.Context, home, db string, m *model) (*flowServer, error) {
	agents := make([]map[string]any, flowAgents)
	for i := range agents {
		agents[i] = map[string]any{"id": flowAgent(i), "default": i == 0}
	}
	list, err := json.Marshal(agents)
	if err != nil {
		return nil, err
	}
	settings := fmt.Appendf(nil, flowConfig, flowTurns, flowLanes, flowLimit, list, m.url)
	if err := errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "openclaw.json"), settings, 0o600)); err != nil {
		return nil, err
	}
	s, c, _, err := b.startGateway(ctx, db, home)
	if err != nil {
		return nil, err
	}
	return &flowServer{runsServer: &runsServer{server: s, client: c, model: m, db: db}, sizes: b.flowSizes()}, nil
}

func flowAgent(i int) string { return fmt.Sprintf("agent-%d", i%flowAgents) }

func (s *flowServer) close() error { return errors.Join(s.client.Close(), s.stop()) }

// send sends a message from one agent to the next, from a session of its own for each flow, without waiting for the
// answer.
func (s *flowServer) send(ctx context.Context, n int) error {
	payload, err := s.client.Call(ctx, "tools.invoke", map[string]any{
		"name": "sessions_send", "sessionKey": fmt.Sprintf("agent:%s:bench-%d", flowAgent(n), n), "idempotencyKey": fmt.Sprintf("flow-%d", n),
		"args": map[string]any{"agentId": flowAgent(n + 1), "message": fmt.Sprintf("let's discuss item %d together", n), "timeoutSeconds": 0},
	})
	if err != nil {
		return err
	}
	var answer struct {
		OK     bool
		Output struct {
			Details struct{ Status string }
		}
	}
	if err := json.Unmarshal(payload, &answer); err != nil || !answer.OK || answer.Output.Details.Status != "accepted" {
		return errors.Join(fmt.Errorf("sessions_send answers %s", payload), err)
	}
	return nil
}

func (s *flowServer) sendAll(ctx context.Context, n int) error {
	errs := make([]error, flowSenders)
	var wg sync.WaitGroup
	for sender := range flowSenders {
		wg.Go(func() {
			for i := s.sent + sender; i < s.sent+n && errs[sender] == nil; i += flowSenders {
				errs[sender] = s.send(ctx, i)
			}
		})
	}
	wg.Wait()
	s.sent += n
	return errors.Join(errs...)
}

// many starts all flows at once, and compares with what lanes and limits allow: each run takes a place in its lane
// while the model thinks, each flow a place at its target.
func (s *flowServer) many(ctx context.Context, f *flowFigures) error {
	s.model.think(flowThinkTime)
	defer s.model.think(0)
	start := time.Now()
	if err := s.sendAll(ctx, s.sizes.many); err != nil {
		return err
	}
	if err := s.ended(ctx, 10*time.Millisecond); err != nil {
		return err
	}
	f.took = time.Since(start).Seconds()
	places := min(flowLanes, flowLimit*flowAgents)
	f.ideal = float64(s.sizes.many*flowRuns) * flowThinkTime.Seconds() / float64(places)
	return nil
}

func (s *flowServer) alone(ctx context.Context, f *flowFigures) error {
	var over []float64
	for range s.sizes.alone {
		s.model.took()
		asked := time.Now()
		if err := s.sendAll(ctx, 1); err != nil {
			return err
		}
		if err := s.ended(ctx, time.Millisecond); err != nil {
			return err
		}
		over = append(over, milliseconds(time.Since(asked)-s.model.took())/flowRuns)
	}
	f.overhead = median(over)
	return nil
}

// wait lets many flows wait while the model is blocked, and measures their cost. The server is closed with them open.
func (s *flowServer) wait(ctx context.Context, f *flowFigures) error {
	s.model.hold()
	defer s.model.release()
	if err := s.sendAll(ctx, 2*flowLimit*flowAgents); err != nil { // excludes the cost of running flows
		return err
	}
	before, err := s.runtime(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := s.sendAll(ctx, s.sizes.waiting); err != nil {
		return err
	}
	f.taken = float64(s.sizes.waiting) / time.Since(start).Seconds()
	after, err := s.runtime(ctx)
	if err != nil {
		return err
	}
	f.goroutines, f.heap = after.goroutines-before.goroutines, (after.heap-before.heap)/1e6
	return nil
}

// ended waits until every sent flow has ended well, polling at the given interval.
func (s *flowServer) ended(ctx context.Context, look time.Duration) (err error) {
	const patience = 5 * time.Minute
	ctx, stop := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not all of %d flows have ended within %s", s.sent, patience))
	defer stop()
	log, err := sqlite.Open(ctx, sqlite.Options{Path: s.db, ReadOnly: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		var well, open int64
		err := log.View(ctx, func(tx *sql.Tx) error {
			counts, err := flows.Count(ctx, tx)
			for _, c := range counts {
				switch {
				case c.Phase != a2a.Over:
					open += c.Flows
				case c.Outcome == "ok":
					well += c.Flows
				}
			}
			return err
		})
		switch {
		case err != nil:
			return err
		case open == 0 && well == int64(s.sent):
			return nil
		case open == 0:
			return fmt.Errorf("%d flows were sent, and %d have ended well", s.sent, well)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
