package spawn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// types are the types of events, as far as they concern a job.
func (h *fixture) types(jobID string) (types []string) {
	h.t.Helper()
	conversation := h.flow(jobID).ConversationID
	for _, e := range h.events("a2a.") {
		if e.text("jobId") == jobID || e.text("conversationId") == conversation {
			types = append(types, strings.TrimPrefix(e.Type, "a2a."))
		}
	}
	return types
}

// last is the last event of a type.
func (h *fixture) last(typ string) event {
	h.t.Helper()
	all := h.events(typ)
	if len(all) == 0 {
		h.t.Fatalf("there is no %s", typ)
	}
	return all[len(all)-1]
}

var (
	started = []string{"job.created", "spawn", "send", "spawn_result"}
	ended   = []string{"response", "complete"}
)

func sequence(parts ...any) (all []string) {
	for _, part := range parts {
		switch part := part.(type) {
		case string:
			all = append(all, part)
		case []string:
			all = append(all, part...)
		}
	}
	return all
}

// However a sub-agent ends, there is one response, one completion and one end of the job, and its parent is told once, with the findings
// or why there are none.
//
// Promise: sub-agents
func TestEverySubAgentEndsOnce(t *testing.T) {
	t.Parallel()
	soon := 50 * time.Millisecond
	for name, c := range map[string]struct {
		request          messenger.SpawnRequest
		status           string // of the list
		outcome, message string // of the response
		end              string // of the job
		told             string // to the parent
		skipped          bool
	}{
		"well":      {messenger.SpawnRequest{Task: "look it up"}, "done", "", "echo: look it up", "job.completed", "echo: look it up", false},
		"failed":    {messenger.SpawnRequest{Task: "break now"}, "failed", "failed", "", "job.failed", "Status: failed", false},
		"timed out": {messenger.SpawnRequest{Task: "hang", Run: &soon}, "timeout", "timeout", "", "job.failed", "Status: timed out", false},
		"silent":    {messenger.SpawnRequest{Task: "be silent"}, "done", "", "ANNOUNCE_SKIP", "job.completed", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{})
			job := h.started(c.request).JobID
			h.flowOver(job)
			h.checkEnd(job, sequence(started, ended, c.end), c.outcome, c.message, !c.skipped)
			told := h.told("agent:eden:main")
			if c.skipped {
				if len(told) != 0 {
					t.Errorf("the parent is told: %q", told)
				}
				return
			}
			if diff := cmp.Diff([]string{job + ".p"}, told); diff != "" {
				t.Fatal(diff)
			}
			h.over(job + ".p")
			said := h.events(coordination.TypeSessionMessage)
			said = slices.DeleteFunc(said, func(e event) bool {
				return e.text("sessionKey") != "agent:eden:main" || e.text("author") != "user"
			})
			if len(said) != 1 || !strings.Contains(said[0].text("text"), c.told) {
				t.Errorf("the parent is told %v, want %q once", said, c.told)
			}
			if got := list(h, eden()).Recent; len(got) != 1 || got[0].Status != c.status {
				t.Errorf("it is listed as %+v, want %s", got, c.status)
			}
		})
	}
}

// checkEnd checks what the log says of a flow that is over.
func (h *fixture) checkEnd(job string, types []string, outcome, message string, announced bool) {
	h.t.Helper()
	if diff := cmp.Diff(types, h.types(job)); diff != "" {
		h.t.Error(diff)
	}
	response, complete := h.last(coordination.TypeA2AResponse), h.last(coordination.TypeA2AComplete)
	if got := response.text("outcome"); got != outcome || message != "" && response.text("message") != message {
		h.t.Errorf("the response is %v, want outcome %q, message %q", response.Data, outcome, message)
	}
	if complete.text("outcome") != outcome || complete.Data["announced"] != announced {
		h.t.Errorf("the completion is %v, want outcome %q, announced %v", complete.Data, outcome, announced)
	}
}

// A killed sub-agent reports to no session: its parent knows.
func TestKilledSubAgentEndsOnce(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	job := h.started(messenger.SpawnRequest{Task: "wait for a"}).JobID
	h.arrives("a")
	got, _ := call[killed](h, eden(), "subagents", `{"action":"kill","target":"1"}`)
	if got.Status != "ok" || got.Killed != 1 || got.RunID != job {
		t.Errorf("%+v", got)
	}
	h.flowOver(job)
	h.over(job)
	h.checkEnd(job, sequence(started, "spawn_result", ended, "job.cancelled"), "killed", "", false)
	if e := h.last(coordination.TypeA2ASpawnResult); e.text("status") != "killed" {
		t.Errorf("%v", e.Data)
	}
	if told := h.told("agent:eden:main"); len(told) != 0 {
		t.Errorf("the parent is told: %q", told)
	}
	if again, _ := call[killed](h, eden(), "subagents", `{"action":"kill","target":"`+job+`"}`); again.Status != "done" || again.Killed != 0 {
		t.Errorf("killed twice: %+v", again)
	}
}

