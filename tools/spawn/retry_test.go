package spawn_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2a"
)

// A delegation that is tried again is still for the work it was for: why it is tried again is its reason, and the sub-agent's alone.
func TestARetryKeepsTheWork(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	h.begins("look into it")
	first := h.started(a2a.SpawnRequest{From: anywhere(), Task: "break it"})
	h.flowOver(first.JobID)
	v := h.verifies(`{"action":"retry","note":"look closer"}`)
	if !v.Success {
		t.Fatalf("%+v", v)
	}
	h.flowOver(v.RunID)
	last := h.last(coordination.TypeDelegationSpawned)
	if last.text("jobId") != v.RunID || last.text("task") != "break it" {
		t.Errorf("%v", last.Data)
	}
}
