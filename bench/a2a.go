package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
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

// flowConfig is openclaw.json of the measured server, without its agents.
const flowConfig = `{ "gateway": { "auth": { "mode": "token", "token": "` + gatewayToken + `" } },
  "tools": { "agentToAgent": { "enabled": true } },
  "session": { "agentToAgent": { "maxPingPongTurns": %d } },
  "agents": { "defaults": { "model": { "primary": "bench/words" }, "maxConcurrent": %[2]d, "nested": { "maxConcurrent": %[2]d },
      "a2aConcurrency": { "maxConcurrentFlows": %d, "queueTimeoutMs": 3600000 } },
    "list": %s },
  "models": { "providers": { "bench": { "baseUrl": %q, "apiKey": "none", "models": [ { "id": "words" } ] } } } }
`

// Amounts of one round: flows all at once, one after the other, and waiting at the same time.
func (b *bench) manyFlows() int   { return b.of(120, 1_000) }
func (b *bench) flowsAlone() int  { return b.of(20, 100) }
func (b *bench) queuedFlows() int { return b.of(500, 10_000) }

// runA2A measures flows between agents through a model server in this process.
func runA2A(ctx context.Context, b *bench) error {
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		h, err := b.newHome("")
		if err != nil {
			return err
		}
		return b.withFlows(ctx, h, func(s *flowServer) error {
			if err := s.alone(ctx, b.flowsAlone(), v); err != nil {
				return err
			}
			if err := s.many(ctx, b.manyFlows(), v); err != nil {
				return err
			}
			return s.wait(ctx, b.queuedFlows(), v)
		})
	}, func(v values) []figure {
		note := "synchronous=FULL, OpenAI-compatible server on the same machine, " + b.medians()
		return []figure{
			atLeast("a2a.flows", v.mid("rate"), "flows/s", v.mid("ideal"), 0.8,
				fmt.Sprintf("%d flows of %d runs each over %d agents, %d flows at a time for each, %d lanes, a model that takes %s; the baseline is "+
					"what lanes and limits allow; %s", b.manyFlows(), flowRuns, flowAgents, flowLimit, flowLanes, flowThinkTime, note)),
			within("a2a.overhead.p50", v.mid("over"), "ms", 10,
				"per run of a flow, from the request to the event that ends the flow, less the model's time; one flow at a time, a model that "+
					"answers at once; "+note),
			within("a2a.waiting.goroutines", v.mid("goroutines"), "goroutines", 20,
				fmt.Sprintf("cost of %d flows that wait for their turn; %s", b.queuedFlows(), note)),
			within("a2a.waiting.heap", v.mid("heap MB"), "MB", 15, "cost of the same, of the live heap after the newest garbage collection; "+note),
			reaches("a2a.waiting.taken", v.mid("taken"), "flows/s", 800, "until all of them were on disk; "+note),
		}
	})
}

// flowServer is a server whose agents send messages to each other.
type flowServer struct {
	*server
	home  home
	model *model
	sent  int // flows
}

// withFlows calls do with a server on a home, and a model of its own.
func (b *bench) withFlows(ctx context.Context, h home, do func(*flowServer) error) error {
	agents := make([]map[string]any, flowAgents)
	for i := range agents {
		agents[i] = map[string]any{"id": flowAgent(i), "default": i == 0}
	}
	list, err := json.Marshal(agents)
	if err != nil {
		return err
	}
	return withModel(ctx, func(m *model) error {
		settings := fmt.Appendf(nil, flowConfig, flowTurns, flowLanes, flowLimit, list, m.url)
		if err := os.WriteFile(filepath.Join(string(h), "openclaw.json"), settings, 0o600); err != nil {
			return err
		}
		return b.serving(ctx, h, func(s *server) error { return do(&flowServer{server: s, home: h, model: m}) }, withGateway)
	})
}

func flowAgent(i int) string { return fmt.Sprintf("agent-%d", i%flowAgents) }

// send sends a message from one agent to the next, from a session of its own for each flow, without waiting for the
// answer.
func (s *flowServer) send(ctx context.Context, n int) error {
	var answer struct {
		OK     bool
		Output struct{ Details struct{ Status string } }
	}
	err := s.call(ctx, "tools.invoke", map[string]any{
		"name": "sessions_send", "sessionKey": fmt.Sprintf("agent:%s:bench-%d", flowAgent(n), n), "idempotencyKey": fmt.Sprintf("flow-%d", n),
		"args": map[string]any{"agentId": flowAgent(n + 1), "message": fmt.Sprintf("let's discuss item %d together", n), "timeoutSeconds": 0},
	}, &answer)
	if err == nil && (!answer.OK || answer.Output.Details.Status != "accepted") {
		err = fmt.Errorf("sessions_send answers %+v", answer)
	}
	return err
}

func (s *flowServer) sendAll(ctx context.Context, n int) error {
	err := spread(flowSenders, s.sent, n, func(i int) error { return s.send(ctx, i) })
	s.sent += n
	return err
}

// many starts all flows at once, and compares with what lanes and limits allow: each run takes a place in its lane
// while the model thinks, each flow a place at its target.
func (s *flowServer) many(ctx context.Context, n int, v values) error {
	s.model.think(flowThinkTime)
	defer s.model.think(0)
	took, err := seconds(func() error {
		if err := s.sendAll(ctx, n); err != nil {
			return err
		}
		return s.ended(ctx, 10*time.Millisecond)
	})
	v.add("rate", float64(n)/took)
	v.add("ideal", float64(min(flowLanes, flowLimit*flowAgents))/(flowRuns*flowThinkTime.Seconds()))
	return err
}

func (s *flowServer) alone(ctx context.Context, n int, v values) error {
	var over []float64
	for range n {
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
	v.add("over", median(over))
	return nil
}

// wait lets many flows wait while the model is blocked, and measures their cost. The server is closed with them open.
func (s *flowServer) wait(ctx context.Context, n int, v values) error {
	s.model.hold()
	defer s.model.release()
	if err := s.sendAll(ctx, 2*flowLimit*flowAgents); err != nil { // excludes the cost of running flows
		return err
	}
	return s.costOf(v, n, func() error { return s.sendAll(ctx, n) })
}

// ended waits until every sent flow has ended well, polling at the given interval.
func (s *flowServer) ended(ctx context.Context, look time.Duration) error {
	return s.home.reading(ctx, func(log *sqlite.DB) error {
		return until(ctx, look, "the end of all flows", func() (bool, error) {
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
			if err == nil && open == 0 && well != int64(s.sent) {
				err = fmt.Errorf("%d flows were sent, and %d have ended well", s.sent, well)
			}
			return open == 0, err
		})
	})
}
