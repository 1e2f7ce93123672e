package push

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/gorilla/websocket"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestFrameIsOneJSONText(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 20, 21, 0, 0, 123_900_000, time.FixedZone("KST", 9*3600))
	for want, m := range map[string]Message{
		`{"type":"event_log","timestamp":"2026-02-20T12:00:00.123Z"}`: {Type: "event_log"},
		`{"type":"task_update","agentId":"eden","taskId":"t<1>","timestamp":"2026-02-20T12:00:00.123Z","data":{"file":"a&b"}}`: {Type: "task_update",
			AgentID: "eden", TaskID: "t<1>", Data: map[string]string{"file": "a&b"}},
		`{"type":"x","timestamp":"2026-02-20T12:00:00.123Z","data":{ "raw": 1e400 }}`:     {Type: "x", Data: json.RawMessage(`{ "raw": 1e400 }`)},
		"{\"type\":\"x\",\"timestamp\":\"2026-02-20T12:00:00.123Z\",\"data\":\"\uFFFD\"}": {Type: "x", Data: json.RawMessage("\"\xff\"")},
	} {
		text, err := encode(m, now)
		if err != nil || string(text) != want {
			t.Errorf("%s %v, want %s", text, err, want)
		}
	}
	if _, err := encode(Message{Type: "x", Data: math.NaN()}, now); err == nil || !strings.Contains(err.Error(), "data of x") {
		t.Errorf("what is no JSON: %v", err)
	}
}

func TestFarewellFitsIntoItsFrame(t *testing.T) {
	t.Parallel()
	for _, f := range []closeReason{tooSlow, restarted, failed} {
		message := f.message(math.MaxInt64)
		var reason struct {
			Code string
			Seq  int64
		}
		if err := json.Unmarshal(message[2:], &reason); err != nil || len(message) > 125 || !utf8.Valid(message[2:]) ||
			reason.Code != string(f) || reason.Seq != math.MaxInt64 {
			t.Errorf("%q: %v", message, err)
		}
	}
}

func TestQueueIsBounded(t *testing.T) {
	t.Parallel()
	var total atomic.Int64
	q := newQueue(3, 100, &total)
	large, small := &frame{size: 1_000}, &frame{size: 10}
	if !q.put(large) {
		t.Error("an empty queue has no room")
	}
	if q.put(small) {
		t.Error("a queue has room beyond its bytes")
	}
	if f, _ := q.take(); f != large || total.Load() != 0 {
		t.Errorf("%+v, %d bytes wait", f, total.Load())
	}
	fits := []bool{q.put(small, small), q.put(small, small), q.put(small), q.put(small)}
	if !slices.Equal(fits, []bool{true, false, true, false}) || total.Load() != 30 {
		t.Errorf("a queue of 3 frames takes %v and holds %d bytes", fits, total.Load())
	}
	q.finish(tooSlow)
	q.finish(failed)
	if f, end := q.take(); f != nil || end != tooSlow || total.Load() != 0 {
		t.Errorf("%v %q %d", f, end, total.Load())
	}
	if !q.put(small) || total.Load() != 0 {
		t.Error("a queue that has ended keeps something")
	}
}

func TestQueueEndsBetweenPages(t *testing.T) {
	t.Parallel()
	var total atomic.Int64
	q := newQueue(4, 100, &total)
	first, second, third := &frame{size: 10, more: true}, &frame{size: 60, more: true}, &frame{size: 10, seq: 1}
	q.put(first, second, third)
	q.take()
	q.put(&frame{size: 10, seq: 2})
	q.finish(tooSlow)
	if q.finish(restarted); q.halfFull() || total.Load() != 70 {
		t.Errorf("others wait for a queue that has ended: %v; %d bytes wait", q.halfFull(), total.Load())
	}
	for _, want := range []*frame{second, third, nil} {
		if f, end := q.take(); f != want || (end == tooSlow) != (want == nil) {
			t.Errorf("%+v %q instead of %+v", f, end, want)
		}
	}
	for taken := range 3 {
		q := newQueue(4, 100, &total)
		q.put(first, second, third)
		for range taken {
			q.take()
		}
		q.forget()
		if f, end := q.take(); f != nil || end != failed || total.Load() != 0 {
			t.Errorf("%d taken: %+v %q, %d bytes wait", taken, f, end, total.Load())
		}
	}
}

