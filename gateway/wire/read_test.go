package wire_test

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// readers are methods that note when what they have answered was read.
type readers struct {
	mu   sync.Mutex
	read []string // ids of requests
	news chan string
}

func (r *readers) methods() book {
	return book{"x.echo": echo, "x.read": func(_ context.Context, call *wire.Call) (any, error) {
		call.Interim(json.RawMessage(`"answer"`))
		call.Later()
		call.Read(func() {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.read = append(r.read, call.ID)
			r.news <- call.ID
		})
		return nil, nil
	}}
}

func (r *readers) expect(t *testing.T, ids ...string) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !slices.Equal(r.read, ids) {
		t.Errorf("%q were read, want %q", r.read, ids)
	}
}

// What waits until an answer was read is done when the ping behind it is answered, or a later one, once and in order.
func TestReadIsShownByPongs(t *testing.T) {
	t.Parallel()
	r := &readers{news: make(chan string, 10)}
	g := serve(t, setup{methods: r.methods(), options: func(o *wire.Options) { o.ReadTime = time.Hour }})
	c := g.enter(t)
	var pings []string
	c.SetPingHandler(func(text string) error {
		pings = append(pings, text)
		return nil
	})
	pong := func(text string) {
		t.Helper()
		if err := c.WriteControl(websocket.PongMessage, []byte(text), time.Now().Add(patience)); err != nil {
			t.Fatal(err)
		}
		c.ask("x.echo", params{}) // what was sent before it was heard
	}
	var ids []string
	for range 4 {
		ids = append(ids, c.send("x.read", params{}))
		if got := c.answer(ids[len(ids)-1]); string(got.Payload) != `"answer"` {
			t.Fatalf("%+v", got)
		}
	}
	for tries := 0; len(pings) < 4; tries++ { // each comes soon after its answer
		if tries == 10_000 {
			t.Fatalf("pings %q", pings)
		}
		c.ask("x.echo", params{})
	}
	r.expect(t)
	pong("")
	pong("no number")
	pong("-1")
	r.expect(t)
	pong(pings[0])
	r.expect(t, ids[0])
	pong(pings[2])
	pong(pings[1])
	r.expect(t, ids[:3]...)
	pong(strconv.Itoa(1 << 40))
	r.expect(t, ids...)
}

// A client that is gone, or answers no ping, is not waited for.
func TestReadIsNotWaitedForForever(t *testing.T) {
	t.Parallel()
	for name, readTime := range map[string]time.Duration{"a client that leaves": time.Hour, "one that answers no ping": time.Millisecond} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &readers{news: make(chan string, 10)}
			g := serve(t, setup{methods: r.methods(), options: func(o *wire.Options) { o.ReadTime = readTime }})
			c := g.enter(t)
			c.SetPingHandler(func(string) error { return nil })
			id := c.send("x.read", params{})
			c.answer(id)
			if readTime == time.Hour {
				r.expect(t)
				_ = c.Close()
			}
			if got := <-r.news; got != id {
				t.Error(got)
			}
			r.expect(t, id)
		})
	}
}
