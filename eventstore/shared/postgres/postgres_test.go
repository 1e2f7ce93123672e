//go:build unix

package postgres_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/postgres"
	"github.com/pronto-lab/openclawd/eventstore/shared/postgres/pgtest"
	"github.com/pronto-lab/openclawd/eventstore/shared/sharedtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestServerKeepsThePromises(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t)
	if server == nil {
		return
	}
	var logs atomic.Int64
	sharedtest.Run(t, func(testing.TB) sharedtest.Harness {
		name := fmt.Sprint("log_", logs.Add(1))
		connect := func(t testing.TB, address string) shared.Log {
			t.Helper()
			log, err := postgres.Open(t.Context(), postgres.Options{URL: server.URL(address), Name: name})
			if err != nil {
				t.Fatal(err)
			}
			return log
		}
		return sharedtest.Harness{
			Connect: func(t testing.TB) shared.Log { return connect(t, server.Address) },
			Address: server.Address,
			Largest: testscale.Of(5, 20) << 20,
			Through: func(t testing.TB, way *sharedtest.Proxy) shared.Log { return connect(t, way.Address()) },
		}
	})
}
