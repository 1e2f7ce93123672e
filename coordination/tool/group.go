package tool

// Tool groups.
const (
	GroupSessions = "sessions"
	GroupAgents   = "agents"
	GroupTasks    = "tasks"
	GroupPlans    = "plans"
	GroupMCP      = "mcp" // tools of MCP servers
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
	}
	return group
}
