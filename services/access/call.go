package access

import (
	"encoding/json"
	"slices"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// JudgeCall returns what tools.approvals says about a call: config.CallAllow, CallAsk or CallDeny. args is the object of arguments.
func JudgeCall(c *config.Config, agentID string, s *tool.Spec, args json.RawMessage) string {
	var given map[string]json.RawMessage
	for i := range c.Tools.Approvals.Rules {
		r := &c.Tools.Approvals.Rules[i]
		if !isAbout(r, agentID, s) {
			continue
		}
		if len(r.Arguments) > 0 && given == nil && json.Unmarshal(args, &given) != nil {
			return config.CallDeny // arguments are an object wherever a call comes from
		}
		if matchArguments(r.Arguments, given) {
			return r.Decision
		}
	}
	return config.CallAllow
}

// MayAsk reports whether some call of a tool by an agent would wait for a decision of a person.
func MayAsk(c *config.Config, agentID string, s *tool.Spec) bool {
	for i := range c.Tools.Approvals.Rules {
		r := &c.Tools.Approvals.Rules[i]
		switch {
		case !isAbout(r, agentID, s):
		case r.Decision == config.CallAsk:
			return true
		case len(r.Arguments) == 0:
			return false // it leaves nothing to the rules behind it
		}
	}
	return false
}

func isAbout(r *config.CallRule, agentID string, s *tool.Spec) bool {
	return (len(r.Tools) == 0 || NamesTool(r.Tools, s)) &&
		(len(r.Agents) == 0 || slices.ContainsFunc(r.Agents, func(pattern string) bool { return coordination.Matches(pattern, agentID) }))
}

// matchArguments reports whether all patterns match. An argument that is not given matches none.
func matchArguments(patterns []config.ArgumentPattern, given map[string]json.RawMessage) bool {
	return !slices.ContainsFunc(patterns, func(p config.ArgumentPattern) bool {
		value, is := given[p.Name]
		return !is || !coordination.Pattern(p.Pattern).Matches(argumentText(value))
	})
}

// argumentText is an argument as patterns see it.
func argumentText(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	return string(value)
}
