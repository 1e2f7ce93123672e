package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
)

// dialers is how many clients of a crowd connect at a time.
const dialers = 64

type crowd struct {
	mu      sync.Mutex
	members []*client.Client
	chats   int           // chat events received by all of them together
	last    time.Time     // when the newest of these arrived
	more    chan struct{} // wakes the waiting goroutine; has room for one value
}

// gather connects n clients and returns how long that took.
func gather(ctx context.Context, url string, n int) (*crowd, time.Duration, error) {
	g := &crowd{more: make(chan struct{}, 1)}
	start := time.Now()
	err := spread(dialers, 0, n, func(int) error { return g.join(ctx, url) })
	return g, time.Since(start), err
}

func (g *crowd) join(ctx context.Context, url string) error {
	c, err := client.Dial(ctx, url, client.Options{Token: gatewayToken, Scopes: []string{"operator.read"}, Event: g.hear})
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.members = append(g.members, c)
	return nil
}

func (g *crowd) hear(e client.Event) {
	if e.Name != "chat" {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.chats++
	g.last = time.Now()
	if g.chats%len(g.members) == 0 {
		g.more <- struct{}{}
	}
}

// heard waits until every client has received so many chat events, and returns when the last one arrived.
func (g *crowd) heard(ctx context.Context, events int) (time.Time, error) {
	patience := time.NewTimer(30 * time.Second)
	defer patience.Stop()
	select {
	case <-g.more:
	case <-patience.C:
		return time.Time{}, fmt.Errorf("chat event %d has not reached all of %d clients", events, len(g.members))
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last, nil
}

func (g *crowd) leave() {
	_ = together(len(g.members), func(i int) error { return g.members[i].Close() })
}
