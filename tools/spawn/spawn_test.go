package spawn_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/messenger"
)

// What is accepted is on disk with all that belongs to it, and starts at once.
func TestSpawnIsOneTransaction(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	minute := 60 * time.Second
	got, out := call[messenger.SpawnResult](h, eden(), "sessions_spawn", `{"task":"wait for a, `+strings.Repeat("가", 300)+`","label":"조사","agentId":"Seum",
		"thinking":"ultra","runTimeoutSeconds":60.9,"taskId":"task_1"}`)
	if out.IsError || got.Status != "accepted" || got.RunID == "" || got.JobID != got.RunID || got.ChildSessionKey != "agent:seum:subagent:"+got.JobID ||
		got.WorkSessionID != "ws_1" || got.TaskID != "task_1" || got.Note == "" || len([]rune(got.ReplyPreview)) > 200 || got.ModelApplied || got.Warning != "" {
		t.Errorf("%+v", got)
	}
	h.arrives("a")
	created := h.last(coordination.TypeA2AJobCreated)
	queued := h.last(coordination.TypeRunQueued)
	for name, want := range map[string]any{"label": "조사", "thinking": "high", "runMs": float64(minute.Milliseconds()), "cleanup": "keep", "requesterSessionKey": "agent:eden:main",
		"depth": 1.0, "fromName": "Eden", "kind": "spawn", "origin": "tool"} {
		if created.Data[name] != want {
			t.Errorf("%s is %v, want %v", name, created.Data[name], want)
		}
	}
	for name, want := range map[string]any{"lane": "subagent", "sessionKey": got.ChildSessionKey, "runId": got.RunID, "thinking": "high", "timeoutMs": 60_000.0,
		"jobId": got.JobID, "onRestart": "retry", "workSessionId": "ws_1", "conversationId": got.ConversationID} {
		if queued.Data[name] != want {
			t.Errorf("%s of the run is %v, want %v", name, queued.Data[name], want)
		}
	}
	if one := h.session(got.ChildSessionKey); one == nil || one.Label != "조사" || one.Spawner != "agent:eden:main" {
		t.Errorf("its session is %+v", one)
	}
	if send := h.last(coordination.TypeA2ASend); len([]rune(send.text("message"))) != 200 || send.text("runId") != got.RunID {
		t.Errorf("sent is %v", send.Data)
	}
	h.opens("a")
	h.flowOver(got.JobID)
}

// hopped is a caller with so many hops behind it. What the configuration forbids is refused with its reason and recorded as an event;
// nothing else is appended.
func hopped(key string, hop int) tool.Caller {
	c := caller(key)
	c.Hop = hop
	return c
}

func TestSpawnLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		request messenger.SpawnRequest
		code    string
	}{
		"too deep":                 {messenger.SpawnRequest{From: caller("agent:eden:subagent:1"), Task: "t", Agent: "main"}, "spawn_depth"},
		"too many":                 {messenger.SpawnRequest{Task: "t", Agent: "main"}, "too_many_children"},
		"too far from a person":    {messenger.SpawnRequest{From: hopped("agent:eden:other", 20), Task: "t", Agent: "main"}, "too_many_hops"},
		"an agent that it may not": {messenger.SpawnRequest{From: caller("agent:eden:other"), Task: "t", Agent: "main"}, "spawn_agent"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{config: `subagents: {maxChildrenPerAgent: 2}`})
			for range 2 {
				h.started(messenger.SpawnRequest{Task: "wait for a"})
			}
			for range 2 {
				h.arrives("a")
			}
			before := len(h.events(""))
			got := h.spawn(c.request)
			if got.Status != "forbidden" || got.Code != c.code || got.Error == "" || got.Hint == "" || got.RunID != "" {
				t.Errorf("%+v, want %s", got, c.code)
			}
			e := h.last(coordination.TypeA2AForbidden)
			if e.Agent != "eden" || e.text("code") != c.code || e.text("reason") == "" || e.text("toAgent") != c.request.Agent ||
				e.text("eventRole") != "system.observability" || e.text("workSessionId") != "ws_1" || e.text("toSessionType") != "subagent" {
				t.Errorf("%s %v", e.Agent, e.Data)
			}
			if after := len(h.events("")); after != before+1 {
				t.Errorf("%d events more", after-before)
			}
			h.opens("a")
		})
	}
}

