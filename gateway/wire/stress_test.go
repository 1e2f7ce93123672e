package wire_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// visits are how often clients come in any order.
var visits = testscale.Of[int64](60, 400)

// Clients that come, ask, stall, hang up and misbehave in any order, while events are told, access changes and the gateway ends in the middle
// of it: every request that is answered is answered right and once, events come in their order, and in the end nothing is left.
func TestAnythingInAnyOrder(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g := serve(t, setup{narrow: true, options: func(o *wire.Options) {
		o.MaxInFlight, o.QueueFrames, o.QueueBytes, o.AskedBytes, o.RequestBytes = 4, 64, 64<<10, 256<<10, 8<<10
		o.MaxAtDoor, o.MaxClients = 6, 24
		o.DrainTime, o.CloseTime = 50*time.Millisecond, 50*time.Millisecond
	}, methods: book{
		"x.echo": echo,
		"x.large": func(context.Context, *wire.Call) (any, error) {
			return strings.Repeat("x", 32<<10), nil
		},
		"x.twice": func(_ context.Context, call *wire.Call) (any, error) {
			call.Interim(params{"status": "accepted"})
			return params{"status": "ok"}, nil
		},
		"x.panics": func(context.Context, *wire.Call) (any, error) { panic("x") },
		"x.waits": func(ctx context.Context, _ *wire.Call) (any, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
	}})
	over := make(chan struct{})
	var all sync.WaitGroup
	var steps, right atomic.Int64
	for n := range 12 {
		all.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			for {
				select {
				case <-over:
					return
				default:
					steps.Add(1)
					g.visit(t, r, &right)
				}
			}
		})
	}
	all.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
				g.Broadcast(wire.Event{Name: "chat", Payload: params{"n": n}, Droppable: n%2 == 0})
				g.Configure(wire.Access{Mode: "token", Token: token})
				g.Note(wire.Presence{Text: fmt.Sprint(n % 5)})
				for _, p := range g.Peers() {
					g.Send(wire.Event{Name: "agent"}, p.ConnID)
				}
			}
		}
	})
	least, most := visits/10, 20*visits
	g.until(t, "enough has happened", func(s wire.Stats) bool {
		n := steps.Load()
		return n >= visits && s.Greeted >= least && right.Load() >= least || n >= most
	})
	if greeted, answers := g.Stats().Greeted, right.Load(); greeted < least || answers < least {
		t.Errorf("after %d visits %d were let in and %d requests answered as they should be, want %d of each", steps.Load(), greeted, answers, least)
	}
	g.stop()
	g.Broadcast(wire.Event{Name: "chat"}) // without clients
	close(over)
	all.Wait()
	if s := g.Stats(); s.Clients != 0 || s.Peers != 0 || s.InFlight != 0 || s.QueuedBytes != 0 || g.Asked() != 0 || g.AtDoor() != 0 {
		t.Errorf("%+v, %d bytes were asked for, %d are at the door", s, g.Asked(), g.AtDoor())
	}
}

// visit does what clients do, for a while. right counts what is answered as it should be.
func (g *gate) visit(t *testing.T, r *rand.Rand, right *atomic.Int64) {
	ws, answer, err := websocket.DefaultDialer.Dial("ws://"+g.addr, nil)
	if answer != nil {
		_ = answer.Body.Close()
	}
	if err != nil {
		return // there is no room, or no gateway
	}
	defer ws.Close()
	c := &conn{Conn: ws, t: t}
	if r.IntN(6) == 0 { // never says a word, or nothing right
		_ = ws.WriteMessage(websocket.TextMessage, []byte(`{}`)[:r.IntN(3)])
		_, _ = c.tryRead()
		return
	}
	if f, err := c.tryRead(); err != nil || f.Event != "connect.challenge" {
		return
	}
	if ws.WriteJSON(params{"type": "req", "id": "c", "method": "connect", "params": connect()}) != nil {
		return
	}
	if f, err := c.tryRead(); err != nil || f.ID != "c" {
		return
	}
	asked := map[string]string{}
	for n := range r.IntN(20) {
		method := []string{"x.echo", "x.echo", "health", "x.large", "x.twice", "x.panics", "x.waits", "x.unknown"}[r.IntN(8)]
		id := fmt.Sprint(n)
		if method != "x.waits" {
			asked[id] = method
		}
		if ws.WriteJSON(params{"type": "req", "id": id, "method": method, "params": params{"n": n, "pad": strings.Repeat("p", r.IntN(4<<10))}}) != nil {
			return
		}
	}
	switch r.IntN(4) {
	case 0: // hangs up with all of it under way
	case 1:
		_ = ws.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1000, ""), time.Now().Add(patience))
		_, _ = c.tryRead()
	default:
		right.Add(c.hearAll(asked))
	}
}

// hearAll reads the answers to what was asked, for a moment: requests that wait for the end may hold up the others. It returns how many were
// as they should be.
func (c *conn) hearAll(asked map[string]string) (answers int64) {
	seq, twice := int64(0), map[string]bool{}
	_ = c.SetReadDeadline(time.Now().Add(100 * time.Millisecond))
	for len(asked) > 0 {
		kind, text, err := c.ReadMessage()
		var f said
		if err != nil || kind != websocket.TextMessage {
			return answers
		}
		if err := json.Unmarshal(text, &f); err != nil {
			c.t.Error(errors.Join(err, errors.New(string(text))))
			return answers
		}
		if f.Seq != nil {
			if *f.Seq <= seq {
				c.t.Errorf("event %d after %d", *f.Seq, seq)
			}
			seq = *f.Seq
		}
		if f.Type != "res" {
			continue
		}
		method, known := asked[f.ID]
		isRight := map[string]bool{
			"x.echo": strings.HasPrefix(string(f.Payload), `{"n":`+f.ID+`,`), "health": f.OK, "x.large": len(f.Payload) == 32<<10+2,
			"x.twice": f.OK, "x.panics": !f.OK, "x.unknown": !f.OK,
		}[method]
		switch {
		case !known && f.Error == nil:
			c.t.Errorf("answered again: %.100s", text)
		case known && !isRight && (f.Error == nil || f.Error.Message != context.Canceled.Error()):
			c.t.Errorf("%s: %.100s", method, text)
		case method == "x.twice" && !twice[f.ID]:
			twice[f.ID] = true
		default:
			delete(asked, f.ID)
			if isRight {
				answers++
			}
		}
	}
	return answers
}
