package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination/permission"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/mcp/mcptest"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// callsDesk has an agent call the tool of the MCP server desk that a message of a person names, and say what came of it.
func callsDesk(a a2atest.Asked) a2atest.Answer {
	if a.AfterTool() {
		return a2atest.Say("result: " + a.Last().Text)
	}
	name, line, _ := strings.Cut(a.Message(), " ")
	args := map[string]any{}
	if line != "" {
		args["line"] = line
	}
	return a2atest.Use(a2atest.Call{Name: "desk__" + name, Args: args})
}

func startDesk(t *testing.T) *askingTeam {
	t.Helper()
	file := filepath.Join(t.TempDir(), "effects.txt")
	settings := fmt.Sprintf(`tools: { approvals: { timeoutSeconds: 600 } }, mcp: { servers: { desk: { command: %q, args: ['-test.run=^$'], env: { %s: %q, %s: %q } } } },`,
		os.Args[0], mcptest.Env, mcptest.Good, mcptest.EnvEffects, file)
	return &askingTeam{startTeamOf(t, strings.NewReplacer("tools: { agentToAgent: { enabled: true } },", settings), []string{"ruda", "eden"}, callsDesk), file}
}

// Input that an MCP server asks for waits for a person as a request with its fields, while the run is parked. What the person gives is the
// answer when the call is made again; values that do not fit are refused, and nothing else is made twice.
func TestInputIsAskedOfPeople(t *testing.T) {
	t.Parallel()
	team := startDesk(t)
	answer := team.tells(t, "ruda", "first", "book first")
	list := team.waits(t, 1)
	if len(list) != 1 || list[0].Call == nil || list[0].Call.Input == nil || !permission.IsInput(list[0].ID) {
		t.Fatalf("what waits: %+v", list)
	}
	in, id := list[0].Call.Input, list[0].ID
	if in.Message != "Who travels?" || in.Said != "not booked: decline" || in.Repeatable || len(in.Fields) != 4 || in.Fields[0].Name != "email" || !in.Fields[0].Required ||
		!strings.Contains(list[0].Title, "desk__book asks: Who travels?") || list[0].Call.RunID != "first" {
		t.Errorf("what is asked: %+v of %+v", in, list[0])
	}
	if s := team.agents.runner.Stats(); s.Running != 0 {
		t.Errorf("%d runs are active while they wait", s.Running)
	}
	for _, values := range []string{``, `,"values":{}`, `,"values":{"email":"no address"}`, `,"values":{"email":"a@b.example","seats":10}`, `,"values":{"email":"a@b.example","more":1}`,
		`,"values":{"email":"a@b.example","meal":"cake"}`, `,"values":7`} {
		team.decides(t, id, "approve", values, http.StatusBadRequest)
	}
	team.decides(t, id, "always", "", http.StatusBadRequest)
	team.decides(t, id, "approve", `,"values":{"email":"a@b.example","seats":"2","window":"yes"}`, http.StatusOK)
	hears(t, answer, `booked for {"email":"a@b.example","seats":2,"window":true}`)
	team.decides(t, id, "approve", `,"values":{"email":"c@d.example"}`, http.StatusConflict)

	answer = team.tells(t, "ruda", "second", "book second")
	list = team.waits(t, 2)
	team.decides(t, list[0].ID, "reject", `,"reason":"not by train"`, http.StatusOK)
	hears(t, answer, "not booked: decline\n(The server asked for input, which lee has refused: not by train.")

	answer = team.tells(t, "ruda", "third", "book third")
	team.waits(t, 3)
	team.advance(t, 601*time.Second)
	hears(t, answer, "no one has given it in time. The call was not made again.")
	if diff := cmp.Diff([]string{"first"}, team.lines(t)); diff != "" {
		t.Errorf("effects (-want +got)\n%s", diff)
	}
}

// An address is confirmed without values. A server that asks something else each time gets no answer that was meant for another question,
// and is not asked for ever.
func TestInputOfOtherKinds(t *testing.T) {
	t.Parallel()
	team := startDesk(t)
	answer := team.tells(t, "ruda", "visits", "visit")
	list := team.waits(t, 1)
	if in := list[0].Call.Input; in == nil || in.Mode != "url" || in.URL != "https://sign.in.example/now" {
		t.Fatalf("%+v", list[0].Call)
	}
	team.decides(t, list[0].ID, "approve", "", http.StatusOK)
	hears(t, answer, "visited: accept")
	answer = team.tells(t, "ruda", "gate", "gate")
	list = team.waits(t, 2)
	if in := list[0].Call.Input; in == nil || in.Mode != "url" || in.URL != "https://gate.example/in" || in.Message != "Open the gate." || !strings.Contains(in.Said, "sign in first (code -32042)") {
		t.Fatalf("%+v", list[0].Call)
	}
	team.decides(t, list[0].ID, "approve", "", http.StatusOK)
	hears(t, answer, "let in")
	answer = team.tells(t, "ruda", "insists", "insist")
	for n := range 3 {
		list = team.waits(t, 3+n)
		if in := list[0].Call.Input; in.Number != n+1 || in.Message != fmt.Sprintf("Question %d?", n+1) {
			t.Errorf("request %d: %+v", n+1, in)
		}
		team.decides(t, list[0].ID, "approve", "", http.StatusOK)
	}
	hears(t, answer, "No person is asked: people were asked 3 times already.")
}

// A request for input survives a kill between it and the decision, and the call is made again once.
func TestInputSurvivesAKill(t *testing.T) {
	t.Parallel()
	k := newKills(t, 1)
	file := filepath.Join(k.dir, "effects.txt")
	k.configure(t, fmt.Sprintf(`{gateway: {auth: {mode: 'token', token: 'secret'}}, agents: {entries: {main: {default: true}}},
		models: {scripted: {script: 'desk.json'}}, mcp: {servers: {desk: {command: %q, args: ['-test.run=^$'], env: {%s: %q, %s: %q}}}}}`,
		os.Args[0], mcptest.Env, mcptest.Good, mcptest.EnvEffects, file), "desk.json", `{"rules": [{"when": {"after": "tool"}, "answer": {"text": "result: {{result}}"}},
		{"when": {"contains": ["book"]}, "answer": {"text": "I book it.", "toolCalls": [{"name": "desk__book", "arguments": {"line":"once"}}]}}]}`)
	v := startVictim(t, k.dir)
	requested := make(chan string, 9)
	c := connect(t, v.url, func(o *client.Options) {
		o.Event = func(e client.Event) {
			if e.Name == "exec.approval.requested" {
				requested <- string(e.Payload)
			}
		}
	})
	k.ask(t, c, "main", "s", "book")
	var request struct{ ID string }
	select {
	case text := <-requested:
		if err := json.Unmarshal([]byte(text), &request); err != nil || !strings.Contains(text, "Who travels?") {
			t.Fatalf("%s, %v", text, err)
		}
	case <-time.After(testscale.Patience):
		t.Fatal("nothing is requested")
	}
	killAfter(v, 0)
	_ = c.Close()
	p := k.last(t)
	if _, err := p.agents.approvals.Answer(t.Context(), request.ID, "lee", map[string]json.RawMessage{"email": json.RawMessage(`"a@b.example"`)}); err != nil {
		t.Fatal(err)
	}
	waitForWork(t, p.Program)
	if times := effectsIn(t, file); len(times) != 1 || times["once"] != 1 {
		t.Errorf("effects: %v", times)
	}
	judgeEffects(t, p.Program)
	k.end(t, p)
}
