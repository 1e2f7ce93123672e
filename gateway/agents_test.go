package gateway_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/projections/sandboxes"
)

const manyAgents = `{
	models: {providers: {
		fake: {models: [{id: 'echo-1', name: 'Echo One', reasoning: true, input: ['text', 'image'], contextWindow: 128000}]}, b: {models: [{id: 'x'}]},
	}},
	agents: {defaults: {workspace: '/w'}, list: [
		{id: 'Main', name: 'Chief'}, {id: 'eden', default: true, identity: {name: 'Eden', emoji: '🌿', theme: 'sea', avatar: 'eden.png'},
			workspace: '/eden'},
		{id: 'seum', name: '세움', identity: {avatar: 'https://x/y.png'}}, {id: 'bare'},
	]},
}`

// Clients of protocol 4 are told whether the commands of agents are kept in, as the last probe has found it.
func TestAgentsAreListedWithTheirSandboxes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configure(t, manyAgents)
	b.protocol = 4
	appends, err := eventstore.One(coordination.SandboxStream("eden"), eventstore.NewEvent{Type: coordination.TypeSandboxProbed, AgentID: "eden", Actor: eventstore.ActorAgent},
		coordination.SandboxProbed{Kind: "bubblewrap", Sandboxed: true, ProbedAtMs: 7}, b.now.Load())
	if err == nil {
		_, err = b.db.Decide(t.Context(), func(eventstore.Tx) ([]eventstore.StreamAppend, error) { return appends, nil })
	}
	if err != nil {
		t.Fatal(err)
	}
	type listed struct {
		ID      string
		Sandbox sandboxes.State
	}
	for _, a := range want[struct{ Agents []listed }](t, b, "agents.list", `{}`).Agents {
		wanted := sandboxes.State{State: sandboxes.Unprobed, Why: "no command was run yet, so no sandbox was probed"}
		if a.ID == "eden" {
			wanted = sandboxes.State{State: sandboxes.Holds, Kind: "bubblewrap", ProbedAtMs: 7, Why: "nothing outside was reached by the last probe"}
		}
		if a.Sandbox != wanted {
			t.Errorf("%s: %+v, want %+v", a.ID, a.Sandbox, wanted)
		}
	}
}

func TestAgentsAreListedAsConfigured(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for config, wanted := range map[string]string{
		`{}`: `{"defaultId":"main","mainKey":"main","scope":"per-sender","agents":[{"id":"main"}]}`,
		manyAgents: `{"defaultId":"eden","mainKey":"main","scope":"per-sender","agents":[{"id":"main","name":"Chief"},` +
			`{"id":"eden","name":"Eden","identity":{"name":"Eden","theme":"sea","emoji":"🌿","avatar":"eden.png"}},` +
			`{"id":"seum","name":"세움","identity":{"avatar":"https://x/y.png"}},{"id":"bare"}]}`,
	} {
		b.configure(t, config)
		if got := string(b.answer(t, "agents.list", `{}`)); got != wanted {
			t.Errorf("got  %s\nwant %s", got, wanted)
		}
	}
	if refused := b.refused(t, "agents.list", `{"x":1}`); refused.Message != "invalid agents.list params: at root: unexpected property 'x'" {
		t.Error(refused.Message)
	}
}

