package sharedtest

import (
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/shared"
)

func TestMemoryKeepsThePromises(t *testing.T) {
	t.Parallel()
	Run(t, func(testing.TB) Harness {
		var passed atomic.Int64
		log := NewMemory(func() time.Time { return time.Unix(1_790_000_000, 0).Add(time.Duration(passed.Load())) })
		return Harness{
			Largest: 20 << 20,
			Connect: func(testing.TB) shared.Log { return log },
			Expire:  func(ttl time.Duration) { passed.Add(int64(ttl)) },
		}
	})
}
