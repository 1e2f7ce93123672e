package monitor_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/monitortest"
	"github.com/pronto-lab/openclawd/projections/agents"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
)

// agentState is what an answer says about how an agent is doing.
type agentState struct {
	ID       string
	Status   agents.Status
	Activity *struct {
		At, Seq int64
		Type    string
	}
	Run   *agents.Run
	Queue agents.Queue
	Next  *struct {
		Kind, Reason, TaskID string
		LookAgainAtMs        int64
	}
	Discord *struct{ State health.BotState }
	Tokens  agents.Tokens
	Sandbox sandboxes.State

	Approvals int
}

func statesOf(t testing.TB, b *testBundle) map[string]agentState {
	t.Helper()
	all := map[string]agentState{}
	for _, a := range get[struct{ Agents []agentState }](t, b, "/api/agents", http.StatusOK).Agents {
		all[a.ID] = a
		if one := get[agentState](t, b, "/api/agents/"+a.ID+"/info", http.StatusOK); !cmp.Equal(one, a) {
			t.Errorf("alone: %+v\nin the list: %+v", one, a)
		}
	}
	return all
}

// Agents are told with what they do, their last event, runs, queue, next step, bot and tokens.
func TestAgentsSayHowTheyAreDoing(t *testing.T) {
	t.Parallel()
	team := func(o *monitor.Options) {
		o.OwnTasks.Team = func() []config.Agent {
			var list []config.Agent
			for id := range strings.FieldsSeq("Eden seum ruda dajim sion iru") {
				list = append(list, config.Agent{ID: id})
			}
			return list
		}
		o.Bots = func() []health.Bot {
			return []health.Bot{{Channel: "discord", AccountID: "a", AgentID: "Dajim", State: health.BotReady}, {Channel: "discord", AccountID: "b", AgentID: "dajim", State: health.BotFailed},
				{Channel: "discord", AccountID: "c", AgentID: "eden", State: health.BotReady}}
		}
	}
	b, _ := withOwnTasks(t, explaining, team)
	b.ownTasks(t)
	spent := func(id, agent string, minute float64, in, out int64) {
		key := "agent:" + agent + ":main"
		b.happens(t, coordination.RunStream(id), coordination.TypeRunQueued, agent, minute, coordination.RunQueued{RunID: id, SessionKey: key, Lane: "main", Message: "m"})
		b.happens(t, coordination.RunStream(id), coordination.TypeRunStarted, agent, minute, coordination.RunStarted{RunID: id, SessionKey: key})
		b.happens(t, coordination.RunStream(id), coordination.TypeRunEnded, agent, minute, coordination.RunOver{RunID: id, SessionKey: key, StartedAtMs: int64(at(minute)),
			EndedAtMs: int64(at(minute)), Usage: &coordination.SessionUsage{Input: in, Output: out, Total: in + out}})
	}
	spent("before", "eden", -48*60, 1_000, 1_000)
	spent("today", "eden", 1, 70, 3)
	spent("again", "eden", 2, 30, 4)
	b.asks(t, "now", "eden", coordination.TypeRunStarted)
	b.asks(t, "then", "eden", "")
	b.asks(t, "first", "seum", "")
	b.happens(t, coordination.FileStream("workspace-eden/AGENTS.md"), coordination.TypeFileChanged, "eden", 5, map[string]any{"path": "workspace-eden/AGENTS.md"})
	b.flowed(t, "j1", "sion", coordination.TypeA2AJobCreated, coordination.A2AJobCreated{
		Context: coordination.Context{ConversationID: "c", WorkSessionID: "ws", EventRole: coordination.RoleOrchestration}, JobID: "j1", Kind: "send", FromAgent: "sion",
		ToAgent: "iru", Phase: "waiting", DueAtMs: int64(at(5)), RequesterSessionKey: "agent:sion:main", TargetSessionKey: "agent:iru:a2a:c", Message: "m", EffectiveTurns: 1})
	b.now.Store(int64(at(10)))
	newContract(t, b).check(t, http.MethodGet, "/api/agents", http.StatusOK)
	all := statesOf(t, b)
	for id, want := range map[string]agents.Status{"eden": agents.Running, "seum": agents.Queued, "dajim": agents.Offline, "sion": agents.Waiting, "iru": agents.Idle,
		"ruda": agents.Working} {
		if all[id].Status != want {
			t.Errorf("%s is %s, want %s", id, all[id].Status, want)
		}
	}
	eden, seum := all["eden"], all["seum"]
	if r := eden.Run; r == nil || *r != (agents.Run{RunID: "now", State: "running", Since: noon.UnixMilli() + 5}) {
		t.Errorf("run of eden: %+v", r)
	}
	if r := seum.Run; r == nil || *r != (agents.Run{RunID: "first", State: "queued", Since: noon.UnixMilli()}) {
		t.Errorf("run of seum: %+v", r)
	}
	if want := (agents.Queue{Waiting: 1, Running: 1, OldestMs: 10 * 60_000}); eden.Queue != want {
		t.Errorf("queue of eden: %+v, want %+v", eden.Queue, want)
	}
	if iru := all["iru"]; iru.Queue != (agents.Queue{}) || iru.Run != nil {
		t.Errorf("a flow waits on purpose: %+v", iru)
	}
	if want := (agents.Tokens{In: 100, Out: 7, Day: time.UnixMilli(int64(at(10))).Format(time.DateOnly)}); eden.Tokens != want {
		t.Errorf("tokens of eden: %+v, want %+v", eden.Tokens, want)
	}
	if a := eden.Activity; a == nil || a.Type != coordination.TypeRunQueued || a.At != noon.UnixMilli() {
		t.Errorf("activity of eden: %+v", a)
	}
	if all["dajim"].Activity != nil || all["dajim"].Discord == nil || all["dajim"].Discord.State != health.BotFailed || all["eden"].Discord.State != health.BotReady ||
		all["seum"].Discord != nil {
		t.Errorf("bots: %+v", all)
	}
	if n := eden.Next; n == nil || n.Kind != "nothing" || n.Reason != "not_yet" || n.LookAgainAtMs == 0 || all["ruda"].Next != nil {
		t.Errorf("next of eden: %+v", n)
	}
}

