package spawn_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// undertaken is the task that task_start says.
type undertaken struct {
	TaskID        string `json:"taskId"`
	WorkSessionID string `json:"workSessionId"`
}

// begins has eden begin a task.
func (h *fixture) begins(description string) undertaken {
	h.t.Helper()
	got, out := call[undertaken](h, anywhere(), "task_start", `{"description":"`+description+`"}`)
	if out.IsError || got.TaskID == "" || got.WorkSessionID == "" {
		h.t.Fatalf("task_start: %s", out.Text)
	}
	return got
}

// anywhere is a caller in agent eden's main session, without a work session.
func anywhere() tool.Caller {
	c := eden()
	c.WorkSessionID = ""
	return c
}

// judged is what task_verify says.
type judged struct {
	Success      bool   `json:"success"`
	Code         string `json:"code"`
	Hint         string `json:"hint"`
	TaskID       string `json:"taskId"`
	Version      int64  `json:"version"`
	Duplicate    bool   `json:"duplicate"`
	DelegationID string `json:"delegationId"`
	Delegation   string `json:"delegationStatus"`
	RetryCount   int    `json:"retryCount"`
	RunID        string `json:"runId"`
	Delegations  struct {
		Total      int  `json:"total"`
		Failed     int  `json:"failed"`
		Verified   int  `json:"verified"`
		AllSettled bool `json:"allSettled"`
	} `json:"delegations"`
}

// verifies calls task_verify in the name of eden.
func (h *fixture) verifies(args string, change ...func(*tool.Caller)) judged {
	h.t.Helper()
	c := anywhere()
	for _, with := range change {
		with(&c)
	}
	got, _ := call[judged](h, c, "task_verify", args)
	return got
}

// moves are what has happened to a delegation, in order.
func (h *fixture) moves(delegationID string) string {
	h.t.Helper()
	var moves []string
	for _, e := range h.events("delegation.") {
		if e.text("delegationId") == delegationID {
			moves = append(moves, strings.TrimPrefix(e.Type, "delegation."))
		}
	}
	return strings.Join(moves, " ")
}

// wantMoves fails the test unless that has happened to a delegation.
func (h *fixture) wantMoves(delegationID, want string) {
	h.t.Helper()
	if diff := cmp.Diff(want, h.moves(delegationID)); diff != "" {
		h.t.Errorf("delegation %s: %s", delegationID, diff)
	}
}

// The start of a sub-agent records its delegation, and its progress, before the end of the flow: after that nothing is expected.
func TestADelegationComesOnWithItsFlow(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	task := h.begins("look into it")
	got := h.started(messenger.SpawnRequest{From: anywhere(), Task: "wait for a", Label: "scout", Agent: "seum"})
	if got.TaskID != task.TaskID || got.WorkSessionID != task.WorkSessionID || got.DelegationID != got.JobID {
		t.Fatalf("%+v of %+v", got, task)
	}
	h.arrives("a")
	h.wantMoves(got.JobID, "spawned running")
	list, _ := call[struct {
		Active []struct{ DelegationID, TaskID string }
	}](h, anywhere(), "subagents", `{}`)
	if len(list.Active) != 1 || list.Active[0].DelegationID != got.JobID || list.Active[0].TaskID != task.TaskID {
		t.Errorf("listed %+v", list)
	}
	h.opens("a")
	h.flowOver(got.JobID)

	var order []string
	for _, e := range h.events("") {
		if e.text("workSessionId") == task.WorkSessionID && !strings.HasPrefix(e.Type, "run.") && !strings.HasPrefix(e.Type, "session.") {
			order = append(order, e.Type)
		}
	}
	want := []string{"task.started", "a2a.job.created", "a2a.spawn", "a2a.send", "a2a.spawn_result", "delegation.spawned", "delegation.running",
		"a2a.response", "delegation.completed", "a2a.complete", "a2a.job.completed"}
	if diff := cmp.Diff(want, order); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	told := h.events("delegation.")
	for i, want := range []map[string]any{
		{"task": "wait for a", "label": "scout", "targetSessionKey": got.ChildSessionKey, "status": "spawned", "maxRetries": 3.0},
		{"status": "running"}, {"status": "completed", "snapshot": "found: a"},
	} {
		for name, value := range want {
			if told[i].Data[name] != value {
				t.Errorf("%s has %s %v, want %v", told[i].Type, name, told[i].Data[name], value)
			}
		}
		if e := told[i]; e.text("fromAgent") != "eden" || e.text("toAgent") != "seum" || e.text("jobId") != got.JobID {
			t.Errorf("%s is %v", e.Type, e.Data)
		}
	}
}