// Where there is no room for its run, the attempt has all of its events and an end, and its caller is told at once and only then; a
// repetition with the same key learns the same.
func TestSpawnWithoutRoom(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `maxConcurrent: 1`, limits: runqueue.Limits{Waiting: 1}})
	h.queue("r1", "agent:eden:one", "wait for a", "")
	h.arrives("a")
	h.queue("r2", "agent:eden:two", "next", "")
	r := messenger.SpawnRequest{Key: "k", Task: "look"}
	got := h.spawn(r)
	if got.Status != "error" || got.Code != "busy" || got.Error == "" || got.Hint == "" || got.Note != "" {
		t.Errorf("%+v", got)
	}
	types := sequence("job.created", "spawn", "send", "spawn_result", "dispatch_failed", ended, "job.failed")
	if diff := cmp.Diff(types, h.types(got.JobID)); diff != "" {
		t.Error(diff)
	}
	if e := h.last(coordination.TypeA2ASpawnResult); e.text("status") != "error" || e.text("error") == "" {
		t.Errorf("%v", e.Data)
	}
	if again := h.spawn(r); again.Status != "error" || again.Code != "not_started" || !again.Duplicate || again.JobID != got.JobID {
		t.Errorf("%+v", again)
	}
	if told := h.told("agent:eden:main"); len(told) != 0 {
		t.Errorf("told are %q", told)
	}
	h.opens("a")
	h.over("r2")
	h.flowOver(h.started(messenger.SpawnRequest{Task: "look"}).JobID)
}

// A place is free again once a sub-agent is over.
func TestSpawnAfterAnEnd(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxChildrenPerAgent: 1}`})
	first := h.started(messenger.SpawnRequest{Task: "wait for a"})
	if got := h.spawn(messenger.SpawnRequest{Task: "b"}); got.Code != "too_many_children" {
		t.Errorf("%+v", got)
	}
	h.opens("a")
	h.flowOver(first.JobID)
	h.flowOver(h.started(messenger.SpawnRequest{Task: "b"}).JobID)
}

// The depth of a session comes from its ancestors, not from its caller.
func TestDepthIsThatOfTheSession(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 2}`})
	one := h.started(messenger.SpawnRequest{Task: "wait for a"})
	from := caller(one.ChildSessionKey)
	two := h.started(messenger.SpawnRequest{From: from, Task: "wait for a"})
	if e := h.last(coordination.TypeA2ASpawn); e.Data["depth"] != 2.0 || e.text("fromSessionType") != "subagent" || e.text("workSessionId") != "ws_1" {
		t.Errorf("%v", e.Data)
	}
	from = caller(two.ChildSessionKey) // says depth 0
	if got := h.spawn(messenger.SpawnRequest{From: from, Task: "t"}); got.Code != "spawn_depth" {
		t.Errorf("%+v", got)
	}
	main := eden()
	main.Depth = 7
	if got := h.spawn(messenger.SpawnRequest{From: main, Task: "t"}); got.Status != "accepted" {
		t.Errorf("%+v", got)
	}
	h.opens("a")
}

// Events have the depth that a call names if it is more than the real one. Limits use the real one.
func TestSpawnTakesADepth(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 2}`})
	for depth, want := range map[string]float64{"0": 1, "1": 1, "7": 7} {
		got, out := call[messenger.SpawnResult](h, eden(), "sessions_spawn", `{"task":"look","depth":`+depth+`}`)
		if out.IsError {
			t.Fatalf("%+v", got)
		}
		if e := h.last(coordination.TypeA2ASpawn); e.Data["depth"] != want {
			t.Errorf("depth %s: %v", depth, e.Data)
		}
		h.flowOver(got.JobID)
	}
	deep := 9
	one := h.started(messenger.SpawnRequest{Task: "wait for a", Depth: &deep})
	if e := h.last(coordination.TypeRunQueued); e.Data["depth"] != 1.0 {
		t.Errorf("its run is at %v", e.Data["depth"])
	}
	two := h.started(messenger.SpawnRequest{From: caller(one.ChildSessionKey), Task: "wait for a"})
	if e := h.last(coordination.TypeA2ASpawn); e.Data["depth"] != 2.0 {
		t.Errorf("%v", e.Data)
	}
	zero := 0
	if got := h.spawn(messenger.SpawnRequest{From: caller(two.ChildSessionKey), Task: "t", Depth: &zero}); got.Code != "spawn_depth" {
		t.Errorf("%+v", got)
	}
	h.opens("a")
}

// What a call leaves open is as configured for sub-agents; unusable settings are ignored with a warning.
func TestSpawnAsConfigured(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {thinking: "low", runTimeoutSeconds: 77}`})
	for name, c := range map[string]struct {
		args      string
		thinking  any
		timeoutMs any
	}{
		"nothing said": {`{"task":"look"}`, "low", 77_000.0},
		"all said":     {`{"task":"look","thinking":"high","runTimeoutSeconds":0}`, "high", 0.0},
	} {
		got, out := call[messenger.SpawnResult](h, eden(), "sessions_spawn", c.args)
		if out.IsError || got.Warning != "" {
			t.Fatalf("%s: %+v", name, got)
		}
		if e := h.last(coordination.TypeA2AJobCreated); e.Data["thinking"] != c.thinking || e.Data["runMs"] != c.timeoutMs {
			t.Errorf("%s: %v", name, e.Data)
		}
		h.flowOver(got.JobID)
	}
	h = setup(t, setting{config: `subagents: {thinking: "galaxy brain", model: "nowhere/none"}`})
	got := h.started(messenger.SpawnRequest{Task: "look"})
	if !strings.Contains(got.Warning, "nowhere/none") || !strings.Contains(got.Warning, "thinking level") || got.ModelApplied {
		t.Errorf("%+v", got)
	}
	h.flowOver(got.JobID)
}

