package spawn_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// A retried delegation keeps its purpose: the note is its reason, and for the sub-agent alone.
func TestARetryKeepsTheWork(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	h.begins("look into it")
	first := h.started(messenger.SpawnRequest{From: anywhere(), Task: "break it"})
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
