package wire_test

import (
	"bytes"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// exchange asks for health and reads the answer, and no more than that.
func exchange(b *testing.B, c *conn, question []byte) {
	if err := c.WriteMessage(websocket.TextMessage, question); err != nil {
		b.Error(err)
		return
	}
	if _, _, err := c.ReadMessage(); err != nil {
		b.Error(err)
	}
}

// BenchmarkHealth asks 16 times at the same time, over as many connections.
func BenchmarkHealth(b *testing.B) {
	g := serve(b, setup{})
	var left atomic.Int64
	left.Store(int64(b.N))
	var asking sync.WaitGroup
	clients := make([]*conn, 16)
	for n := range clients {
		clients[n] = g.enter(b, commandLine)
	}
	b.ResetTimer()
	for _, c := range clients {
		asking.Go(func() {
			question := []byte(`{"type":"req","id":"1","method":"health"}`)
			for left.Add(-1) >= 0 {
				exchange(b, c, question)
			}
		})
	}
	asking.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkHealthOneConnection asks 16 times at the same time over one connection.
func BenchmarkHealthOneConnection(b *testing.B) {
	g := serve(b, setup{})
	c := g.enter(b, commandLine)
	question := []byte(`{"type":"req","id":"1","method":"health"}`)
	places := make(chan struct{}, 16)
	var reading sync.WaitGroup
	b.ResetTimer()
	reading.Go(func() {
		for range b.N {
			if _, _, err := c.ReadMessage(); err != nil {
				b.Error(err)
				return
			}
			<-places
		}
	})
	for range b.N {
		places <- struct{}{}
		if err := c.WriteMessage(websocket.TextMessage, question); err != nil {
			b.Fatal(err)
		}
	}
	reading.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// BenchmarkBroadcast tells all clients an event and waits until all have read it.
func BenchmarkBroadcast(b *testing.B) {
	for _, clients := range []int{1, 200} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			g := serve(b, setup{})
			var reading, got sync.WaitGroup
			for range clients {
				c := g.enter(b, commandLine)
				reading.Go(func() {
					for {
						_, text, err := c.ReadMessage()
						if err != nil {
							return
						}
						if bytes.Contains(text, []byte(`"event":"chat"`)) {
							got.Done()
						}
					}
				})
			}
			payload := params{"runId": "r", "state": "delta", "message": params{"role": "assistant", "content": "some words of an answer"}}
			b.ResetTimer()
			for range b.N {
				got.Add(clients)
				g.Broadcast(wire.Event{Name: "chat", Payload: payload})
				got.Wait()
			}
			b.ReportMetric(float64(b.N*clients)/b.Elapsed().Seconds(), "frames/s")
			g.stop()
			reading.Wait()
		})
	}
}

// BenchmarkConnect lets clients in, 16 at the same time, and keeps them.
func BenchmarkConnect(b *testing.B) {
	g := serve(b, setup{options: func(o *wire.Options) { o.MaxClients = 1 << 20 }})
	var connecting sync.WaitGroup
	var left atomic.Int64
	left.Store(int64(b.N))
	b.ResetTimer()
	for range 16 {
		connecting.Go(func() {
			for left.Add(-1) >= 0 {
				g.enter(b, commandLine)
			}
		})
	}
	connecting.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "conn/s")
}
