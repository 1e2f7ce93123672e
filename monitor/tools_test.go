package monitor_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/monitor"
)

func (b *testBundle) called(t *testing.T, id, agent, tool, server string, end any) {
	t.Helper()
	stream := coordination.ToolCallStream(id)
	b.happens(t, stream, coordination.TypeToolCalled, agent, 1, coordination.ToolCalled{CallID: id, Attempt: 1, Tool: tool, Server: server, SessionKey: "agent:" + agent + ":main",
		RunID: "r1", Entry: "run", CalledAtMs: 5, Arguments: json.RawMessage(`{"a":"` + strings.Repeat("x", 3_000) + `"}`)})
	switch e := end.(type) {
	case coordination.ToolEnded:
		b.happens(t, stream, coordination.TypeToolEnded, agent, 1, e)
	case coordination.ToolOutcomeUnknown:
		b.happens(t, stream, coordination.TypeToolOutcomeUnknown, agent, 1, e)
	}
}

// Recorded calls are listed newest first, in pages, by agent, tool, server and state, with long texts cut.
func TestToolCallsAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.called(t, "c1", "eden", "exec", "", coordination.ToolEnded{Text: strings.Repeat("말", 5_000), TookMs: 3})
	b.called(t, "c2", "seum", "files__read", "files", coordination.ToolEnded{IsError: true, Text: "gone", Code: "no_file"})
	b.called(t, "c3", "eden", "files__write", "files", coordination.ToolOutcomeUnknown{Reason: "restart", Error: "the process ended"})
	b.called(t, "c4", "eden", "exec", "", nil)
	page := func(query string) (got []string, next *string) {
		t.Helper()
		a := get[monitor.ToolCallsAnswer](t, b, "/api/tools/calls"+query, http.StatusOK)
		for _, c := range a.Calls {
			got = append(got, c.CallID+" "+c.State)
			if len([]rune(c.Text)) > 2_001 || c.Arguments != nil || c.ArgumentsBytes < 3_000 || c.Seq == 0 || c.AgentID == "" {
				t.Errorf("%+v", c)
			}
		}
		if want := map[string]int64{"open": 1, "ended": 2, "unknown": 1}; fmt.Sprint(a.States) != fmt.Sprint(want) {
			t.Errorf("%q: states %v", query, a.States)
		}
		return got, a.NextCursor
	}
	for query, want := range map[string]string{"": "c4 open;c3 unknown;c2 error;c1 ok", "?agent=SEUM": "c2 error", "?tool=exec": "c4 open;c1 ok", "?server=files&agent=eden": "c3 unknown",
		"?state=unknown": "c3 unknown", "?state=open": "c4 open", "?state=ok": "c1 ok", "?tool=none": ""} {
		if got, _ := page(query); strings.Join(got, ";") != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	first, next := page("?limit=3")
	if len(first) != 3 || next == nil {
		t.Fatalf("%q, next %v", first, next)
	}
	if rest, end := page("?limit=3&cursor=" + *next); strings.Join(rest, ";") != "c1 ok" || end != nil {
		t.Errorf("%q, next %v", rest, end)
	}
	newContract(t, b).check(t, http.MethodGet, "/api/tools/calls", http.StatusOK)
}

// The state of a sandbox is what the last probe has found, whatever the setting.
func TestSandboxesAreListed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	probed := func(agent, kind string, holds bool) {
		b.happens(t, coordination.SandboxStream(agent), coordination.TypeSandboxProbed, agent, 1, coordination.SandboxProbed{Kind: kind, Sandboxed: holds, Workspace: "/w", ProbedAtMs: 5,
			Findings: []coordination.SandboxFinding{{Check: "network", Reached: !holds, Detail: "connected"}}})
	}
	probed("eden", "landlock", true)
	probed("eden", "landlock", false)
	probed("seum", "bubblewrap", true)
	for query, want := range map[string]string{"": "eden landlock false;seum bubblewrap true", "?agent=SEUM": "seum bubblewrap true", "?agent=main": ""} {
		var got []string
		for _, s := range get[monitor.SandboxesAnswer](t, b, "/api/sandboxes"+query, http.StatusOK).Sandboxes {
			got = append(got, fmt.Sprint(s.AgentID, " ", s.Kind, " ", s.Sandboxed))
		}
		if strings.Join(got, ";") != want {
			t.Errorf("%q: %q, want %q", query, got, want)
		}
	}
	newContract(t, b).check(t, http.MethodGet, "/api/sandboxes", http.StatusOK)
}

// toolbox is what a program says of its tools.
type toolbox struct{}

func (toolbox) MCPServers() []health.MCPServer {
	return []health.MCPServer{{Name: "files", Transport: "stdio", Launch: "files-server --stdio", State: health.MCPDown, Tools: []string{}, Starts: 2, Failures: 2, Error: "its program ended",
		RetryAt: 9, Log: []string{"cannot read the directory"}}}
}

func (toolbox) Rights(agent string, most int) (policy.Rights, error) {
	if agent == "stranger" {
		return policy.Rights{}, &policy.NoAgentError{Field: "agent", ID: agent, Known: []string{"eden"}, Text: "There is no agent", Hint: "name one"}
	}
	return policy.Rights{Agents: []policy.AgentRights{{AgentID: "eden", Profile: "full", Allowed: 1, Denied: most}}, Count: 1,
		Tools: []policy.ToolRight{{Tool: "exec", Group: "runtime", Outside: true, Why: "denied", Hint: "remove it"}}}, nil
}

// What the program says of its tools is passed on as it is; an unknown agent is refused.
func TestToolsOfTheProgram(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *monitor.Options) { o.Tools = toolbox{} })
	contract := newContract(t, b)
	for path, status := range map[string]int{"/api/mcp/servers": 200, "/api/tools/rights": 200, "/api/tools/rights?agent=eden": 200, "/api/tools/rights?agent=stranger": 400} {
		contract.check(t, http.MethodGet, path, status)
	}
	if a := get[monitor.MCPServersAnswer](t, b, "/api/mcp/servers", http.StatusOK); a.Count != 1 || a.Servers[0].Log[0] != "cannot read the directory" || a.Note != "" {
		t.Errorf("%+v", a)
	}
	if a := get[policy.Rights](t, b, "/api/tools/rights", http.StatusOK); a.Agents[0].Denied != 50 || a.Tools[0].Why != "denied" {
		t.Errorf("%+v", a)
	}
	if a := get[monitor.MCPServersAnswer](t, setup(t), "/api/mcp/servers", http.StatusOK); a.Count != 0 || a.Note == "" {
		t.Errorf("where another gateway runs the agents: %+v", a)
	}
}
