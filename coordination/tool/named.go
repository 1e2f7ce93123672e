package tool

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Groups with a meaning of their own: all of openclawd's tools, and those of MCP servers as OpenClaw names them.
const (
	everyGroup   = "openclaw"
	pluginsGroup = "plugins"
	bundleMCP    = "bundle-mcp"
)

// GroupMCPChanges are the tools of MCP servers that do not say that they only read.
const GroupMCPChanges = "mcp-changes"

// Tools that run commands, and that reach those under way.
const (
	NameExec    = "exec"
	NameProcess = "process"
)

// IsGroup reports whether there is a group of tools.
func IsGroup(name string) bool {
	return slices.Contains([]string{GroupSessions, GroupAgents, GroupTasks, GroupPlans, GroupMCP, GroupFiles, GroupRuntime, GroupWeb, GroupMCPChanges,
		everyGroup, pluginsGroup}, name)
}

// Names reports whether a list names a tool: by name, with * as wildcard, or as group:<its group>. The tools of MCP servers are bundle-mcp,
// group:mcp and group:plugins; those that may change something are group:mcp-changes.
func Names(list []string, s *Spec) bool {
	return slices.ContainsFunc(list, func(pattern string) bool { return names(pattern, s) })
}

func names(pattern string, s *Spec) bool {
	pattern = strings.ToLower(coordination.TrimJS(pattern))
	group, is := strings.CutPrefix(pattern, "group:")
	switch {
	case is && s.Group == GroupMCP:
		return group == GroupMCP || group == pluginsGroup || group == GroupMCPChanges && !s.ReadOnly
	case is:
		return group == everyGroup || group != "" && group == s.Group
	}
	return coordination.Matches(pattern, s.Name) || pattern == bundleMCP && s.Group == GroupMCP
}

// Restricts reports whether a list of restricted tools holds for a call. It does if it names the tool; a pattern or group does not reach the
// tools of tasks and plans, which lift the restriction. What gives input to a command is restricted as the command is.
func Restricts(list []string, s *Spec, args json.RawMessage) bool {
	for _, pattern := range list {
		isName := !strings.Contains(pattern, "*") && !strings.Contains(pattern, ":")
		if names(pattern, s) && (isName || s.Group != GroupTasks && s.Group != GroupPlans) {
			return true
		}
	}
	return GivesInput(s, args) && Names(list, &Spec{Name: NameExec, Group: GroupRuntime})
}

// GivesInput reports whether a call may give input to a command, by which a shell runs others.
func GivesInput(s *Spec, args json.RawMessage) bool {
	if s.Name != NameProcess || s.Group != GroupRuntime {
		return false
	}
	var given struct{ Action string }
	if json.Unmarshal(args, &given) != nil {
		return true
	}
	return !slices.Contains([]string{"list", "poll", "log", "kill", "clear", "remove"}, given.Action)
}
