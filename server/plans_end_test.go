package server

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

// A plan that waits when its task ends is rejected with it, so that no decision is asked for any more.
func TestPlansEndWithTheirTask(t *testing.T) {
	t.Parallel()
	team := startTeam(t, []string{"ruda", "eden"}, nil)
	started := uses(t, team.client, "eden", "task_start", map[string]any{"description": "repair the roof", "simple": true})
	if a := uses(t, team.client, "eden", "plan_submit", map[string]any{"title": "t", "steps": []string{"a"}, "task_id": started.TaskID}); !a.Success {
		t.Fatalf("submitted: %+v", a)
	}
	if a := uses(t, team.client, "eden", "task_cancel", map[string]any{"task_id": started.TaskID}); !a.Success {
		t.Fatalf("cancelled: %+v", a)
	}
	events, err := team.Program.log.Read(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	rejected := 0
	for _, e := range events {
		if e.Type == coordination.TypePlanRejected && strings.Contains(string(e.Data), `"decidedBy":"openclawd"`) {
			rejected++
		}
	}
	if rejected != 1 {
		t.Errorf("%d plans are rejected with it, want 1", rejected)
	}
}