// When everything is done and the task is complete, its work session is quiet.
func TestADelegatedTaskEndsQuietly(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	task := h.begins("look into it")
	got := h.started(messenger.SpawnRequest{From: anywhere(), Task: "look"})
	h.flowOver(got.JobID)
	h.until("eden is told", func() bool {
		return len(h.told("agent:eden:main")) == 1 && h.over(h.told("agent:eden:main")[0]).State.Over()
	})
	again := func(c *tool.Caller) { c.CallID = "call_1" }
	for n, repeated := range []bool{false, true} { // the same call is made once
		v := h.verifies(`{}`, again)
		if !v.Success || v.Delegation != "verified" || v.DelegationID != got.JobID || v.Delegations.Verified != 1 || !v.Delegations.AllSettled ||
			v.Duplicate != repeated {
			t.Errorf("%d: %+v", n, v)
		}
	}
	if told := h.events(coordination.TypeTaskVerified); len(told) != 1 {
		t.Errorf("%v", told)
	}
	if status, _ := h.status(task.WorkSessionID); status != coordination.StatusActive {
		t.Errorf("%s while the task is in progress", status)
	}
	if _, out := call[undertaken](h, anywhere(), "task_complete", `{}`); out.IsError {
		t.Errorf("task_complete: %s", out.Text)
	}
	if status, _ := h.status(task.WorkSessionID); status != coordination.StatusQuiet {
		t.Errorf("%s when all is done", status)
	}
}

// A delegation fails with its flow, however that ends, and once.
func TestADelegationFailsWithItsFlow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		task string
		end  func(h *fixture, jobID string)
		want string // part of what it says
	}{
		"it breaks": {"break", func(*fixture, string) {}, "it breaks"},
		"it is killed": {"hang", func(h *fixture, jobID string) {
			if killed, err := h.Stop(h.t.Context(), jobID, "agent/eden", "killed"); err != nil || len(killed) != 1 {
				h.t.Errorf("killed %v, %v", killed, err)
			}
			if killed, err := h.Stop(h.t.Context(), jobID, "agent/eden", "killed"); err != nil || len(killed) != 0 {
				h.t.Errorf("killed again %v, %v", killed, err)
			}
		}, "killed"},
		"it takes too long": {"hang for a while", func(*fixture, string) {}, "longer than"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{tasks: true})
			h.begins("look into it")
			r := messenger.SpawnRequest{From: anywhere(), Task: c.task}
			if strings.Contains(c.task, "for a while") {
				most := 50 * time.Millisecond
				r.Run = &most
			}
			got := h.started(r)
			c.end(h, got.JobID)
			h.flowOver(got.JobID)
			h.wantMoves(got.JobID, "spawned running failed")
			if last := h.last(coordination.TypeDelegationFailed); !strings.Contains(last.text("error"), c.want) {
				t.Errorf("it says %v", last.Data)
			}
		})
	}
}

// Delegations left by an earlier process end once: given up when the program starts, also those started by a flow that was stopped.
func TestADelegationFailsAfterACrash(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	h.begins("look into it")
	got := h.started(messenger.SpawnRequest{From: anywhere(), Task: "wait for a"})
	h.arrives("a")
	h.crash()
	again := reopened(t, h, 2*time.Hour)
	again.flowOver(got.JobID)
	again.wantMoves(got.JobID, "spawned running failed")
	again.crash()
	last := reopened(t, h, 3*time.Hour)
	last.wantMoves(got.JobID, "spawned running failed")
	last.opens("a")
}

