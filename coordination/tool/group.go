package tool

// Tool groups.
const (
	GroupSessions = "sessions"
	GroupAgents   = "agents"
	GroupTasks    = "tasks"
	GroupPlans    = "plans"
	GroupMCP      = "mcp" // tools of MCP servers
	GroupFiles    = "fs"
	GroupRuntime  = "runtime" // commands
	GroupWeb      = "web"
)

// GroupLabel returns the display name of a group; an unknown group's own name.
func GroupLabel(group string) string {
	switch group {
	case GroupSessions:
		return "Sessions"
	case GroupAgents:
		return "Agents"
	case GroupTasks:
		return "Tasks"
	case GroupPlans:
		return "Plans and milestones"
	case GroupMCP:
		return "MCP servers"
	case GroupFiles:
		return "Files"
	case GroupRuntime:
		return "Commands"
	case GroupWeb:
		return "Web"
	}
	return group
}
