package continuer_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// BenchmarkLook checks agents that need nothing: without tasks, with one started just now, and with a backlog that cannot begin.
func BenchmarkLook(b *testing.B) {
	for name, prepare := range map[string]func(c *crew, agent string){
		"no tasks": func(*crew, string) {},
		"one task": func(c *crew, agent string) { c.starts(agent, "tile the roof", "buy tiles", "lay tiles") },
		"backlog": func(c *crew, agent string) {
			for i := range 100 {
				c.does(agent, "task_backlog_add", map[string]any{"description": fmt.Sprint("paint ", i), "start_date": begin.Add(48 * time.Hour).Format(time.RFC3339)})
			}
		},
	} {
		b.Run(name, func(b *testing.B) {
			c := setup(b, nil, byHand, func(s *a2atest.Setting) { s.Asleep = true })
			for _, agent := range c.Configured() {
				prepare(c, agent)
			}
			b.ResetTimer()
			for b.Loop() {
				c.looks()
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/float64(len(c.Configured())), "us/agent")
		})
	}
}