// B14: invalid requests are refused before anything is appended.
func TestBug14_RefusedBeforeTheFirstEvent(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	h.flowOver(h.started(messenger.SpawnRequest{Task: "t", Label: "taken"}).JobID)
	h.over(h.told("agent:eden:main")[0])
	before := len(h.events(""))
	for name, r := range map[string]messenger.SpawnRequest{
		"thinking":      {Task: "t", Think: "galaxy brain"},
		"hard thinking": {Task: "t", Think: "xhigh"}, // which the model cannot
		"task":          {Task: " \n"},
		"label":         {Task: "t", Label: strings.Repeat("a", 65)},
		"taken label":   {Task: "t", Label: "taken"},
		"cleanup":       {Task: "t", Cleanup: "burn"},
		"agent":         {Task: "t", Agent: "no id"},
		"task id":       {Task: "t", TaskID: strings.Repeat("a", 300)},
		"session":       {From: tool.Caller{SessionKey: "agent:"}, Task: "t"},
	} {
		got := h.spawn(r)
		if got.Status != "error" || got.Code == "" || got.Error == "" || got.Hint == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if after := len(h.events("")); after != before {
		t.Errorf("%d events were appended: %v", after-before, h.events("")[before:])
	}
}

// An unknown agent is recorded as an event, as for messages, and nothing else is appended.
func TestSpawnOfAnUnknownAgent(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	before := len(h.events(""))
	got := h.spawn(messenger.SpawnRequest{Task: "t", Agent: "ghost"})
	if got.Status != "error" || got.Code != "unknown_agent" || got.Error != `there is no agent "ghost"` || !strings.Contains(got.Hint, "agents_list") {
		t.Errorf("%+v", got)
	}
	e := h.last(coordination.TypeA2ADispatchFailed)
	if e.text("code") != "unknown_agent" || e.text("toAgent") != "ghost" || e.text("eventRole") != "system.observability" || len(h.events("")) != before+1 {
		t.Errorf("%v, and %d events", e.Data, len(h.events(""))-before)
	}
}

// An unknown model is reported and does not prevent the work.
func TestSpawnWithAnUnknownModel(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	got := h.started(messenger.SpawnRequest{Task: "look", Model: "stranger/has-it"})
	if got.ModelApplied || !strings.Contains(got.Warning, "stranger/has-it") {
		t.Errorf("%+v", got)
	}
	if row := h.flowOver(got.JobID); row.Outcome != "ok" {
		t.Errorf("%+v", row)
	}
	got = h.started(messenger.SpawnRequest{Task: "look", Model: "scripted/scripted-1"})
	if !got.ModelApplied || got.Warning != "" || h.last(coordination.TypeA2AJobCreated).text("model") != "scripted/scripted-1" {
		t.Errorf("%+v", got)
	}
	h.flowOver(got.JobID)
}

// A repetition starts no second sub-agent, also while the first is on its way.
func TestSpawnIsIdempotent(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	for name, from := range map[string]tool.Caller{"a run": {Entry: tool.ByRun, SessionKey: "agent:eden:main", RunID: "r1"}, "a client": {Entry: tool.ByWire, SessionKey: "agent:eden:main"}} {
		before := len(h.events(coordination.TypeA2ASpawn))
		results := make(chan messenger.SpawnResult, 5)
		failed := make(chan error, 5)
		for range 5 {
			go func() {
				got, err := h.Spawn(t.Context(), messenger.SpawnRequest{From: from, Key: "k " + name, Task: "look"})
				results <- got
				failed <- err
			}()
		}
		ids, duplicates := map[string]bool{}, 0
		for range 5 {
			got, err := <-results, <-failed
			if err != nil || got.Status != "accepted" {
				t.Fatalf("%+v, %v", got, err)
			}
			if ids[got.RunID+got.ChildSessionKey+got.ConversationID+got.WorkSessionID] = true; got.Duplicate {
				duplicates++
			}
		}
		if spawned := len(h.events(coordination.TypeA2ASpawn)) - before; len(ids) != 1 || duplicates != 4 || spawned != 1 {
			t.Errorf("%s: %v, %d duplicates, %d started", name, ids, duplicates, spawned)
		}
		other := h.spawn(messenger.SpawnRequest{From: from, Key: "k " + name, Task: "something else"})
		if want := map[string]string{"a run": "accepted", "a client": "error"}[name]; other.Status != want { // models give ids twice
			t.Errorf("%s: %+v", name, other)
		}
		h.until("all are over", func() bool { return len(list(h, eden()).Active) == 0 })
	}
}

// Siblings are distinguished, even if they come from one conversation.
func TestBug11_SiblingsHaveConversationsOfTheirOwn(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	conversations := map[string]bool{}
	for range 3 {
		got := h.started(messenger.SpawnRequest{Task: "look", ParentConversationID: "conv-1"})
		conversations[got.ConversationID] = true
		h.flowOver(got.JobID)
	}
	if len(conversations) != 3 || conversations["conv-1"] {
		t.Errorf("%v", conversations)
	}
	for _, e := range append(h.events(coordination.TypeA2ASpawn), h.events(coordination.TypeA2AComplete)...) {
		if e.text("parentConversationId") != "conv-1" || !conversations[e.text("conversationId")] {
			t.Errorf("%s: %v", e.Type, e.Data)
		}
	}
}

// All that a run starts belongs to one work session, and so do the descendants.
func TestSubAgentsInheritTheWorkSession(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 2}`, script: `
		{"when": {"matches": "^fan out"}, "answer": {"toolCalls": [{"name": "sessions_spawn", "arguments": {"task": "deeper"}}, {"name": "sessions_spawn", "arguments": {"task": "look"}}]}},
		{"when": {"matches": "^deeper"}, "answer": {"toolCalls": [{"name": "sessions_spawn", "arguments": {"task": "look"}}]}},
		{"when": {"after": "tool", "tool": "sessions_spawn"}, "answer": {"text": "started"}},`})
	h.queue("r1", "agent:eden:main", "fan out", "")
	h.over("r1")
	h.until("three are over", func() bool { return len(h.events(coordination.TypeA2AComplete)) == 3 })
	names := map[string]bool{}
	for _, e := range h.events("a2a.") {
		names[e.text("workSessionId")] = true
	}
	if len(names) != 1 || names[""] || names["ws_1"] {
		t.Errorf("work sessions %v", names)
	}
}

// Seed: every event says who it is for, who takes part, and where it belongs.
func TestInvariant51_SpawnEventsSayWhereTheyBelong(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{config: `subagents: {maxSpawnDepth: 2}`})
	soon := 20 * time.Millisecond
	parent := h.started(messenger.SpawnRequest{Task: "wait for a", TaskID: "task_1"})
	h.arrives("a")
	under := caller(parent.ChildSessionKey)
	h.flowOver(h.started(messenger.SpawnRequest{From: under, Task: "look", TaskID: "task_1"}).JobID)
	h.flowOver(h.started(messenger.SpawnRequest{Task: "break", TaskID: "task_1"}).JobID)
	h.flowOver(h.started(messenger.SpawnRequest{Task: "hang", Run: &soon, TaskID: "task_1"}).JobID)
	h.started(messenger.SpawnRequest{Task: "wait for b", TaskID: "task_1"})
	call[killed](h, eden(), "subagents", `{"action":"kill","target":"1"}`)
	h.spawn(messenger.SpawnRequest{Task: "t", Agent: "main", TaskID: "task_1"})
	h.opens("a")
	h.flowOver(parent.JobID)

	roles := map[string]string{"a2a.spawn": "delegation.subagent", "a2a.send": "delegation.subagent", "a2a.spawn_result": "delegation.subagent",
		"a2a.response": "delegation.subagent", "a2a.complete": "delegation.subagent", "a2a.forbidden": "system.observability"}
	seen := map[string]bool{}
	for _, e := range h.events("") {
		family, _, _ := strings.Cut(e.Type, ".")
		switch want := roles[e.Type]; {
		case want == "" && strings.HasPrefix(e.Type, "a2a.job."):
			if e.text("eventRole") != "orchestration.task" {
				t.Errorf("%s: role %q", e.Type, e.text("eventRole"))
			}
		case want == "":
			if e.text("eventRole") == "" {
				t.Errorf("%s has no role", e.Type)
			}
		case e.text("eventRole") != want:
			t.Errorf("%s: role %q, want %q", e.Type, e.text("eventRole"), want)
		}
		if family != "a2a" {
			continue
		}
		seen[e.Type] = true
		from, to := e.text("fromSessionType"), e.text("toSessionType")
		if e.text("workSessionId") != "ws_1" || e.text("taskId") != "task_1" || from == "" || to == "" || from == "main" && to == "main" {
			t.Errorf("%s: %v", e.Type, e.Data)
		}
		if backwards := e.Type == "a2a.response"; backwards && from != "subagent" || !backwards && to != "subagent" {
			t.Errorf("%s is from %s to %s", e.Type, from, to)
		}
	}
	for typ := range roles {
		if !seen[typ] {
			t.Errorf("there is no %s", typ)
		}
	}
}

// Over HTTP sub-agents, and messages to other agents, are available only where the configuration allows them.
func TestHTTPStartsNoSubAgentsUnlessAllowed(t *testing.T) {
	t.Parallel()
	closed, open := setup(t, setting{}), setup(t, setting{rest: `gateway: {tools: {allow: ['sessions_spawn']}}`})
	c := tool.Caller{Entry: tool.ByHTTP, SessionKey: "agent:eden:main"}
	for _, denied := range []struct {
		h    *fixture
		tool string
	}{{closed, "sessions_spawn"}, {closed, "sessions_send"}, {open, "sessions_send"}} {
		_, err := denied.h.box.Call(t.Context(), c, denied.tool, json.RawMessage(`{"task":"look","message":"look"}`))
		if e := (*tool.Error)(nil); !errors.As(err, &e) || e.Code != tool.CodeUnknown {
			t.Errorf("%s: %v", denied.tool, err)
		}
	}
	if l := list(closed, c); l.Status != "ok" {
		t.Errorf("%+v", l)
	}
	got, _ := call[messenger.SpawnResult](open, c, "sessions_spawn", `{"task":"look","timeoutSeconds":5}`)
	if created := open.last(coordination.TypeA2AJobCreated); got.Status != "accepted" || created.Data["runMs"] != 5_000.0 || created.text("origin") != "http" {
		t.Errorf("%+v, %v", got, created.Data)
	}
	open.flowOver(got.JobID)
}

// Secrets in a task are in no event and in no answer.
func TestSpawnMasks(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	const secret = "sk-abcdefghijklmnop0123456789"
	_, out := call[messenger.SpawnResult](h, eden(), "sessions_spawn", `{"task":"look with `+secret+`"}`)
	h.until("it is over", func() bool { return len(h.events(coordination.TypeA2AComplete)) == 1 })
	_, listed := call[listing](h, eden(), "subagents", `{}`)
	if strings.Contains(out.Text+listed.Text, secret) {
		t.Errorf("%s, %s", out.Text, listed.Text)
	}
	for _, e := range h.events("") {
		text, err := json.Marshal(e.Data)
		if err != nil || strings.Contains(string(text), secret) {
			t.Errorf("%s: %s, %v", e.Type, text, err)
		}
	}
}

// What is offered to a session depends on its depth: a sub-agent only does its work.
func TestWhichToolsSubAgentsGet(t *testing.T) {
	t.Parallel()
	all := []string{"agents_list", "gate", "session_status", "sessions_history", "sessions_list", "sessions_send", "sessions_spawn", "subagents"}
	orchestrator, leaf := []string{"gate", "sessions_spawn", "subagents"}, []string{"gate", "subagents"}
	for _, c := range []struct {
		config, key string
		depth       int
		want        []string
	}{
		{"", "agent:eden:main", 0, all},
		{"", "agent:eden:main", 3, all}, // what woke it came from that deep
		{"", "agent:eden:discord:channel:1", 0, all},
		{"", "agent:eden:subagent:1", 1, leaf},
		{"", "agent:eden:subagent:1", 0, leaf}, // a person talks with it
		{"subagents: {maxSpawnDepth: 2}", "agent:eden:subagent:1", 1, orchestrator},
		{"subagents: {maxSpawnDepth: 2}", "agent:eden:subagent:1", 2, leaf},
		{"subagents: {maxSpawnDepth: 3}", "agent:eden:subagent:1", 2, orchestrator},
	} {
		h := setup(t, setting{config: c.config})
		from := caller(c.key)
		from.Depth = c.depth
		var got []string
		for _, s := range h.box.Offer(from) {
			got = append(got, s.Name)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s at %d with %q: %s", c.key, c.depth, c.config, diff)
		}
		h.close()
	}
}
