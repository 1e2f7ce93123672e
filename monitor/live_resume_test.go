package monitor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/monitor"
)

// Clients that break off at any point and come back with the last seq that they have seen get every event once, in order, while the log
// grows under them and others read at their own pace.
//
// Promise: push
func TestLiveResumesWithoutGapOrDuplicate(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	const clients, events = 4, 400
	b := setup(t, func(o *monitor.Options) { o.Push.QueueFrames = 8 })
	b.running(t)
	var wanted []int64 // of events that are told; complete when the writer has ended
	var writer, readers sync.WaitGroup
	writer.Go(func() {
		r := rand.New(rand.NewPCG(seed, 0))
		for n := 0; n < events; {
			var lines []string
			for range 1 + r.IntN(12) {
				n++
				lines = append(lines, event("task.updated", "eden", float64(n), fmt.Sprintf(`"taskId":"t%d"`, n)))
			}
			b.importing(t, lines...)
			if r.IntN(3) == 0 {
				b.appending(t, "run.started", `{"runId":"r"}`)
			}
		}
	})
	got := make([][]int64, clients)
	done := make(chan struct{})
	for i := range clients {
		readers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)+1))
			for {
				seen := &got[i]
				l, _, err := b.handshake(t, fmt.Sprintf("/ws?since=%d", newest(*seen)))
				if err != nil {
					t.Error(err)
					return
				}
				for range 1 + r.IntN(20) {
					f, err := l.read()
					if err != nil {
						break // closed for being slow: reconnecting repairs that too
					}
					*seen = append(*seen, f.seqs(t)...)
					if isDone(done) && newest(*seen) >= newest(wanted) {
						_ = l.Close()
						return
					}
				}
				_ = l.Close()
			}
		})
	}
	writer.Wait()
	page := get[eventPage](t, b, "/api/events?after=0&limit=1000", 200)
	wanted = page.seqs()
	close(done)
	b.importing(t, event("task.updated", "eden", 0, `"taskId":"last"`)) // so that everybody gets a frame that ends the test
	readers.Wait()
	wanted = get[eventPage](t, b, "/api/events?after=0&limit=1000", 200).seqs()
	for i, seqs := range got {
		if !slices.Equal(seqs, wanted[:min(len(seqs), len(wanted))]) || len(seqs) < len(wanted)-1 {
			t.Errorf("seed %d: client %d got %v, want %v", seed, i, seqs, wanted)
		}
	}
}

func newest(seqs []int64) int64 {
	if len(seqs) == 0 {
		return 0
	}
	return seqs[len(seqs)-1]
}

func isDone(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// Every client gets every event in order, however many there are; the log is read once for all of them.
func TestLiveTellsManyClients(t *testing.T) {
	t.Parallel()
	const clients, events = 200, 20
	var log *watched
	b := setup(t, watching(&log))
	b.running(t)
	listeners := make([]*listener, clients)
	for i := range listeners {
		listeners[i] = b.listen(t, "/ws")
	}
	for n := range events {
		b.importing(t, event("task.updated", "eden", float64(n), fmt.Sprintf(`"taskId":"t%d"`, n)))
	}
	var wg sync.WaitGroup
	for _, l := range listeners {
		wg.Go(func() {
			seqs := l.events(t, events)
			for i, seq := range seqs {
				if seq != int64(i+1) {
					t.Errorf("got %v", seqs)
					return
				}
			}
		})
	}
	wg.Wait()
	if reads := log.reads.Load(); reads > events {
		t.Errorf("the log was read %d times", reads)
	}
	if s := b.monitor.PushStats(); s.Clients != clients || s.Dropped != 0 || s.Seq != events || s.QueuedBytes != 0 || s.Frames < clients {
		t.Errorf("%+v", s)
	}
}