// reopened is the same house after a while.
func reopened(t *testing.T, h *fixture, after time.Duration) *fixture {
	t.Helper()
	set := h.set
	set.ahead = after
	return openAt(t, h.path, set)
}

// A sub-agent whose run is refused was delegated and has failed: it can be retried.
func TestADelegationThatIsRefusedARunHasFailed(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true, config: `maxConcurrent: 1`, limits: runqueue.Limits{Waiting: 1}})
	h.begins("look into it")
	for _, id := range []string{"r1", "r2"} {
		h.queue(id, "agent:main:main", "wait for a", "")
		if id == "r1" {
			h.arrives("a")
		}
	}
	got := h.spawn(messenger.SpawnRequest{From: anywhere(), Task: "look"})
	if got.Status != "error" || got.DelegationID != got.JobID {
		t.Fatalf("%+v", got)
	}
	h.wantMoves(got.JobID, "spawned failed")
	types := []string{}
	for _, e := range h.events("") {
		if e.Type == coordination.TypeDelegationFailed || e.Type == coordination.TypeA2AComplete {
			types = append(types, e.Type)
		}
	}
	if !slices.Equal(types, []string{coordination.TypeDelegationFailed, coordination.TypeA2AComplete}) {
		t.Errorf("%v", types)
	}
	h.opens("a")
	h.over("r1")
	h.over("r2")
	if v := h.verifies(`{"action":"retry"}`); !v.Success || v.DelegationID != got.JobID || v.RetryCount != 1 {
		t.Errorf("%+v", v)
	}
}

// A failed delegation is retried as the same one, with the same words and a note, up to the limit; then it can only be abandoned.
func TestARetryIsOnTheSameDelegation(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	task := h.begins("look into it")
	first := h.started(messenger.SpawnRequest{From: anywhere(), Task: "break it", Label: "scout", Agent: "seum", Cleanup: "keep"})
	h.flowOver(first.JobID)
	want := "spawned running failed"
	seen, failed := map[string]bool{first.JobID: true}, first.ConversationID
	for n := 1; n <= 3; n++ {
		v := h.verifies(`{"action":"retry","note":"look closer","taskId":"` + task.TaskID + `"}`)
		if !v.Success || v.DelegationID != first.JobID || v.RetryCount != n || v.RunID == "" || seen[v.RunID] {
			t.Fatalf("retry %d: %+v", n, v)
		}
		seen[v.RunID] = true
		row := h.flowOver(v.RunID)
		if row.ToAgent != "seum" || row.Label != "scout" || row.TaskID != task.TaskID || row.WorkSessionID != task.WorkSessionID {
			t.Errorf("retry %d is %+v", n, row)
		}
		want += " retrying spawned running failed"
		h.wantMoves(first.JobID, want)
		told := h.last(coordination.TypeDelegationRetrying)
		if told.text("reason") != "look closer" || told.text("conversationId") != failed || told.text("workSessionId") != task.WorkSessionID {
			t.Errorf("retry %d, after %s: %v", n, failed, told.Data)
		}
		failed = row.ConversationID
	}
	if created := h.last(coordination.TypeA2AJobCreated); created.text("delegationId") != first.JobID ||
		!strings.HasPrefix(created.text("message"), "break it\n\n") || strings.Count(created.text("message"), "look closer") != 1 {
		t.Errorf("the last one was asked for %v", created.Data)
	}
	var told []string
	for _, e := range h.events("task.") {
		told = append(told, e.Type)
	}
	if diff := cmp.Diff([]string{"task.started", "task.retrying", "task.retrying", "task.retrying"}, told); diff != "" {
		t.Errorf("the task: %s", diff)
	}
	flows := len(h.events(coordination.TypeA2AJobCreated))
	v := h.verifies(`{"action":"retry"}`)
	if v.Success || v.Code != "wrong_delegation" || !strings.Contains(v.Hint, "abandon") {
		t.Errorf("a fourth time: %+v", v)
	}
	if more := len(h.events(coordination.TypeA2AJobCreated)); more != flows {
		t.Errorf("%d flows, %d after it was refused", flows, more)
	}
	h.wantMoves(first.JobID, want)
	if v := h.verifies(`{"action":"abandon","note":"never mind"}`); !v.Success || v.Delegation != "abandoned" || !v.Delegations.AllSettled {
		t.Errorf("given up: %+v", v)
	}
	h.wantMoves(first.JobID, want+" abandoned")
}

