package agents_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/projections/agents"
)

// Each status, from the last in precedence to the first: what applies already stays, and one more thing is added.
func TestStatusOf(t *testing.T) {
	t.Parallel()
	s := agents.Situation{Now: 1_000, Configured: true, Tasks: map[string]int{coordination.StatePending: 1, coordination.StateBacklog: 1}}
	for _, c := range []struct {
		add  func()
		want agents.Status
	}{
		{func() {}, agents.Idle},
		{func() { s.Tasks[coordination.StateInterrupted] = 1 }, agents.Interrupted},
		{func() { s.Tasks[coordination.StateInProgress] = 1 }, agents.Working},
		{func() { s.Tasks[coordination.StateBlocked] = 1 }, agents.Working}, // it goes on with the other task
		{func() { s.Tasks[coordination.StatePendingApproval] = 1 }, agents.Waiting},
		{func() { delete(s.Tasks, coordination.StatePendingApproval) }, agents.Working},
		{func() { s.Plans = 1 }, agents.Waiting},
		{func() { s.Plans = 0 }, agents.Working},
		{func() { s.Asking = 1 }, agents.Waiting},
		{func() { delete(s.Tasks, coordination.StateInProgress) }, agents.Blocked},
		{func() { s.Run = &agents.Run{State: run.Queued} }, agents.Queued},
		{func() { s.Calls = 1 }, agents.Waiting}, // the run is parked until a person decides
		{func() { s.Calls = 0 }, agents.Queued},
		{func() { s.Until = 1_000 }, agents.Queued}, // it is over
		{func() { s.Until = 1_001 }, agents.Backoff},
		{func() { s.Offline = true }, agents.Offline},
		{func() { s.Run = &agents.Run{State: run.Running} }, agents.Running},
		{func() { s.Configured = false }, agents.Unconfigured},
	} {
		c.add()
		if got := agents.StatusOf(&s); got != c.want {
			t.Errorf("%s, want %s: %+v", got, c.want, s)
		}
	}
}
