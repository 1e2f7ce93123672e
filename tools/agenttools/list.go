// Package agenttools defines the tool that lists the agents.
package agenttools

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/tools"
)

// List is agents_list: the agents that the caller may start as sub-agents or write to.
func List() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "agents_list", Group: tool.GroupAgents, Label: "Agents",
			Description: "List the agents that you may start as sub-agents (canSpawn) or message (canSend). You come first.",
			Schema:      json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`),
		},
		Who: tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}},
		Do:  func(_ context.Context, call *tools.Call) (tool.Output, error) { return tools.Answer(list(call)) },
	}
}

type answer struct {
	Requester string  `json:"requester"`
	AllowAny  bool    `json:"allowAny"` // any agent
	Agents    []agent `json:"agents"`
}

type agent struct {
	ID         string `json:"id"`
	Name       string `json:"name,omitempty"`
	Configured bool   `json:"configured"`
	CanSpawn   bool   `json:"canSpawn"`
	CanSend    bool   `json:"canSend"`
}

func list(call *tools.Call) answer {
	conf, own := call.Config, call.AgentID
	ids := []string{}
	for _, a := range conf.Agents {
		ids = append(ids, strings.ToLower(a.ID))
	}
	result := answer{Requester: own}
	if self := conf.AgentNamed(own); self != nil {
		for _, id := range self.AllowAgents {
			id = strings.ToLower(coordination.TrimJS(id))
			result.AllowAny = result.AllowAny || id == "*"
			if coordination.NormalizeAgentID(id) == id {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	ids = slices.DeleteFunc(slices.Compact(ids), func(id string) bool { return id == "" || id == own })
	for _, id := range slices.Insert(ids, 0, own) {
		one := agent{ID: id, CanSpawn: access.DenySpawn(conf, own, id) == "", CanSend: access.DenyAgents(conf.Tools.AgentToAgent, own, id) == ""}
		if a := conf.AgentNamed(id); a != nil {
			one.Name, one.Configured = a.Name, true
		}
		if one.CanSpawn || one.CanSend && one.Configured {
			result.Agents = append(result.Agents, one)
		}
	}
	return result
}
