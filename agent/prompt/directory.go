package prompt

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// Directory returns where an agent's files are, "" for an invalid id. The agent's own workspace setting comes first.
// The default agent has agents.defaults.workspace next, then workspace-<id> or, if only that exists, workspace. Other
// agents have workspace-<id>; if that does not exist, the subdirectory of agents.defaults.workspace with their id, if
// there is one. Workspaces are in stateDir, and relative paths start there. home stands for ~, but ~/.openclaw is
// always stateDir: a copy of a state directory uses its own workspaces.
func Directory(c *config.Config, stateDir, home, agentID string) string {
	id := strings.ToLower(strings.TrimSpace(agentID))
	if id == "" || !filepath.IsLocal(id) || strings.ContainsAny(id, `/\`) {
		return ""
	}
	at := func(path string) string { return resolved(path, stateDir, home) }
	if a := c.AgentNamed(id); a != nil && a.Workspace != "" {
		return at(a.Workspace)
	}
	own, shared := filepath.Join(stateDir, "workspace-"+id), at(c.Defaults.Workspace)
	if id == c.DefaultAgentID() {
		if shared != "" {
			return shared
		}
		if older := filepath.Join(stateDir, "workspace"); !isDir(own) && isDir(older) {
			return older
		}
		return own
	}
	if shared != "" && !isDir(own) && isDir(filepath.Join(shared, id)) {
		return filepath.Join(shared, id)
	}
	return own
}

// usualState is how a configuration names the state directory.
const usualState = "~/.openclaw"

func resolved(path, stateDir, home string) string {
	path = strings.TrimSpace(path)
	switch {
	case path == "":
		return ""
	case path == "~":
		return home
	case path == usualState, strings.HasPrefix(path, usualState+"/"):
		return filepath.Join(stateDir, path[len(usualState):])
	case strings.HasPrefix(path, "~/"):
		return filepath.Join(home, path[2:])
	case filepath.IsAbs(path):
		return filepath.Clean(path)
	}
	return filepath.Join(stateDir, path)
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