// An agent whose plan or call of a tool waits for a person is waiting, not at work or in a queue, until the decision or its time is over.
func TestAgentsWaitForApproval(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, explaining, func(o *monitor.Options) {
		o.OwnTasks.Team = func() []config.Agent { return []config.Agent{{ID: "seum"}, {ID: "ruda"}} }
	})
	b.ownTasks(t)
	b.asks(t, "parked", "seum", "")
	b.happens(t, coordination.CallApprovalStream("call_1"), coordination.TypeToolApprovalRequested, "seum", 1, coordination.CallApprovalRequested{
		ApprovalID: "call_1", AgentID: "seum", Tool: "exec", CallHash: "h", RunID: "parked", FirstRunID: "parked", RequestedAt: int64(at(1)), ExpiresAt: int64(at(60))})
	b.planned(t, coordination.TypePlanSubmitted, 2, planOf("1", "ruda", "task_a", "계획"))
	for minute, want := range map[float64]map[string]agents.Status{10: {"seum": agents.Waiting, "ruda": agents.Waiting}, 61: {"seum": agents.Queued, "ruda": agents.Waiting}} {
		b.now.Store(int64(at(minute)))
		all := statesOf(t, b)
		for id, status := range want {
			approvals := 0
			if status == agents.Waiting {
				approvals = 1
			}
			if got := all[id]; got.Status != status || got.Approvals != approvals {
				t.Errorf("after %v minutes %s is %s with %d approvals, want %s with %d", minute, id, got.Status, got.Approvals, status, approvals)
			}
		}
	}
}