// What a restart interrupts goes on, and ends once like everything else, also if it happens between the end and the notice of it.
func TestSubAgentSurvivesRestart(t *testing.T) {
	t.Parallel()
	for name, task := range map[string]string{"well": "wait for a", "failed": "hang, then break"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{})
			job := h.started(messenger.SpawnRequest{Task: task}).JobID
			if task == "wait for a" {
				h.arrives("a")
			} else {
				h.until("it runs", func() bool { return len(h.events(coordination.TypeRunStarted)) == 1 })
			}
			h.crash()

			h = openAt(t, h.path, setting{script: `{"when": {"matches": "^hang"}, "answer": {"fault": {"class": "rejected", "message": "it breaks"}}},`})
			h.opens("a")
			row := h.flowOver(job)
			end := "job.completed"
			if task != "wait for a" {
				end = "job.failed"
			}
			types := slices.DeleteFunc(h.types(job), func(typ string) bool { return typ == "job.resumed" || typ == "job.running" })
			if diff := cmp.Diff(sequence(started, ended, end), types); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff([]string{job + ".p"}, h.told("agent:eden:main")); diff != "" {
				t.Error(diff)
			}
			h.over(job + ".p")
			h.crash()

			h = openAt(t, h.path, setting{})
			if again := h.flow(job); again.EndedAt != row.EndedAt || len(h.events(coordination.TypeA2AComplete)) != 1 {
				t.Errorf("it ends again: %+v", again)
			}
		})
	}
}

// Seed: a parent whose session is deleted cannot be told, nor can a finished sub-agent: its own parent is told.
func TestTheOneAboveIsToldWhereTheParentIsGone(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 2}`})
	spoken := eden()
	spoken.Channel, spoken.To = "discord", "channel:1"
	parent := h.started(messenger.SpawnRequest{From: spoken, Task: "wait for parent"})
	h.arrives("parent")
	from := caller(parent.ChildSessionKey)
	first := h.started(messenger.SpawnRequest{From: from, Task: "wait for first"}).JobID
	second := h.started(messenger.SpawnRequest{From: from, Task: "wait for second"}).JobID

	h.opens("first")
	h.flowOver(first)
	if diff := cmp.Diff([]string{first + ".p"}, h.told(parent.ChildSessionKey)); diff != "" {
		t.Errorf("a parent that works is told: %s", diff)
	}
	h.opens("parent")
	h.flowOver(parent.JobID)
	h.opens("second")
	h.flowOver(second)
	h.over(second + ".p")
	if diff := cmp.Diff([]string{parent.JobID + ".p", second + ".p"}, h.told("agent:eden:main")); diff != "" {
		t.Errorf("a parent that is done is told: %s", diff)
	}
	for _, e := range h.events(coordination.TypeRunQueued) {
		at, depth := e.text("sessionKey"), e.Data["depth"]
		switch {
		case e.text("cause") != "subagent":
		case at == "agent:eden:main" && (e.text("channel") != "discord" || e.text("to") != "channel:1" || e.Data["deliver"] != true || depth != nil),
			at == parent.ChildSessionKey && (e.text("channel") != "" || depth != 1.0):
			t.Errorf("%v", e.Data)
		}
	}
}

// A parent whose session is deleted, and that has no parent itself, starts again: the result of its sub-agent is not lost.
func TestTheResultOutlivesTheSession(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 2}`})
	alone := caller("agent:eden:subagent:by-hand") // made by other means
	h.queue("r1", alone.SessionKey, "hello", "")
	h.over("r1")
	job := h.started(messenger.SpawnRequest{From: alone, Task: "wait for a"}).JobID
	h.arrives("a")
	h.remove(alone.SessionKey)
	h.opens("a")
	h.flowOver(job)
	if diff := cmp.Diff([]string{job + ".p"}, h.told(alone.SessionKey)); diff != "" {
		t.Fatal(diff)
	}
	h.over(job + ".p")
	if h.session(alone.SessionKey) == nil {
		t.Error("it has not started again")
	}
}

// B15: where a parent's session does not take the result of its sub-agent, or a restart interrupts the run about it, nothing is said
// twice.
func TestBug15_AnAnnounceThatFailsRepeatsNothing(t *testing.T) {
	t.Parallel()
	once := func(t *testing.T, h *fixture) {
		t.Helper()
		for _, typ := range []string{coordination.TypeA2ASend, coordination.TypeA2AResponse, coordination.TypeA2AComplete} {
			if n := len(h.events(typ)); n != 1 {
				t.Errorf("%d times %s", n, typ)
			}
		}
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		h := setup(t, setting{})
		h.patch("agent:eden:main", `{"sendPolicy":"deny"}`)
		h.flowOver(h.started(messenger.SpawnRequest{Task: "look"}).JobID)
		once(t, h)
		if e := h.last(coordination.TypeA2AComplete); e.Data["announced"] != false || e.text("outcome") != "" || e.text("error") == "" {
			t.Errorf("%v", e.Data)
		}
		if e := h.last(coordination.TypeA2ADispatchFailed); e.text("targetSessionKey") != "agent:eden:main" || e.text("code") != "send_denied" {
			t.Errorf("%v", e.Data)
		}
	})
	t.Run("broken off", func(t *testing.T) {
		t.Parallel()
		h := setup(t, setting{script: `{"when": {"contains": ["A subagent has finished"]}, "answer": {"toolCalls": [{"name": "gate", "arguments": {"name": "p"}}]}},`})
		job := h.started(messenger.SpawnRequest{Task: "look"}).JobID
		h.arrives("p")
		h.crash()
		h = openAt(t, h.path, setting{})
		h.opens("p") // the run goes on there
		h.until("it was told again", func() bool {
			for _, e := range h.events(coordination.TypeRunEnded) {
				if e.text("sessionKey") == "agent:eden:main" {
					return true
				}
			}
			return false
		})
		once(t, h)
		if diff := cmp.Diff([]string{job + ".p"}, h.told("agent:eden:main")); diff != "" {
			t.Error(diff)
		}
	})
}