// book is a log in which each event is a page of three frames.
type book struct{ read func() }

func (b *book) Wait(_ context.Context, seq int64) (int64, error) { return seq, nil }

func (b *book) Page(_ context.Context, after, _ int64) (*Page, error) {
	if b.read != nil {
		b.read()
	}
	page := &Page{Seq: after + 1}
	for _, typ := range []string{"event", "again", "hint"} {
		page.Public = append(page.Public, Message{Type: fmt.Sprintf("%s %d", typ, page.Seq)})
	}
	return page, nil
}

// Wherever a connection is closed, the place to go on has just what has been told before it.
func TestPageIsToldWholeBeforeTheGoodbye(t *testing.T) {
	t.Parallel()
	all := []string{"event 1", "again 1", "hint 1", "event 2", "again 2", "hint 2"}
	for _, end := range []closeReason{tooSlow, restarted} {
		for told := range len(all) + 1 {
			frames, place := toldUntil(t, end, func(h *Hub, _ *book, c *client) {
				c.live = true
				for h.seq < 2 {
					if err := h.spread(t.Context(), 2); err != nil {
						t.Error(err)
					}
				}
				for range told {
					if f, _ := c.queue.take(); f == nil || c.write(f) != nil {
						t.Errorf("no frame but %+v", f)
					}
				}
				c.queue.finish(end)
			})
			if want := (told + 2) / 3; place != int64(want) || !slices.Equal(frames, all[:3*want]) {
				t.Errorf("%s after %d frames: told %q, to go on at %d", end, told, frames, place)
			}
		}
		frames, place := toldUntil(t, end, func(h *Hub, b *book, c *client) {
			h.seq = 2
			b.read = func() { c.queue.finish(end) }
		})
		if place != 1 || !slices.Equal(frames, all[:3]) {
			t.Errorf("%s while catching up: told %q, to go on at %d", end, frames, place)
		}
	}
}

// toldUntil prepares and serves a client and returns the types of the frames that it gets, and the place that the goodbye says.
func toldUntil(t *testing.T, want closeReason, prepare func(*Hub, *book, *client)) (frames []string, place int64) {
	t.Helper()
	served := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(served)
		b := &book{}
		h := New(b, Options{})
		s, err := upgrade(w, r, &h.opts)
		if err != nil {
			t.Error(err)
			return
		}
		c := &client{hub: h, socket: s, queue: newQueue(h.opts.QueueFrames, h.opts.QueueBytes, &h.queued)}
		h.clients[c] = struct{}{}
		defer h.forget(c)
		prepare(h, b, c)
		c.serve()
	}))
	defer s.Close()
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(s.URL, "http"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = conn.Close()
		<-served
	}()
	for {
		var f struct{ Type string }
		err := conn.ReadJSON(&f)
		if err == nil {
			frames = append(frames, f.Type)
			continue
		}
		var goodbye *websocket.CloseError
		var reason struct {
			Code closeReason
			Seq  int64
		}
		if !errors.As(err, &goodbye) || json.Unmarshal([]byte(goodbye.Text), &reason) != nil || reason.Code != want {
			t.Fatalf("no goodbye but %v", err)
		}
		return frames, reason.Seq
	}
}

func TestHugeFramesMayTakeLonger(t *testing.T) {
	t.Parallel()
	o := Options{WriteTime: time.Second}
	for bytes, want := range map[int]time.Duration{0: time.Second, 1<<20 - 1: time.Second, 1 << 20: 2 * time.Second, 30 << 20: 31 * time.Second} {
		if got := o.writeTime(bytes); got != want {
			t.Errorf("%d bytes may take %v, want %v", bytes, got, want)
		}
	}
}

// What was queued for a live client must not be read by it once more.
func TestLiveClientReadsNothingByItself(t *testing.T) {
	t.Parallel()
	h := New(nil, Options{})
	h.seq = 3
	for _, c := range []struct {
		client client
		live   bool
	}{
		{client{seq: 2, live: true}, true}, // a page came between its last look at its queue and now
		{client{seq: 3}, true},
		{client{seq: 2}, false},
	} {
		if upTo, live, moved := h.join(&c.client); live != c.live || upTo != 3 || (moved == nil) != c.live {
			t.Errorf("%+v: live %v up to %d", c.client, live, upTo)
		}
	}
}
