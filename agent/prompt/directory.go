package prompt

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// Directory is where an agent's files are. Its own setting counts first. The agent that answers where nobody is named has that of all
// agents next, then workspace-<id> or, where only that is there, workspace. Other agents have workspace-<id>; where that is not there, and
// the setting of all agents names a directory that holds one called like the agent, that one. stateDir is where workspaces are, and what
// relative paths are relative to; home stands for ~, and ~/.openclaw for the state directory, wherever that is: a copy of it keeps to itself.
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

// usualState is how a configuration calls the state directory.
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