// A retry in another work session than the failed attempt leaves that one as it is.
func TestARetryElsewhereSaysNothingOfWhatFailed(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	task := h.begins("look into it")
	first := h.started(messenger.SpawnRequest{From: anywhere(), Task: "break it", Agent: "seum", TaskID: task.TaskID, WorkSessionID: "ws_elsewhere"})
	if failed := h.flowOver(first.JobID); failed.WorkSessionID != "ws_elsewhere" || failed.TaskID != task.TaskID {
		t.Fatalf("%+v", failed)
	}
	again := h.flowOver(h.verifies(`{"action":"retry"}`).RunID)
	told := h.last(coordination.TypeDelegationRetrying)
	if again.WorkSessionID != task.WorkSessionID || told.text("workSessionId") != task.WorkSessionID ||
		told.text("conversationId") != again.ConversationID {
		t.Errorf("%+v is told as %v", again, told.Data)
	}
}

// A retry is one transaction.
func TestARetryIsOneTransaction(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	h.begins("look into it")
	first := h.started(messenger.SpawnRequest{From: anywhere(), Task: "look"})
	h.flowOver(first.JobID)
	again := func(c *tool.Caller) { c.CallID = "call_1" }
	v := h.verifies(`{"action":"retry","note":"deeper"}`, again) // of one that is completed: it is rejected with that
	if !v.Success || v.DelegationID != first.JobID {
		t.Fatalf("%+v", v)
	}
	var got []string
	for _, e := range h.events("") {
		if e.Type == coordination.TypeTaskRejected {
			got = []string{}
		}
		if got != nil && (strings.HasPrefix(e.Type, "task.") || strings.HasPrefix(e.Type, "delegation.")) {
			got = append(got, e.Type)
		}
	}
	want := []string{"task.rejected", "delegation.rejected", "task.retrying", "delegation.retrying", "delegation.spawned", "delegation.running"}
	if len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%v", got)
	}
	for _, typ := range []string{coordination.TypeTaskRejected, coordination.TypeDelegationRejected, coordination.TypeTaskRetrying, coordination.TypeDelegationRetrying} {
		if told := h.last(typ); told.text("reason") != "deeper" {
			t.Errorf("%s: %v", typ, told.Data)
		}
	}
	h.flowOver(v.RunID)
	h.wantMoves(first.JobID, "spawned running completed rejected retrying spawned running completed")
	if same := h.verifies(`{"action":"retry","note":"deeper"}`, again); !same.Success || !same.Duplicate || same.RunID != v.RunID {
		t.Errorf("the same call again: %+v", same)
	}
	h.wantMoves(first.JobID, "spawned running completed rejected retrying spawned running completed")
}

