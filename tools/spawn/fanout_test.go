package spawn_test

import (
	"context"
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

// status is how alive a work session is, and which threads people see of it.
func (h *fixture) status(name string) (status coordination.Status, threads int) {
	h.t.Helper()
	h.view(func(ctx context.Context, tx *sql.Tx) error {
		id, found, err := conversations.ByName(ctx, tx, name)
		if err != nil || !found {
			return err
		}
		kinds, err := conversations.SelectKinds(ctx, tx, conversations.Scope{})
		if err != nil {
			return err
		}
		sessions, err := conversations.Load(ctx, tx, kinds, []int64{id}, 1_000)
		if err != nil || len(sessions) == 0 {
			return err
		}
		status, threads = sessions[0].Status(float64(h.now().UnixMilli())), len(sessions[0].Threads)
		return nil
	})
	return status, threads
}

// S1 §12.2: what one agent hands to three, and gets back from them, is one work session, with each event for its reader; it is quiet
// when all have answered and the one has read them, and not before.
func TestFanOutAndIn(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `
		{"when": {"matches": "^fan out"}, "answer": {"toolCalls": [
			{"name": "sessions_spawn", "arguments": {"task": "wait for a", "agentId": "seum", "label": "a"}},
			{"name": "sessions_spawn", "arguments": {"task": "wait for b", "agentId": "dajim", "label": "b"}},
			{"name": "sessions_spawn", "arguments": {"task": "wait for c", "label": "c"}}]}},
		{"when": {"after": "tool", "tool": "sessions_spawn"}, "answer": {"text": "three are at it"}},`})
	h.queue("r1", "agent:eden:main", "fan out", "ws_fan")
	if r := h.over("r1"); r.Over.Text != "three are at it" {
		t.Fatalf("%+v", r.Over)
	}
	for i, name := range []string{"a", "b", "c"} {
		h.arrives(name)
		if status, _ := h.status("ws_fan"); status != coordination.StatusActive {
			t.Errorf("%s while %d of 3 work", status, 3-i)
		}
		h.opens(name)
		h.until("it is told", func() bool {
			told := h.told("agent:eden:main")
			return len(told) == i+1 && h.over(told[i]).State.Over()
		})
	}
	if status, _ := h.status("ws_fan"); status != coordination.StatusQuiet {
		t.Errorf("%s when all have answered", status)
	}

	byRole := map[string][]string{}
	for _, e := range h.events("a2a.") {
		if e.text("workSessionId") != "ws_fan" {
			t.Errorf("%s is in work session %q", e.Type, e.text("workSessionId"))
		}
		byRole[e.text("eventRole")] = append(byRole[e.text("eventRole")], e.Type)
	}
	for role, want := range map[string]string{
		"delegation.subagent": "a2a.complete a2a.complete a2a.complete a2a.response a2a.response a2a.response a2a.send a2a.send a2a.send " +
			"a2a.spawn a2a.spawn a2a.spawn a2a.spawn_result a2a.spawn_result a2a.spawn_result",
		"orchestration.task": "a2a.job.completed a2a.job.completed a2a.job.completed a2a.job.created a2a.job.created a2a.job.created",
		"conversation.main":  "",
	} {
		slices.Sort(byRole[role])
		if diff := cmp.Diff(want, strings.Join(byRole[role], " ")); diff != "" {
			t.Errorf("%s: %s", role, diff)
		}
	}

	texts := map[string]bool{}
	for _, e := range h.events(coordination.TypeSessionMessage) {
		if e.text("sessionKey") == "agent:eden:main" && e.text("author") == "user" {
			for _, name := range []string{"a", "b", "c"} {
				texts[name] = texts[name] || strings.Contains(e.text("text"), "found: "+name)
			}
		}
	}
	if len(texts) != 3 || !texts["a"] || !texts["b"] || !texts["c"] {
		t.Errorf("it has heard of %v", texts)
	}
}
