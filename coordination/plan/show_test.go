package plan_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
)

func TestHowPlansAreShown(t *testing.T) {
	t.Parallel()
	const (
		known = `{"id":"plan_0123456789abcdef0123","agentId":"eden","taskId":"task_1","title":"로그인 기능","steps":["설계","구현"],` +
			`"toolsRequested":["exec","write"],`
		instant = `"submittedAt":"2026-02-20T08:00:00.000Z"`
		decided = `,"decidedAt":"2026-02-20T08:00:01.000Z","decidedBy":"ruda"`
	)
	for status, want := range map[string]string{
		plan.Pending:  known + `"status":"pending",` + instant + `}`,
		plan.Approved: known + `"status":"approved",` + instant + decided + `}`,
		plan.Rejected: known + `"status":"rejected",` + instant + decided + `,"rejectReason":"너무 크다"}`,
	} {
		same(t, marshal(t, in(t, status).plan.Show()), want)
	}
	s := newStream(t)
	s.happen(coordination.TypePlanSubmitted, "eden", nil)
	same(t, marshal(t, s.plan.Show()), `{"id":"","agentId":"eden","taskId":"","title":"","steps":[],"status":"pending",`+instant+`}`)
}
