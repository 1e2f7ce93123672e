package tool

// Groups of tools.
const (
	GroupSessions = "sessions"
	GroupAgents   = "agents"
	GroupTasks    = "tasks"
	GroupPlans    = "plans"
)

// GroupLabel is what people call a group. One that is not known here is called by its name.
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
	}
	return group
}
