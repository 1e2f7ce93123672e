package tools

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/access"
)

// Rights says which tools each of the first configured agents has in its main session, at most so many agents; with an agent, each tool of
// this one. Tools of sources are those that are known now. Its errors are *policy.NoAgentError.
func (r *Registry) Rights(agent string, most int) (policy.Rights, error) {
	conf := r.opts.Config()
	ids, count, err := access.AgentsMeant(conf, agent, most)
	if err != nil {
		return policy.Rights{}, err
	}
	rights := policy.Rights{Agents: []policy.AgentRights{}, Tools: []policy.ToolRight{}, Count: count, Truncated: agent == "" && len(ids) < count}
	all := r.all()
	for _, id := range ids {
		call, known := callOf(conf, tool.Caller{Entry: tool.ByRun, AgentID: id})
		if !known {
			continue
		}
		one := policy.AgentRights{AgentID: id}
		one.Profile, _ = conf.ToolProfile(id)
		for _, e := range all {
			allowed := call.admit(&e.Tool)
			if allowed {
				one.Allowed++
			} else {
				one.Denied++
			}
			if agent != "" {
				rights.Tools = append(rights.Tools, call.right(&e.Tool, allowed))
			}
		}
		rights.Agents = append(rights.Agents, one)
	}
	return rights, nil
}

// right explains whether the caller may call a tool.
func (call *Call) right(t *Tool, allowed bool) policy.ToolRight {
	right := policy.ToolRight{Tool: t.Name, Group: t.Group, Server: t.Effect.Server, Outside: t.Effect.Outside, Repeat: string(t.Effect.Repeat), Allowed: allowed}
	if allowed {
		return right
	}
	if verdict, denied := access.ExplainTool(call.Config, call.AgentID, &t.Spec); denied {
		right.Why, right.Hint = verdict.Why, verdict.Hint
		return right
	}
	right.BuiltIn, right.Why = true, fmt.Sprintf("%s is not for the main session of %s, whatever the configuration allows", t.Name, call.AgentID)
	return right
}
