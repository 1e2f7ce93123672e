package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// BenchmarkAnswer asks a server on this machine for an answer of 20 pieces: alone, from 16 lanes, and, to compare, with nothing but net/http.
func BenchmarkAnswer(b *testing.B) {
	stream := strings.Repeat(text("some words "), 20) + frame("{}", "stop") + usageFrame + doneFrame
	p := serve(b, Options{}, sends(stream))
	ask := func(b *testing.B) {
		if _, err := p.Complete(b.Context(), hello(), func(llm.Chunk) {}); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("one lane", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			ask(b)
		}
	})
	b.Run("16 lanes", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(8)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				ask(b)
			}
		})
	})
	b.Run("bare HTTP", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			r, err := http.NewRequest(http.MethodPost, p.baseURL+"/chat/completions", strings.NewReader(`{"model":"echo-1"}`))
			if err != nil {
				b.Fatal(err)
			}
			answer, err := p.http.Do(r)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
	})
}
