package debugger

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// BenchmarkStep measures, in ms, 200 steps each way and rendering each event, at the end of a long log and of a
// short one. Both should be alike, and below 50. OPENCLAWD_STEP_DB names another log than the generated one of some
// 20,000 events.
func BenchmarkStep(b *testing.B) {
	short := team(b)
	long := short
	if path := os.Getenv("OPENCLAWD_STEP_DB"); path != "" {
		log, err := sqlite.Open(b.Context(), sqlite.Options{Path: path, ReadOnly: true, OlderSchema: true})
		if err != nil {
			b.Fatal(err)
		}
		defer log.Close()
		long = log
	} else {
		long = newLog(b)
		for at := noon.UnixMilli(); headOf(b, long) < 20_000; at += 60_000 {
			projectiontest.Tell(b, long, at).Team()
		}
	}
	for b.Loop() {
		for name, log := range map[string]*sqlite.DB{"short": short, "long": long} {
			head := headOf(b, log)
			start := time.Now()
			m := machineOn(b, Options{Log: log}, head)
			b.ReportMetric(time.Since(start).Seconds(), name+"-open-s")
			var forward, back, shown []float64
			ms := func(list *[]float64, do func() error) {
				start := time.Now()
				if err := do(); err != nil {
					b.Fatal(err)
				}
				*list = append(*list, float64(time.Since(start).Microseconds())/1e3)
			}
			show := func() error { _, err := m.Show(b.Context()); return err }
			steps := min(200, head-1)
			for range steps {
				ms(&back, func() error { return m.Back(b.Context(), nil) })
				ms(&shown, show)
			}
			for range steps {
				ms(&forward, func() error { return m.Forward(b.Context()) })
			}
			for what, list := range map[string][]float64{"back": back, "forward": forward, "show": shown} {
				slices.Sort(list)
				b.ReportMetric(list[len(list)/2], name+"-"+what+"-p50-ms")
				b.ReportMetric(list[len(list)*95/100], name+"-"+what+"-p95-ms")
				b.ReportMetric(list[len(list)-1], name+"-"+what+"-max-ms")
			}
			if err := m.Close(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