// What cannot be judged so, or not by this caller, is refused with what to do, and nothing is appended.
func TestWhatIsNotVerified(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	task := h.begins("look into it")
	if v := h.verifies(`{}`); v.Code != "wrong_delegation" || v.Hint == "" {
		t.Errorf("there is none yet: %+v", v)
	}
	got := h.started(messenger.SpawnRequest{From: anywhere(), Task: "wait for a"})
	h.arrives("a")
	before := len(h.events("delegation.")) + len(h.events("task."))
	of := `"delegationId":"` + got.JobID + `"`
	for name, c := range map[string]struct{ args, code string }{
		"while it runs":       {`{` + of + `}`, "wrong_delegation"},
		"rejected likewise":   {`{` + of + `,"action":"reject"}`, "wrong_delegation"},
		"given up likewise":   {`{` + of + `,"action":"abandon"}`, "wrong_delegation"},
		"tried likewise":      {`{` + of + `,"action":"retry"}`, "wrong_delegation"},
		"of nothing":          {`{"delegationId":"nothing"}`, "wrong_delegation"},
		"of no task":          {`{"taskId":"task_none"}`, "unknown_task"},
		"of another version":  {`{"action":"retry",` + of + `,"version":99}`, "conflict"},
		"judged so, likewise": {`{` + of + `,"version":99}`, "conflict"},
	} {
		if v := h.verifies(c.args); v.Success || v.Code != c.code || v.Hint == "" {
			t.Errorf("%s: %+v", name, v)
		}
	}
	other := caller("agent:seum:main")
	other.AgentID = "seum"
	if v, _ := call[judged](h, other, "task_verify", `{"taskId":"`+task.TaskID+`"}`); v.Code != "unknown_task" {
		t.Errorf("by another agent: %+v", v)
	}
	if after := len(h.events("delegation.")) + len(h.events("task.")); after != before {
		t.Errorf("%d events, %d before", after, before)
	}
	h.opens("a")
	h.flowOver(got.JobID)
	if v := h.verifies(`{` + of + `,"action":"reject","note":"no"}`); !v.Success || v.Delegation != "rejected" {
		t.Errorf("%+v", v)
	}
	if last := h.last(coordination.TypeDelegationRejected); last.text("reason") != "no" || last.text("conversationId") != got.ConversationID {
		t.Errorf("%v", last.Data)
	}
}

