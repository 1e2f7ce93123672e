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
		if got := access.JudgeCall(c, v.agent, v.spec, json.RawMessage(v.args)); got != v.want {
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
