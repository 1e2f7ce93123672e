package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
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
)

const gatewayToken = "bench"

// gatewayConfig is openclaw.json of the measured gateway.
const gatewayConfig = `{ "gateway": { "auth": { "mode": "token", "token": "` + gatewayToken + `" } },
  "agents": { "list": [ { "id": "main", "default": true }, { "id": "eden" }, { "id": "seum" } ] } }
`

type gatewayFigures struct {
	hello, idle              float64
	listings, healths        float64
	crowd, crowded, farthest float64
}

// runGateway measures the gateway of a server over the big log: time to hello, request rate, and the cost of many
// clients.
func runGateway(ctx context.Context, b *bench) ([]figure, error) {
	if err := mayOpen(gatewayCrowd + 200); err != nil {
		return nil, err
	}
	big, err := b.bigLog(ctx)
	if err != nil {
		return nil, err
	}
	home := filepath.Join(b.Dir, "gateway-home")
	err = errors.Join(os.MkdirAll(home, 0o700), os.WriteFile(filepath.Join(home, "openclaw.json"), []byte(gatewayConfig), 0o600))
	if err != nil {
		return nil, err
	}
	if err := b.fillGateway(ctx, big.db, home); err != nil {
		return nil, fmt.Errorf("make sessions: %w", err)
	}
	encodings, err := countEncodings(ctx)
	if err != nil {
		return nil, err
	}
	var hello, idle, listings, healths, crowd, crowded, farthest []float64
	for round := range b.Rounds {
		f, err := b.measureGateway(ctx, big.db, home)
		if err != nil {
			return nil, err
		}
		b.logf("gateway round %d: %+v", round+1, *f)
		hello, idle = append(hello, f.hello), append(idle, f.idle)
		listings, healths = append(listings, f.listings), append(healths, f.healths)
		crowd, crowded = append(crowd, f.crowd), append(crowded, f.crowded)
		farthest = append(farthest, f.farthest)
	}
	note := fmt.Sprintf("%d events, median of %d rounds", b.Events, b.Rounds)
	flight := fmt.Sprintf("%d in flight on %d connections", gatewayInFlight, gatewayConnections)
	return []figure{
		within("gateway.hello", median(hello), "ms", 300, "from the start of the process until a client has hello-ok; "+note),
		within("gateway.rss.idle", median(idle), "MB", 80, "resident set after that hello-ok; "+note),
		reaches("gateway.sessions.list", median(listings), "requests/s", 4_000,
			fmt.Sprintf("sessions.list of %d sessions, all rows, %s, %d requests, from SQLite; %s", gatewaySessions, flight, gatewayListings, note)),
		reaches("gateway.health", median(healths), "requests/s", 30_000, fmt.Sprintf("health, %s, %d requests; %s", flight, gatewayHealths, note)),
		within("gateway.crowd.open", median(crowd), "s", 3, fmt.Sprintf("until %d clients, %d at a time, have hello-ok; %s", gatewayCrowd, dialers, note)),
		within("gateway.crowd.rss", median(crowded), "MB", 250, fmt.Sprintf("resident set with %d clients connected, after all of the above; %s", gatewayCrowd, note)),
		within("gateway.broadcast.encodings", encodings, "times", 1, fmt.Sprintf("how often the payload of an event is encoded for %d clients, counted in this process", listeners)),
		within("gateway.broadcast.all", median(farthest), "ms", 250,
			fmt.Sprintf("from the call of chat.inject until the last of %d clients on the same machine has its event, median of %d; %s", gatewayCrowd, gatewayBroadcasts, note)),
	}, nil
}

// startGateway starts a server with a gateway of home and returns a client of it, with the time from the start of the
// process to hello-ok.
func (b *bench) startGateway(ctx context.Context, db, home string) (s *server, c *client.Client, hello time.Duration, err error) {
	start := time.Now()
	s, err = b.startServer(ctx, db, "--state-dir", home, "--gateway", "127.0.0.1:0")
	if err != nil {
		return nil, nil, 0, err
	}
	c, err = client.Dial(ctx, s.gateway, client.Options{Token: gatewayToken})
	if err != nil {
		return nil, nil, 0, errors.Join(err, s.stop())
	}
	return s, c, time.Since(start), nil
}

// fillGateway creates the sessions that are listed, and waits until the background work of a first start is done.
func (b *bench) fillGateway(ctx context.Context, db, home string) (err error) {
	s, c, _, err := b.startGateway(ctx, db, home)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close(), s.stop()) }()
	for i := range gatewaySessions {
		key := fmt.Sprintf("agent:%s:bench-%d", []string{"main", "eden", "seum"}[i%3], i)
		if _, err := c.Call(ctx, "sessions.patch", map[string]any{"key": key, "label": fmt.Sprintf("bench %d", i), "thinkingLevel": "low"}); err != nil {
			return err
		}
		if _, err := c.Call(ctx, "chat.inject", map[string]any{"sessionKey": key, "message": topics[i%len(topics)][0]}); err != nil {
			return err
		}
	}
	return s.fed(ctx, b.Events)
}

func (b *bench) measureGateway(ctx context.Context, db, home string) (f *gatewayFigures, err error) {
	s, c, hello, err := b.startGateway(ctx, db, home)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close(), s.stop()) }()
	f = &gatewayFigures{hello: milliseconds(hello)}
	if f.idle, err = residentMB(s.cmd.Process.Pid); err != nil {
		return nil, err
	}
	if err := listsAll(ctx, c); err != nil {
		return nil, err
	}
	if f.listings, err = askRate(ctx, s.gateway, "sessions.list", gatewayListings); err != nil {
		return nil, err
	}
	if f.healths, err = askRate(ctx, s.gateway, "health", gatewayHealths); err != nil {
		return nil, err
	}
	return f, b.measureCrowd(ctx, s, c, f)
}

func listsAll(ctx context.Context, c *client.Client) error {
	payload, err := c.Call(ctx, "sessions.list", nil)
	if err != nil {
		return err
	}
	var list struct {
		Count    int               `json:"count"`
		Sessions []json.RawMessage `json:"sessions"`
	}
	if err := json.Unmarshal(payload, &list); err != nil {
		return err
	}
	if list.Count < gatewaySessions || len(list.Sessions) != list.Count {
		return fmt.Errorf("sessions.list returns %d rows and counts %d, want %d", len(list.Sessions), list.Count, gatewaySessions)
	}
	return nil
}

func (b *bench) measureCrowd(ctx context.Context, s *server, c *client.Client, f *gatewayFigures) error {
	crowd, took, err := gather(ctx, s.gateway, gatewayCrowd)
	defer crowd.leave()
	if err != nil {
		return err
	}
	f.crowd = took.Seconds()
	if f.crowded, err = residentMB(s.cmd.Process.Pid); err != nil {
		return err
	}
	var times []float64
	for i := range gatewayBroadcasts {
		start := time.Now()
		message := map[string]any{"sessionKey": "agent:main:bench-0", "message": fmt.Sprintf("to everybody %d", i)}
		if _, err := c.Call(ctx, "chat.inject", message); err != nil {
			return err
		}
		last, err := crowd.heard(ctx, i+1)
		if err != nil {
			return err
		}
		times = append(times, milliseconds(last.Sub(start)))
	}
	f.farthest = median(times)
	return nil
}
