package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/wire"
)

// benchmarkList asks for all rows of 100 sessions, from many clients at a time.
func benchmarkList(b *testing.B, params string, prepare ...func(*bundle)) {
	g := setup(b)
	for i := range 100 {
		g.patch(b, fmt.Sprintf(`{"key":"agent:eden:session-%d","label":"label %d","thinkingLevel":"high"}`, i, i))
		g.say(b, fmt.Sprintf("agent:eden:session-%d", i), `"author":"user","text":"a question of some length, as people ask"`)
		g.tick(time.Millisecond)
	}
	if n := want[list](b, g, "sessions.list", params).Count; n != 100 {
		b.Fatalf("%d rows", n)
	}
	for _, one := range prepare {
		one(g)
	}
	call := &wire.Call{Peer: g.as(), Method: "sessions.list", Params: json.RawMessage(params)}
	b.ReportAllocs()
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := g.server.Answer(context.Background(), call); err != nil {
				b.Error(err)
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// Nothing changes between the questions, so what the database says of that is all that is read.
func BenchmarkListUnchanged(b *testing.B) { benchmarkList(b, `{}`) }

// What depends on the time is read again for each question.
func BenchmarkListUncached(b *testing.B) { benchmarkList(b, `{"activeMinutes":1000000}`) }

// Something waits and runs meanwhile.
func BenchmarkListBusy(b *testing.B) {
	benchmarkList(b, `{}`, func(g *bundle) {
		g.runs = newStage(g)
		g.reopen(b)
		for i := range 3 {
			g.waits(b, fmt.Sprintf("agent:eden:session-%d", i), fmt.Sprint(i))
		}
	})
}

// BenchmarkHistory reads the 200 newest messages.
func BenchmarkHistory(b *testing.B) {
	g := setup(b)
	g.say(b, "agent:eden:s1", numbered(250, `"author":"user","text":"message %d, of the length that messages have"`)...)
	b.ReportAllocs()
	call := &wire.Call{Peer: g.as(), Method: "chat.history", Params: json.RawMessage(`{"sessionKey":"agent:eden:s1"}`)}
	for b.Loop() {
		if _, err := g.server.Answer(context.Background(), call); err != nil {
			b.Fatal(err)
		}
	}
}
