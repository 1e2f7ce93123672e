package agenttools_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/agenttools"
)

// Every agent sees itself, those that it may start and those that it may write to, and no others.
func TestAgentsList(t *testing.T) {
	t.Parallel()
	team := func(allow []string, a2a config.AgentToAgent) *config.Config {
		c := config.Default()
		c.Agents = []config.Agent{{ID: "main", Default: true}, {ID: "Eden", Name: "이든", AllowAgents: allow}, {ID: "seum"}}
		c.Tools.AgentToAgent = a2a
		return c
	}
	const self = `{"id":"eden","name":"이든","configured":true,"canSpawn":true,"canSend":true}`
	for name, c := range map[string]struct {
		config *config.Config
		key    string
		want   string
	}{
		"no one else": {team(nil, config.AgentToAgent{}), "agent:eden:main", `{"requester":"eden","allowAny":false,"agents":[` + self + `]}`},
		"named, and one that is not configured": {team([]string{" Seum ", "ghost", "bad id!"}, config.AgentToAgent{}), "agent:eden:main",
			`{"requester":"eden","allowAny":false,"agents":[` + self + `,{"id":"ghost","configured":false,"canSpawn":true,"canSend":false},` +
				`{"id":"seum","configured":true,"canSpawn":true,"canSend":false}]}`},
		"any": {team([]string{"*", "seum"}, config.AgentToAgent{}), "agent:eden:main",
			`{"requester":"eden","allowAny":true,"agents":[` + self + `,{"id":"main","configured":true,"canSpawn":true,"canSend":false},` +
				`{"id":"seum","configured":true,"canSpawn":true,"canSend":false}]}`},
		"only to write to": {team(nil, config.AgentToAgent{Enabled: true, Allow: []string{"eden", "s*"}}), "agent:eden:a2a:c1",
			`{"requester":"eden","allowAny":false,"agents":[` + self + `,{"id":"seum","configured":true,"canSpawn":false,"canSend":true}]}`},
		"no agents configured": {config.Default(), "main", `{"requester":"main","allowAny":false,"agents":[{"id":"main","configured":false,"canSpawn":true,"canSend":true}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, err := tools.New(tools.Options{Config: func() *config.Config { return c.config }, Logger: slog.New(slog.DiscardHandler), Tools: []tools.Tool{agenttools.List()}})
			if err != nil {
				t.Fatal(err)
			}
			caller := tool.Caller{Entry: tool.ByHTTP, SessionKey: c.key}
			out, err := r.Call(t.Context(), caller, "agents_list", json.RawMessage(`{}`))
			if err != nil || out.Text != c.want || string(out.Details) != c.want || out.IsError {
				t.Errorf("%s, %v, want\n%s", out.Text, err, c.want)
			}
			caller.SessionKey = "agent:eden:subagent:1"
			if got := r.Offer(caller); got != nil {
				t.Errorf("sub-agents are offered %v", got)
			}
		})
	}
}
