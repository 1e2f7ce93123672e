package jetstream_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
)

func TestOneServerKeepsThePromises(t *testing.T) {
	t.Parallel()
	runOn(t, natstest.One(t), 1)
}

func TestThreeServersKeepThePromises(t *testing.T) {
	t.Parallel()
	runOn(t, natstest.Cluster(t, 3), 3)
}

// runOn runs the suite with a log of its own for each test.
func runOn(t *testing.T, servers *natstest.Servers, replicas int) {
	var logs atomic.Int64
	var storage []string
	if replicas == 1 {
		storage = servers.Dirs
	}
	sharedtest.Run(t, func(testing.TB) sharedtest.Harness {
		name := fmt.Sprint("log-", logs.Add(1))
		connect := func(t testing.TB, url string, opts ...nats.Option) shared.Log {
			t.Helper()
			log, err := jetstream.Open(t.Context(), jetstream.Options{URL: url, Name: name, Replicas: replicas, Connect: opts})
			if err != nil {
				t.Fatal(err)
			}
			return log
		}
		return sharedtest.Harness{
			Connect: func(t testing.TB) shared.Log { return connect(t, servers.URL()) },
			Address: servers.Address(),
			Through: func(t testing.TB, way *sharedtest.Proxy) shared.Log {
				return connect(t, "nats://"+way.Address(), nats.IgnoreDiscoveredServers(), nats.DontRandomize())
			},
			Storage: storage,
		}
	})
}
