package access

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// JudgeCall returns what tools.approvals says about a call: config.CallAllow, CallAsk or CallDeny. args is the object of arguments;
// workspace has the absolute names of the agent's workspace, since patterns see files by their names in it.
func JudgeCall(c *config.Config, workspace []string, agentID string, s *tool.Spec, args json.RawMessage) string {
	judged := judgedCall{spec: s, workspace: workspace}
	for i := range c.Tools.Approvals.Rules {
		r := &c.Tools.Approvals.Rules[i]
		if !isAbout(r, agentID, s) {
			continue
		}
		if len(r.Arguments) > 0 && judged.given == nil && json.Unmarshal(args, &judged.given) != nil {
			return config.CallDeny // arguments are an object wherever a call comes from
		}
		if judged.meets(r) {
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
	return (len(r.Tools) == 0 || tool.Names(r.Tools, s)) &&
		(len(r.Agents) == 0 || slices.ContainsFunc(r.Agents, func(pattern string) bool { return coordination.Matches(pattern, agentID) }))
}

// judgedCall is a call whose arguments are compared with patterns.
type judgedCall struct {
	spec      *tool.Spec
	workspace []string
	given     map[string]json.RawMessage
}

// meets reports whether all patterns of a rule match. An argument that is not given matches none. A rule that allows commands by their text
// does not allow them variables, which change what they do, unless it has a pattern for these.
func (j *judgedCall) meets(r *config.CallRule) bool {
	if r.Decision == config.CallAllow && j.hasVariables() && hasPattern(r, argumentCommand) && !hasPattern(r, argumentEnv) {
		return false
	}
	return !slices.ContainsFunc(r.Arguments, func(p config.ArgumentPattern) bool {
		value, is := j.value(p.Name)
		return !is || !slices.ContainsFunc(j.texts(r, p.Name, argumentText(value)), coordination.Pattern(p.Pattern).Matches)
	})
}

func (j *judgedCall) hasVariables() bool {
	env, is := j.given[argumentEnv]
	return j.spec.Name == toolExec && is && string(env) != "{}"
}

func hasPattern(r *config.CallRule, name string) bool {
	return slices.ContainsFunc(r.Arguments, func(p config.ArgumentPattern) bool { return p.Name == name })
}

// value is an argument. The file of a message has two names, of which the first counts.
func (j *judgedCall) value(name string) (value json.RawMessage, is bool) {
	if j.spec.Name == toolMessage && (name == argumentPath || name == argumentMedia) {
		if value, is = j.given[argumentPath]; !is {
			value, is = j.given[argumentMedia]
		}
		return value, is
	}
	value, is = j.given[name]
	return value, is
}

const (
	toolMessage     = "message"
	toolExec        = "exec"
	argumentCommand = "command"
	argumentEnv     = "env"
	argumentPath    = "path"
	argumentMedia   = "media"
	argumentWorkdir = "workdir"
)

// texts are the texts of an argument that a pattern may match. A file has a name in the workspace and one from the root, however it is
// written; a rule that allows sees only these. What MCP servers take for a file is theirs: a rule that allows sees it as it is written, if it
// does not lead upward.
func (j *judgedCall) texts(r *config.CallRule, name, text string) []string {
	own := j.spec.Group != tool.GroupMCP
	if name != argumentPath && name != argumentWorkdir && !(own && name == argumentMedia) {
		return []string{text}
	}
	switch {
	case r.Decision != config.CallAllow:
		return append(j.namesOf(text), text)
	case own:
		return j.namesOf(text)
	case slices.Contains(strings.FieldsFunc(text, func(c rune) bool { return c == '/' || c == '\\' }), ".."):
		return nil
	}
	return []string{text}
}

// namesOf are the names of a file: relative to the workspace, if it is in it, and absolute.
func (j *judgedCall) namesOf(given string) []string {
	given = filepath.Clean(given)
	all := []string{given}
	for _, from := range j.workspace {
		absolute := given
		if !filepath.IsAbs(given) {
			absolute = filepath.Join(from, given)
		}
		all = append(all, absolute)
		for _, dir := range j.workspace {
			if below, err := filepath.Rel(dir, absolute); err == nil && filepath.IsLocal(below) {
				all = append(all, filepath.ToSlash(below))
				for _, to := range j.workspace {
					all = append(all, filepath.Join(to, below))
				}
			}
		}
	}
	return all
}

// argumentText is an argument as patterns see it.
func argumentText(value json.RawMessage) (text string) {
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		return text
	}
	return string(value)
}