// Without an open task nothing is delegated; the sub-agent starts all the same.
func TestADelegationNeedsATask(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	over := h.begins("look into it")
	if _, out := call[undertaken](h, anywhere(), "task_cancel", `{"task_id":"`+over.TaskID+`"}`); out.IsError {
		t.Fatalf("task_cancel: %s", out.Text)
	}
	for name, taskID := range map[string]string{"without one": "", "of an unknown one": "task_none", "of one that is over": over.TaskID} {
		if got := h.started(messenger.SpawnRequest{From: anywhere(), Task: "look", TaskID: taskID}); got.DelegationID != "" || got.TaskID != taskID {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := h.spawn(messenger.SpawnRequest{From: anywhere(), Task: "look", TaskID: over.TaskID, Delegation: "nothing"}); got.Status != "error" || got.Code != "wrong_delegation" {
		t.Errorf("tried again: %+v", got)
	}
	if told := h.events("delegation."); len(told) > 0 {
		t.Errorf("%v", told)
	}
}

// What a sub-agent delegates itself belongs to the same task; killed together, each fails once. All events of delegations have their
// context.
func TestInvariant51_DelegationsSayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true, config: `subagents: {maxSpawnDepth: 2}`, script: `
		{"when": {"matches": "^pass it on"}, "answer": {"toolCalls": [{"name": "sessions_spawn", "arguments": {"task": "hang"}}]}},
		{"when": {"after": "tool", "tool": "sessions_spawn"}, "answer": {"toolCalls": [{"name": "gate", "arguments": {"name": "b"}}]}},`})
	task := h.begins("look into it")
	above := h.started(messenger.SpawnRequest{From: anywhere(), Task: "pass it on", Agent: "seum"})
	h.arrives("b")
	below := h.last(coordination.TypeA2AJobCreated)
	if below.text("delegationId") != below.text("jobId") || below.text("taskId") != task.TaskID || below.text("jobId") == above.JobID {
		t.Fatalf("%v", below.Data)
	}
	broken := h.started(messenger.SpawnRequest{From: anywhere(), Task: "break"})
	h.flowOver(broken.JobID)
	if v := h.verifies(`{"action":"retry"}`); !v.Success {
		t.Errorf("%+v", v)
	} else {
		h.flowOver(v.RunID)
	}
	if killed, err := h.Stop(t.Context(), above.JobID, "agent/eden", "killed"); err != nil || len(killed) != 2 {
		t.Errorf("killed %v, %v", killed, err)
	}
	h.wantMoves(above.JobID, "spawned running failed")
	h.wantMoves(below.text("jobId"), "spawned running failed")
	h.opens("b")

	list, err := h.db.Read(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	told := h.events("")
	checked := 0
	for i, e := range list {
		is := told[i]
		switch family, _, _ := strings.Cut(e.Type, "."); family {
		case "delegation":
			checked++
			if is.text("eventRole") != "delegation.subagent" || is.text("taskId") != task.TaskID || is.text("workSessionId") != task.WorkSessionID ||
				is.text("conversationId") == "" || e.CorrelationID != is.text("conversationId") || e.Stream != coordination.TaskStream(task.TaskID) {
				t.Errorf("%s in %s: %v", e.Type, e.Stream, is.Data)
			}
			if !slices.Contains([]eventstore.Actor{eventstore.ActorAgent, eventstore.ActorSystem}, e.Actor) ||
				is.text("toSessionType") != "subagent" || is.text("fromSessionType") == "" {
				t.Errorf("%s by %s: %v", e.Type, e.Actor, is.Data)
			}
		case "task", "a2a":
			checked++
			if is.text("eventRole") == "" || is.text("taskId") != "" && is.text("workSessionId") == "" {
				t.Errorf("%s: %v", e.Type, is.Data)
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d events", checked)
	}
}

// A delegation ends with its flow even if its purpose is redacted; then it cannot be retried, only abandoned.
func TestADelegationWhoseWorkIsRedacted(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	h.begins("look into it")
	first := h.started(messenger.SpawnRequest{From: anywhere(), Task: "wait for a"})
	h.arrives("a")
	if _, err := h.Stop(t.Context(), first.JobID, "agent/eden", "killed"); err != nil {
		t.Fatal(err)
	}
	v := h.verifies(`{"action":"retry"}`)
	h.arrives("a")
	list, err := h.db.Read(t.Context(), 0, 100_000)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		if e.Type == coordination.TypeA2AJobCreated {
			if err := h.db.Redact(t.Context(), e.Seq); err != nil {
				t.Fatal(err)
			}
		}
	}
	h.opens("a")
	h.flowOver(v.RunID)
	if list, err = h.db.Read(t.Context(), 0, 100_000); err != nil {
		t.Fatal(err)
	}
	var moves []string
	for _, e := range list {
		if strings.HasPrefix(e.Type, "delegation.") {
			moves = append(moves, e.Type)
		}
	}
	want := []string{"delegation.spawned", "delegation.running", "delegation.failed", "delegation.retrying", "delegation.spawned", "delegation.running",
		"delegation.failed"}
	if diff := cmp.Diff(want, moves); diff != "" {
		t.Error(diff)
	}
	if again := h.verifies(`{"action":"retry"}`); again.Success || again.Code != "wrong_delegation" || !strings.Contains(again.Hint, "sessions_spawn") {
		t.Errorf("%+v", again)
	}
	if given := h.verifies(`{"action":"abandon"}`); !given.Success || given.Delegation != "abandoned" {
		t.Errorf("%+v", given)
	}
}

// All sub-agents of a task can be stopped at once; their purposes contain no secrets.
func TestDelegationsThatAreKilledTogether(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{tasks: true})
	h.begins("look into it")
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
	var ids []string
	for range 3 {
		ids = append(ids, h.started(messenger.SpawnRequest{From: anywhere(), Task: "hang with " + secret}).JobID)
	}
	if killed, _ := call[struct{ Killed int }](h, anywhere(), "subagents", `{"action":"kill","target":"all"}`); killed.Killed != 3 {
		t.Errorf("%+v", killed)
	}
	for _, id := range ids {
		h.wantMoves(id, "spawned running failed")
	}
	for _, e := range h.events("delegation.") {
		if strings.Contains(e.text("task"), secret) {
			t.Errorf("%v", e.Data)
		}
	}
}
