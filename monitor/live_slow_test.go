package monitor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/push"
)

func signal(happened chan<- struct{}) func() {
	return func() {
		select {
		case happened <- struct{}{}:
		default:
		}
	}
}

// A client that has stopped reading costs the others nothing: they get each event before the next one is even stored. It is closed with
// the place where it can go on, and going on there leaves nothing out.
//
// Promise: push
func TestLiveStalledClientBlocksNoOther(t *testing.T) {
	t.Parallel()
	dropped := make(chan struct{}, 1)
	b := setup(t, func(o *monitor.Options) {
		o.Push.QueueBytes = 64 << 10
		o.Push.Dropped = signal(dropped)
	})
	b.narrow(t)
	b.running(t)
	stalled, healthy := b.listen(t, "/ws"), b.listen(t, "/ws")
	note := fmt.Sprintf(`{"taskId":"t1","note":%q}`, strings.Repeat("x", 10<<10))
	var last int64
	for !isDone(dropped) {
		last = b.appending(t, "task.updated", note)
		if seqs := healthy.events(t, last); !slices.Equal(seqs, []int64{last}) {
			t.Fatalf("the healthy client got %v instead of %d", seqs, last)
		}
		if last > 500 {
			t.Fatal("no client was dropped")
		}
	}
	if s := b.monitor.PushStats(); s.Dropped != 1 || s.QueuedBytes != 0 {
		t.Errorf("%+v", s)
	}
	seen, status, code, resume := stalled.farewell(t)
	if status != websocket.CloseTryAgainLater || code != "slow" || resume != newest(seen) || resume >= last {
		t.Errorf("closed with %d %q at %d after %v of %d", status, code, resume, seen, last)
	}
	seen = append(seen, b.listen(t, fmt.Sprintf("/ws?since=%d", resume)).events(t, last)...)
	for i, seq := range seen {
		if seq != int64(i+1) {
			t.Fatalf("got %v", seen)
		}
	}
}

// A client that is closed between an event and what follows it gets that first: the place where it can go on lies behind both.
func TestLiveSlowClientMissesNothingOfAPage(t *testing.T) {
	t.Parallel()
	dropped := make(chan struct{}, 1)
	b := setup(t, func(o *monitor.Options) {
		o.Push.QueueBytes = 64 << 10
		o.Push.Dropped = signal(dropped)
	})
	b.narrow(t)
	b.running(t)
	l := b.listen(t, "/ws")
	last := b.appending(t, "continuation.sent", fmt.Sprintf(`{"taskId":"t1","note":%q}`, strings.Repeat("x", 2<<20)))
	_, r, err := l.NextReader() // it has started, and cannot end: it exceeds the buffers of a connection
	if err != nil {
		t.Fatal(err)
	}
	b.monitor.Publish(push.Message{Type: "task_update"})
	if !isDone(dropped) {
		t.Fatal("the client has not been dropped")
	}
	var events pushed
	if err := json.NewDecoder(r).Decode(&events); err != nil || !slices.Equal(events.seqs(t), []int64{last}) {
		t.Fatalf("%v: %v", events.seqs(t), err)
	}
	if f := l.next(t); f.Type != "continuation_event" || f.Data.EventType != "continuation.sent" {
		t.Errorf("%s instead of what continues", f.Type)
	}
	if seqs, status, code, resume := l.farewell(t); len(seqs) != 0 || status != websocket.CloseTryAgainLater || code != "slow" || resume != last {
		t.Errorf("%v %d %q, to go on at %d", seqs, status, code, resume)
	}
}

// An event too large for any queue is encoded once for all waiting clients, not once for each.
func TestLiveStalledClientsShareAHugeEvent(t *testing.T) {
	t.Parallel()
	const clients, size = 10, 4 << 20 // more than what a connection holds on its way
	var log *watched
	b := setup(t, watching(&log))
	b.narrow(t)
	last := b.appending(t, "task.updated", fmt.Sprintf(`{"note":%q}`, strings.Repeat("x", size)))
	b.running(t)
	var latest io.Reader
	for range clients {
		_, r, err := b.listen(t, "/ws?since=0").NextReader() // it has started
		if err != nil {
			t.Fatal(err)
		}
		latest = r
	}
	if reads := log.reads.Load(); reads != 1 {
		t.Errorf("the log was read %d times", reads)
	}
	var f pushed
	if err := json.NewDecoder(latest).Decode(&f); err != nil || !slices.Equal(f.seqs(t), []int64{last}) {
		t.Errorf("%v: %v", f.seqs(t), err)
	}
}

