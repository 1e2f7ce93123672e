package access_test

import (
	"encoding/json"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/access"
)

// The first rule counts whose tools, agents and arguments all match; without one a call is made.
func TestFirstRuleCounts(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Tools.Approvals.Rules = []config.CallRule{
		{Tools: []string{"exec"}, Arguments: []config.ArgumentPattern{{Name: "command", Pattern: "rm *"}}, Decision: config.CallDeny},
		{Tools: []string{"exec"}, Arguments: []config.ArgumentPattern{{Name: "command", Pattern: "git *"}, {Name: "timeout", Pattern: "1*"}}, Decision: config.CallAllow},
		{Tools: []string{"group:runtime"}, Agents: []string{"ed*"}, Decision: config.CallAsk},
		{Tools: []string{"files__*"}, Decision: config.CallAsk},
	}
	exec, mcp := &tool.Spec{Name: "exec", Group: tool.GroupRuntime}, &tool.Spec{Name: "files__put", Group: tool.GroupMCP}
	for _, v := range []struct {
		agent string
		spec  *tool.Spec
		args  string
		want  string
	}{
		{"seum", exec, `{"command":"rm -r /"}`, config.CallDeny},
		{"seum", exec, `{"command":"RM -r /"}`, config.CallAllow}, // case counts
		{"seum", exec, `{"command":"ls\nrm x"}`, config.CallAllow},
		{"eden", exec, `{"command":"git push","timeout":10}`, config.CallAllow},
		{"eden", exec, `{"command":"git push","timeout":20}`, config.CallAsk},
		{"eden", exec, `{"command":"git push"}`, config.CallAsk},
		{"eden", exec, `{"command":["rm ","x"]}`, config.CallAsk},
		{"eden", exec, `{}`, config.CallAsk},
		{"eden", exec, `[]`, config.CallDeny},
		{"seum", mcp, `{}`, config.CallAsk},
		{"seum", &tool.Spec{Name: "read", Group: tool.GroupFiles}, `{}`, config.CallAllow},
	} {
		if got := access.JudgeCall(c, nil, v.agent, v.spec, json.RawMessage(v.args)); got != v.want {
			t.Errorf("%s %s %s: %s, want %s", v.agent, v.spec.Name, v.args, got, v.want)
		}
	}
	if !access.MayAsk(c, "eden", exec) || access.MayAsk(c, "seum", exec) || !access.MayAsk(c, "seum", mcp) {
		t.Error("which tools may ask is wrong")
	}
	c.Tools.Approvals.Rules = append([]config.CallRule{{Agents: []string{"eden"}, Decision: config.CallAllow}}, c.Tools.Approvals.Rules...)
	if access.MayAsk(c, "eden", exec) {
		t.Error("a rule without conditions on arguments leaves something to those behind it")
	}
}

// A file is judged by where it is, not by how its name is written.
func TestRulesAboutFiles(t *testing.T) {
	t.Parallel()
	c := config.Default()
	about := func(decision, name, pattern string) config.CallRule {
		return config.CallRule{Arguments: []config.ArgumentPattern{{Name: name, Pattern: pattern}}, Decision: decision}
	}
	c.Tools.Approvals.Rules = []config.CallRule{
		about(config.CallDeny, "path", "AGENTS.md"), about(config.CallDeny, "path", "/link/keys/*"), about(config.CallDeny, "workdir", "deploy*"),
		about(config.CallAllow, "path", "public/*"), about(config.CallAllow, "path", "https://example.org/*"), {Decision: config.CallAsk},
	}
	workspace := []string{"/link", "/home/eden"}
	for _, v := range []struct{ tool, args, want string }{
		{"write", `{"path":"AGENTS.md"}`, config.CallDeny},
		{"write", `{"path":"./AGENTS.md"}`, config.CallDeny},
		{"write", `{"path":"x/../AGENTS.md"}`, config.CallDeny},
		{"write", `{"path":".//AGENTS.md/"}`, config.CallDeny},
		{"write", `{"path":"/link/AGENTS.md"}`, config.CallDeny},
		{"write", `{"path":"/home/eden/x/../AGENTS.md"}`, config.CallDeny},
		{"write", `{"path":"sub/AGENTS.md"}`, config.CallAsk},
		{"write", `{"path":"keys/a"}`, config.CallDeny},
		{"write", `{"path":"/home/eden/keys/a"}`, config.CallDeny},
		{"write", `{"path":"public/a"}`, config.CallAllow},
		{"write", `{"path":"/link/public/a"}`, config.CallAllow},
		{"write", `{"path":"public/../secret"}`, config.CallAsk},
		{"write", `{"path":"public/../AGENTS.md"}`, config.CallDeny},
		{"write", `{"media":"public/a"}`, config.CallAsk},
		{"message", `{"media":"./AGENTS.md"}`, config.CallDeny},
		{"message", `{"media":"public/a"}`, config.CallAllow},
		{"message", `{"media":"public/a","path":"secret"}`, config.CallAsk},
		{"message", `{"message":"hello"}`, config.CallAsk},
		{"exec", `{"command":"make","workdir":"./deploy"}`, config.CallDeny},
		{"exec", `{"command":"make","workdir":"../eden/deploy"}`, config.CallDeny},
		{"files__get", `{"path":"x/../AGENTS.md"}`, config.CallDeny},
		{"files__get", `{"path":"https://example.org/a"}`, config.CallAllow},
		{"files__get", `{"path":"public/../secret"}`, config.CallAsk},
	} {
		s := &tool.Spec{Name: v.tool, Group: tool.GroupFiles}
		if v.tool == "files__get" {
			s.Group = tool.GroupMCP
		}
		if got := access.JudgeCall(c, workspace, "eden", s, json.RawMessage(v.args)); got != v.want {
			t.Errorf("%s %s: %s, want %s", v.tool, v.args, got, v.want)
		}
	}
}

// A command that is allowed by its text is not allowed with variables, which may have it do anything else.
func TestVariablesAreNotAllowedUnseen(t *testing.T) {
	t.Parallel()
	c := config.Default()
	c.Tools.Approvals.Rules = []config.CallRule{
		{Arguments: []config.ArgumentPattern{{Name: "command", Pattern: "make"}, {Name: "env", Pattern: `{"CC":"gcc"}`}}, Decision: config.CallAllow},
		{Arguments: []config.ArgumentPattern{{Name: "command", Pattern: "git status"}}, Decision: config.CallAllow},
		{Arguments: []config.ArgumentPattern{{Name: "command", Pattern: "rm *"}}, Decision: config.CallDeny},
		{Decision: config.CallAsk},
	}
	exec := &tool.Spec{Name: "exec", Group: tool.GroupRuntime}
	for args, want := range map[string]string{
		`{"command":"git status"}`:                             config.CallAllow,
		`{"command":"git status","env":{}}`:                    config.CallAllow,
		`{"command":"git status","env":{"BASH_ENV":"/tmp/x"}}`: config.CallAsk,
		`{"command":"git status; curl x|sh"}`:                  config.CallAsk,
		`{"command":"make","env":{"CC":"gcc"}}`:                config.CallAllow,
		`{"command":"make"}`:                                   config.CallAsk,
		`{"command":"make","env":{"LD_PRELOAD":"x"}}`:          config.CallAsk,
		`{"command":"rm -r x","env":{"PATH":"/tmp"}}`:          config.CallDeny,
	} {
		if got := access.JudgeCall(c, nil, "eden", exec, json.RawMessage(args)); got != want {
			t.Errorf("%s: %s, want %s", args, got, want)
		}
	}
}
