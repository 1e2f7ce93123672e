package sqlite_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

type follower interface {
	Wait(ctx context.Context, seq int64) (int64, error)
}

// The first event after a while is told at once; in a busy log a follower is woken at most every 50 ms, and misses
// nothing.
func TestPacedFollowersAreWokenTogether(t *testing.T) {
	t.Parallel()
	for name, follow := range map[string]func(*sqlite.DB) follower{
		"the log":         func(db *sqlite.DB) follower { return db.Paced() },
		"its read models": func(db *sqlite.DB) follower { return db.Trailing() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := openNew(t)
				log := follow(db)
				start, woken := time.Now(), 0
				done := make(chan int64)
				go func() {
					var seq int64
					for seq < 200 {
						var err error
						if seq, err = log.Wait(t.Context(), seq+1); err != nil {
							t.Error(err)
							break
						}
						if woken++; woken == 1 && time.Since(start) > 5*time.Millisecond {
							t.Errorf("the first one was told after %s", time.Since(start))
						}
					}
					done <- seq
				}()
				for range 200 { // in 200 ms
					mustAppend(t, db, send(0))
					<-time.After(time.Millisecond)
				}
				if seq := <-done; seq != 200 || woken < 2 || woken > 6 {
					t.Errorf("woken %d times until event %d", woken, seq)
				}
			})
		})
	}
}
