package route_test

import (
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/route"
)

// BenchmarkDecide is one decision for 50 bots, each of which remembers 50 messages.
func BenchmarkDecide(b *testing.B) {
	for _, text := range []string{"프론트엔드 진행 어때?", "@eden @seum PR #42 확인해줘, src/route/decide.go:12 와 https://x.dev/a 를 보고 루다한테도 알려줘"} {
		b.Run(fmt.Sprintf("%d_bytes", len(text)), func(b *testing.B) {
			w := discord(b)
			for i := len(w.s.Bots); i < 50; i++ {
				w.s.Bots = append(w.s.Bots, route.Bot{
					UserID: fmt.Sprint(1100 + i), AccountID: fmt.Sprintf("acc%d", i), Agent: fmt.Sprintf("agent%d", i), Name: fmt.Sprintf("에이전트%d", i),
				})
			}
			for range 60 {
				w.says("human", channel, "@dajim 이것 좀 봐줘")
			}
			s := w.s
			s.Message = w.message("human", channel, text)
			b.ReportAllocs()
			for b.Loop() {
				d := route.Decide(&s)
				if len(d.Verdicts) != 50 {
					b.Fatalf("%d verdicts", len(d.Verdicts))
				}
			}
		})
	}
}
