//go:build !race

// Under the race detector, a flood of megabytes takes a minute.

package mcp_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/mcp/mcptest"
)

// A server that sends without end in the middle of a call harms that call alone.
func TestFloodHarmsItsCallAlone(t *testing.T) {
	t.Parallel()
	h := setup(t, func(h *fixture) string {
		return `s: ` + h.server(mcptest.Good, ``) + `, o: ` + h.server(mcptest.Good, ``)
	})
	h.says("o__echo", `{"text": "a"}`, "a")
	if said := h.unknown("s__flood", `{}`, "connection"); said == "" {
		t.Error("it does not say why")
	}
	h.says("o__echo", `{"text": "b"}`, "b")
	h.says("s__echo", `{"text": "again"}`, "again")
	if s := h.state("o"); s.Starts != 1 || s.Failures != 0 {
		t.Errorf("%+v", s)
	}
}
