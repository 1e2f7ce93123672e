package ndjson_test

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// benchLine is as long as the lines of real logs are on average.
const benchLine = `{"type":"a2a.response","agentId":"miri","ts":1770985087376,"data":{"fromAgent":"miri","toAgent":"eden",` +
	`"message":"결제 모듈 구현 시작합니다. PR 올리면 알려드릴게요.","replyPreview":"결제 모듈 구현 시작합니다.","turn":1,"maxTurns":5,` +
	`"conversationId":"b76def94-f73c-4dbb-ac50-a9b0419e90b0","messageIntent":"question",` +
	`"workSessionId":"ws_a198c9f9-21b5-44b7-a5e9-2003d9f44d7b","taskId":"task_2d4f409454129039aa09"}}` + "\n"

func BenchmarkParseLine(b *testing.B) {
	for name, line := range map[string]string{
		"canonical": benchLine,
		"original":  strings.Replace(benchLine, `"ts":`, `"timestampMs":`, 1),
	} {
		b.Run(name, func(b *testing.B) {
			text := []byte(line)
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, rejection := ndjson.ParseLine(text); rejection != nil {
					b.Fatal(rejection.Reason)
				}
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}

// BenchmarkImport is everything but the store.
func BenchmarkImport(b *testing.B) {
	text := strings.Repeat(benchLine, 20_000)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		im := ndjson.New(ndjson.Options{
			Log:    discarding{newLog()},
			Stream: func(string, string, []byte, []byte) string { return "log" },
		})
		if _, err := im.Import(b.Context(), strings.NewReader(text), "bench"); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(20_000*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
}

type discarding struct{ eventstore.Store }

func (discarding) Append(context.Context, ...eventstore.StreamAppend) (eventstore.Result, error) {
	return eventstore.Result{}, nil
}

func BenchmarkExport(b *testing.B) {
	const events = 1000
	for _, format := range []ndjson.Format{ndjson.FormatOpenclaw, ndjson.FormatFull} {
		b.Run(string(format), func(b *testing.B) {
			log := newLog()
			im := ndjson.New(options(log))
			if _, err := im.Import(b.Context(), strings.NewReader(strings.Repeat(benchLine, events)), "bench"); err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ndjson.Export(b.Context(), log, io.Discard, ndjson.ExportOptions{Format: format}); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(events*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
		})
	}
}