// Messages beside the log are bounded in the same way, also for a client that is still catching up.
func TestLivePublishNeverBlocks(t *testing.T) {
	t.Parallel()
	dropped := make(chan struct{}, 2)
	b := setup(t, func(o *monitor.Options) {
		o.Push.QueueFrames = 10
		o.Push.Dropped = signal(dropped)
	})
	b.monitor.Publish(push.Message{Type: "task_update"}) // before Run: without clients
	b.narrow(t)
	for n := range 40 {
		b.importing(t, event("task.updated", "eden", float64(n), fmt.Sprintf(`"note":%q`, strings.Repeat("x", 100<<10))))
	}
	b.running(t)
	b.listen(t, "/ws")
	b.listen(t, "/ws?since=0")
	for range 2 {
		for n := 0; !isDone(dropped); n++ {
			b.monitor.Publish(push.Message{Type: "task_update", Data: strings.Repeat("x", 10<<10)})
			if n > 100_000 {
				t.Fatal("no client was dropped")
			}
		}
	}
}

// A server that shuts down tells every client where to resume, and does not wait for those that do not read.
func TestLiveEndsWithAPlaceToGoOn(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Push.CloseTime = 300 * time.Millisecond })
	b.narrow(t)
	stop := b.running(t)
	stalled, healthy := b.listen(t, "/ws"), b.listen(t, "/ws")
	last := b.appending(t, "task.updated", fmt.Sprintf(`{"note":%q}`, strings.Repeat("x", 1<<20)))
	healthy.events(t, last)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		stop()
	}()
	seqs, status, code, resume := healthy.farewell(t)
	if len(seqs) != 0 || status != websocket.CloseServiceRestart || code != "restart" || resume != last {
		t.Errorf("%v %d %q %d, want to go on at %d", seqs, status, code, resume, last)
	}
	<-ended
	if _, err := stalled.read(); err == nil {
		t.Error("the stalled client got a frame that was cut")
	}
}

// A client that answers pings stays, however long nothing happens, and whatever the HTTP server's own deadlines are. One that does not
// is gone.
func TestLivePingsItsClients(t *testing.T) {
	t.Parallel()
	serving := func(pongWait time.Duration) *testBundle {
		b := setup(t, func(o *monitor.Options) { o.Push.PingEvery, o.Push.PongWait = 50*time.Millisecond, pongWait })
		s := httptest.NewUnstartedServer(b.monitor.Handler())
		s.Config.ReadTimeout, s.Config.WriteTimeout, s.Config.IdleTimeout = 2*time.Second, 2*time.Second, 2*time.Second
		s.Start()
		t.Cleanup(s.Close)
		b.url = s.URL
		b.running(t)
		return b
	}
	b := serving(testscale.Patience)
	alive, silent := b.listen(t, "/ws"), serving(time.Second).listen(t, "/ws")
	silent.SetPingHandler(func(string) error { return nil })
	gone := make(chan error, 1)
	go func() {
		var err error
		for err == nil {
			_, err = silent.read()
		}
		gone <- err
	}()
	const enough = 50 // more than the deadlines are long
	pings, answer := 0, alive.PingHandler()
	last := int64(0)
	alive.SetPingHandler(func(data string) error {
		if pings++; pings == enough {
			last = b.appending(t, "task.started", `{"taskId":"t1"}`)
		}
		return answer(data)
	})
	if f := alive.next(t); !slices.Equal(f.seqs(t), []int64{last}) || pings < enough {
		t.Errorf("%v after %d pings", f.seqs(t), pings)
	}
	if err := <-gone; websocket.IsCloseError(err, websocket.CloseTryAgainLater) {
		t.Errorf("the silent client: %v", err)
	}
}

// Messages of clients are read and dropped; a client that sends too much at once is disconnected.
func TestLiveForgetsWhatClientsSay(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.running(t)
	polite, rude := b.listen(t, "/ws"), b.listen(t, "/ws")
	for range 50 {
		if err := polite.WriteMessage(websocket.TextMessage, []byte(`{"type":"subscribe"}`)); err != nil {
			t.Fatal(err)
		}
	}
	last := b.appending(t, "task.started", `{"taskId":"t1"}`)
	polite.events(t, last)
	rude.events(t, last)
	_ = rude.WriteMessage(websocket.BinaryMessage, bytes.Repeat([]byte("x"), 200<<10))
	if _, status, _, _ := rude.farewell(t); status != websocket.CloseMessageTooBig {
		t.Errorf("status %d", status)
	}
}

// What cannot be read is told once it can be, to those who follow; those who catch up are told to come back.
func TestLiveSurvivesALogThatCannotBeRead(t *testing.T) {
	t.Parallel()
	var log *watched
	b := setup(t, watching(&log))
	b.running(t)
	l := b.listen(t, "/ws")
	log.failures.Store(1)
	last := b.appending(t, "task.started", `{"taskId":"t1"}`)
	if seqs := l.events(t, last); !slices.Equal(seqs, []int64{last}) {
		t.Errorf("got %v", seqs)
	}
	log.failures.Store(1)
	r := b.listen(t, "/ws?since=0")
	if seqs, status, code, resume := r.farewell(t); len(seqs) != 0 || status != websocket.CloseInternalServerErr || code != "failed" || resume != 0 {
		t.Errorf("%v %d %q %d", seqs, status, code, resume)
	}
	b.listen(t, "/ws?since=0").events(t, last)
}