// Agents are told with the sandbox of their commands, as it was found, and why it is so. Settings count for nothing.
func TestAgentsSayWhetherTheirCommandsAreKeptIn(t *testing.T) {
	t.Parallel()
	b, _ := withOwnTasks(t, explaining, func(o *monitor.Options) {
		o.OwnTasks.Team = func() []config.Agent { return []config.Agent{{ID: "eden"}, {ID: "seum"}, {ID: "ruda"}, {ID: "iru"}} }
	})
	b.ownTasks(t)
	probed := func(agent string, minute float64, kind string, holds bool, fault string, reached ...string) {
		found := coordination.SandboxProbed{Kind: kind, Sandboxed: holds, Error: fault, ProbedAtMs: int64(at(minute))}
		for _, check := range reached {
			found.Findings = append(found.Findings, coordination.SandboxFinding{Check: check, Reached: true})
		}
		b.happens(t, coordination.SandboxStream(agent), coordination.TypeSandboxProbed, agent, minute, found)
	}
	probed("eden", 1, "landlock", false, "", "network")
	probed("eden", 2, "bubblewrap", true, "")
	probed("seum", 1, "bubblewrap", false, "bwrap is not installed")
	probed("seum", 2, "landlock", false, "", "token", "network")
	probed("ruda", 1, "bubblewrap", true, "")
	probed("ruda", 2, "off", false, "")
	newContract(t, b).check(t, http.MethodGet, "/api/agents", http.StatusOK)
	all := statesOf(t, b)
	for id, want := range map[string]sandboxes.State{
		"eden": {State: "holds", Kind: "bubblewrap", ProbedAtMs: int64(at(2)), Why: "nothing outside was reached by the last probe"},
		"seum": {State: "open", Kind: "landlock", ProbedAtMs: int64(at(2)),
			Why: "commands are refused: landlock: reached: token, network; bubblewrap: bwrap is not installed"},
		"ruda": {State: "off", Kind: "off", ProbedAtMs: int64(at(2)), Why: "tools.exec.sandbox is off: commands do what the user of openclawd may do"},
		"iru":  {State: "unprobed", Why: "no command was run yet, so no sandbox was probed"},
	} {
		if got := all[id].Sandbox; got != want {
			t.Errorf("%s: %+v, want %+v", id, got, want)
		}
	}
}

// The last event is that of the log as of a point, and what the program alone knows has no past.
func TestAgentsSayHowTheyWereDoing(t *testing.T) {
	t.Parallel()
	b := setupPast(t, func(o *monitor.Options) {
		o.OwnTasks = &monitor.OwnTasks{Team: teamThen}
		o.Bots = func() []health.Bot {
			return []health.Bot{{Channel: "discord", AccountID: "a", AgentID: "eden", State: health.BotFailed}}
		}
	})
	ownTeam(b)
	b.testBundle.asks(t, "one", "eden", coordination.TypeRunStarted)
	head, err := b.db.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b.testBundle.tell(t, coordination.RunStream("one"), "eden", [2]string{coordination.TypeRunEnded, `{"runId":"one","sessionKey":"agent:eden:main"}`})
	if now := statesOf(t, b.testBundle)["eden"]; now.Status != agents.Offline || now.Run != nil || now.Activity.Seq != head.Seq+1 {
		t.Errorf("now: %+v", now)
	}
	status, _, body := monitortest.AsOf(t, b.asks(t), "/api/agents/eden/info", head.Seq)
	var then agentState
	if err := json.Unmarshal(body, &then); err != nil || status != http.StatusOK {
		t.Fatalf("then: %d %s", status, body)
	}
	if then.Status != agents.Running || then.Run == nil || then.Activity.Seq != head.Seq || then.Activity.Type != coordination.TypeRunStarted || then.Discord != nil {
		t.Errorf("then: %+v", then)
	}
}