func TestIdentityOfAnAgent(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configure(t, manyAgents)
	for params, wanted := range map[string]string{
		`{}`:                                   `{"agentId":"eden","name":"Eden","avatar":"🌿","emoji":"🌿"}`,
		`{"agentId":"EDEN"}`:                   `{"agentId":"eden","name":"Eden","avatar":"🌿","emoji":"🌿"}`,
		`{"sessionKey":"agent:seum:s1"}`:       `{"agentId":"seum","name":"세움","avatar":"https://x/y.png"}`,
		`{"sessionKey":"","agentId":"main"}`:   `{"agentId":"main","name":"Chief","avatar":"C"}`,
		`{"sessionKey":"agent:bare:main"}`:     `{"agentId":"bare","name":"Assistant","avatar":"A"}`,
		`{"sessionKey":"main"}`:                `{"agentId":"eden","name":"Eden","avatar":"🌿","emoji":"🌿"}`,
		`{"sessionKey":"global"}`:              `{"agentId":"eden","name":"Eden","avatar":"🌿","emoji":"🌿"}`,
		`{"sessionKey":"s1","agentId":"eden"}`: `{"agentId":"eden","name":"Eden","avatar":"🌿","emoji":"🌿"}`,
	} {
		if got := string(b.answer(t, "agent.identity.get", params)); got != wanted {
			t.Errorf("%s\ngot  %s\nwant %s", params, got, wanted)
		}
	}
	for params, message := range map[string]string{
		`{"agentId":"stranger"}`:                          `unknown agent id "stranger"`,
		`{"sessionKey":"agent:stranger:s1"}`:              `unknown agent id "stranger"`,
		`{"sessionKey":"agent:eden"}`:                     `invalid agent.identity.get params: malformed session key "agent:eden"`,
		`{"agentId":"main","sessionKey":"agent:eden:s1"}`: `invalid agent.identity.get params: agent "main" does not match session key agent "eden"`,
		`{"agentId":""}`:                                  "invalid agent.identity.get params: at /agentId: must NOT have fewer than 1 characters",
	} {
		if got := b.refused(t, "agent.identity.get", params); got.Code != protocol.CodeInvalidRequest || got.Message != message || got.Details == nil {
			t.Errorf("%s: %+v, want %s", params, got, message)
		}
	}
}

func TestModelsAreThoseOfTheProviders(t *testing.T) {
	t.Parallel()
	b := setup(t)
	scripted := `{"id":"scripted","name":"Scripted (no model configured)","provider":"scripted","reasoning":false,"input":["text"]}`
	for config, wanted := range map[string]string{
		`{}`: `{"models":[` + scripted + `]}`,
		manyAgents: `{"models":[{"id":"echo-1","name":"Echo One","provider":"fake","contextWindow":128000,"reasoning":true,"input":["text","image"]},` +
			`{"id":"x","name":"x","provider":"b","reasoning":false,"input":["text"]}]}`,
		`{models: {providers: {b: {models: [{id: 'x'}]}}}, agents: {defaults: {model: 'scripted/scripted'}}}`: `{"models":[` +
			`{"id":"x","name":"x","provider":"b","reasoning":false,"input":["text"]},` + scripted + `]}`,
	} {
		b.configure(t, config)
		if got := string(b.answer(t, "models.list", `{}`)); got != wanted {
			t.Errorf("got  %s\nwant %s", got, wanted)
		}
	}
}

func TestThereAreNoToolsAndNoSkills(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configure(t, manyAgents)
	for _, c := range []struct{ method, params, wanted string }{
		{"tools.catalog", `{"agentId":"Main","includePlugins":true}`, `{"agentId":"main","profiles":[],"groups":[]}`},
		{"tools.catalog", `{}`, `{"agentId":"eden","profiles":[],"groups":[]}`},
		{"skills.status", `{}`, `{"workspaceDir":"/of/eden","managedSkillsDir":"","skills":[]}`},
		{"skills.status", `{"agentId":"bare"}`, `{"workspaceDir":"/of/bare","managedSkillsDir":"","skills":[]}`},
	} {
		if got := string(b.answer(t, c.method, c.params)); got != c.wanted {
			t.Errorf("%s %s\ngot  %s\nwant %s", c.method, c.params, got, c.wanted)
		}
	}
	for _, method := range []string{"tools.catalog", "skills.status"} {
		if got := b.refused(t, method, `{"agentId":"stranger"}`); got.Message != `unknown agent id "stranger"` {
			t.Errorf("%s: %s", method, got.Message)
		}
	}
}

func TestAgentsInTheSnapshotAndInTheListAreTheSame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.configure(t, manyAgents)
	health := want[healthState](t, b, "health", `{}`)
	listed := want[struct{ Agents []struct{ ID, Name string } }](t, b, "agents.list", `{}`)
	var one, other []string
	for _, a := range health.Agents {
		one = append(one, a.AgentID+" "+a.Name)
	}
	for _, a := range listed.Agents {
		other = append(other, a.ID+" "+a.Name)
	}
	if diff := cmp.Diff(one, other); diff != "" {
		t.Errorf("(-health +agents.list)\n%s", diff)
	}
}
