package server

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/cluster"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// While the shared log cannot be reached, writes are refused with a reason, and reads go on. Afterwards writes go on.
func TestNodeWithoutSharedLog(t *testing.T) {
	t.Parallel()
	way := sharedtest.NewProxy(t, natstest.One(t).Address())
	a := newNodes(t, 2, "nats://"+way.Address()+"/team")
	n := a.list[0]
	n.start(t)
	a.writer(t)
	if err := name(t.Context(), n, "before"); err != nil {
		t.Fatal(err)
	}
	way.Cut()
	var refused *protocol.Error
	if err := name(t.Context(), n, "meanwhile"); !errors.As(err, &refused) || refused.Code != protocol.CodeUnavailable || !refused.Retryable || !strings.Contains(fmt.Sprint(refused.Details), "shared_un") {
		t.Errorf("a write without the shared log: %v, %+v", err, refused)
	}
	eventually(t, "health says so, and reads go on", func() bool {
		text, err := get(t.Context(), n.api+"/api/status")
		return err == nil && strings.Contains(string(text), string(health.CodeSharedUnavailable))
	})
	way.Restore()
	eventually(t, "writes go on", func() bool { return name(t.Context(), n, "after") == nil })
	if s, err := n.status(t.Context()); err != nil || s.Role != cluster.Writer || s.Failures == 0 || s.Commits == 0 {
		t.Errorf("%+v, %v", s, err)
	}
	n.end(t)
}

// name names a session, which appends an event.
func name(ctx context.Context, n *clusterNode, label string) error {
	ctx, stop := context.WithTimeout(ctx, 20*time.Second)
	defer stop()
	c, err := client.Dial(ctx, n.gateway, client.Options{Token: "secret"})
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	_, err = c.Call(ctx, "sessions.patch", map[string]any{"key": "agent:main:named", "label": label})
	return err
}
