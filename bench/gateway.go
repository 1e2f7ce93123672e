package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// Sizes of one round of the gateway benchmark. Requests are in flight on a few connections, because one client sends
// one after the other.
const (
	gatewaySessions    = 100
	gatewayInFlight    = 16
	gatewayConnections = 4
	gatewayListings    = 8_000
	gatewayHealths     = 60_000
	gatewayCrowd       = 2_000
	gatewayBroadcasts  = 20
	historyAnswers     = 100
	historyLimit       = 1_000 // messages of an answer
)

const gatewayToken = "bench"

// gatewayConfig is openclaw.json of the measured gateway.
const gatewayConfig = `{ "gateway": { "auth": { "mode": "token", "token": "` + gatewayToken + `" } },
  "agents": { "list": [ { "id": "main", "default": true }, { "id": "eden" }, { "id": "seum" } ] } }
`

// runGateway measures the gateway of a server over the big log: time to hello, request rate, and the cost of many
// clients.
func runGateway(ctx context.Context, b *bench) error {
	h, err := b.searchable(ctx, b.Events)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(string(h), "openclaw.json"), []byte(gatewayConfig), 0o600); err != nil {
		return err
	}
	messages := b.of(1_200, 10_000)
	if err := b.serving(ctx, h, func(s *server) error { return s.fillSessions(ctx, messages) }, withGateway); err != nil {
		return fmt.Errorf("make sessions: %w", err)
	}
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return b.serving(ctx, h, func(s *server) error { return s.measureGateway(ctx, v) }, withGateway)
	}, func(v values) []figure {
		note := fmt.Sprintf("%d events, %s", b.Events, b.medians())
		flight := fmt.Sprintf("%d in flight on %d connections", gatewayInFlight, gatewayConnections)
		return []figure{
			within("gateway.hello", v.mid("hello"), "ms", 100, "from the start of the process until a client has hello-ok; "+note),
			within("gateway.rss.idle", v.mid("idle MB"), "MB", 75, "resident set after that hello-ok; "+note),
			reaches("gateway.sessions.list", v.mid("sessions.list"), "requests/s", 9_000,
				fmt.Sprintf("sessions.list of %d sessions, all rows, %s, %d requests; %s", gatewaySessions, flight, gatewayListings, note)),
			reaches("gateway.health", v.mid("health"), "requests/s", 45_000, fmt.Sprintf("health, %s, %d requests; %s", flight, gatewayHealths, note)),
			within("gateway.chat.history", v.mid("chat.history"), "ms", 4,
				fmt.Sprintf("chat.history of %d of %d messages, one client, median of %d; %s", historyLimit, messages, historyAnswers, note)),
			within("gateway.crowd.open", v.mid("crowd"), "s", 0.7, fmt.Sprintf("until %d clients, %d at a time, have hello-ok; %s", gatewayCrowd, dialers, note)),
			within("gateway.crowd.rss", v.mid("crowd MB"), "MB", 140, fmt.Sprintf("resident set with %d clients connected, after all of the above; %s", gatewayCrowd, note)),
			within("gateway.broadcast.all", v.mid("broadcast"), "ms", 45,
				fmt.Sprintf("from the call of chat.inject until the last of %d clients on the same machine has its event, median of %d; %s", gatewayCrowd, gatewayBroadcasts, note)),
		}
	})
}

// historyKey is the session with many messages.
const historyKey = "agent:main:bench-0"

// fillSessions makes the sessions that are listed, and many messages in one of them.
func (s *server) fillSessions(ctx context.Context, messages int) error {
	for i := range gatewaySessions {
		key := fmt.Sprintf("agent:%s:bench-%d", []string{"main", "eden", "seum"}[i%3], i)
		err := s.call(ctx, "sessions.patch", map[string]any{"key": key, "label": fmt.Sprintf("bench %d", i), "thinkingLevel": "low"}, nil)
		if err == nil {
			err = s.inject(ctx, key, topics[i%len(topics)][0])
		}
		if err != nil {
			return err
		}
	}
	return spread(gatewayInFlight, 0, messages-1, func(i int) error {
		return s.inject(ctx, historyKey, fmt.Sprintf("%d: %s", i, topics[i%len(topics)][1]))
	})
}

func (s *server) inject(ctx context.Context, session, message string) error {
	return s.call(ctx, "chat.inject", map[string]any{"sessionKey": session, "message": message}, nil)
}

func (s *server) measureGateway(ctx context.Context, v values) error {
	idle, err := s.rss()
	if err != nil {
		return err
	}
	if err := s.listsAll(ctx); err != nil {
		return err
	}
	v.add("hello", milliseconds(s.hello))
	v.add("idle MB", idle)
	for _, q := range []struct {
		method string
		n      int
	}{{"sessions.list", gatewayListings}, {"health", gatewayHealths}} {
		rate, err := askRate(ctx, s.socket, q.method, q.n)
		if err != nil {
			return err
		}
		v.add(q.method, rate)
	}
	if err := s.measureHistory(ctx, v); err != nil {
		return err
	}
	return s.measureCrowd(ctx, v)
}

func (s *server) measureHistory(ctx context.Context, v values) error {
	var times []float64
	for range historyAnswers {
		var payload json.RawMessage
		took, err := seconds(func() (err error) {
			payload, err = s.client.Call(ctx, "chat.history", map[string]any{"sessionKey": historyKey, "limit": historyLimit})
			return err
		})
		if err != nil {
			return err
		}
		var answer struct{ Messages []struct{} } // decoded outside of the measured time: the client has the answer
		if err := json.Unmarshal(payload, &answer); err != nil || len(answer.Messages) != historyLimit {
			return errors.Join(fmt.Errorf("chat.history returns %d messages, want %d", len(answer.Messages), historyLimit), err)
		}
		times = append(times, took*1000)
	}
	v.add("chat.history", median(times))
	return nil
}

func (s *server) listsAll(ctx context.Context) error {
	var list struct {
		Count    int
		Sessions []struct{}
	}
	err := s.call(ctx, "sessions.list", nil, &list)
	if err == nil && (list.Count < gatewaySessions || len(list.Sessions) != list.Count) {
		err = fmt.Errorf("sessions.list returns %d rows and counts %d, want %d", len(list.Sessions), list.Count, gatewaySessions)
	}
	return err
}

func (s *server) measureCrowd(ctx context.Context, v values) error {
	crowd, took, err := gather(ctx, s.socket, gatewayCrowd)
	defer crowd.leave()
	if err != nil {
		return err
	}
	rss, err := s.rss()
	if err != nil {
		return err
	}
	v.add("crowd", took.Seconds())
	v.add("crowd MB", rss)
	var times []float64
	for i := range gatewayBroadcasts {
		start := time.Now()
		if err := s.inject(ctx, historyKey, fmt.Sprintf("to all %d", i)); err != nil {
			return err
		}
		last, err := crowd.heard(ctx, i+1)
		if err != nil {
			return err
		}
		times = append(times, milliseconds(last.Sub(start)))
	}
	v.add("broadcast", median(times))
	return nil
}
