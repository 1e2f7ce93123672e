package coordination

import "strings"

// RouteKey names the route between two agents within a work session: "<workSessionId>::<lo>|<hi>", the agents
// lower-case and sorted, so that both directions share it. It is not ok without a work session or without both agents.
func RouteKey(workSessionID, a, b string) (key string, ok bool) {
	ws, lo, hi := TrimJS(workSessionID), strings.ToLower(TrimJS(a)), strings.ToLower(TrimJS(b))
	if ws == "" || lo == "" || hi == "" {
		return "", false
	}
	if hi < lo {
		lo, hi = hi, lo
	}
	return ws + "::" + lo + "|" + hi, true
}

// FeedsRoute says whether an event tells which conversation its route continues with: sends, responses and completions
// between main agents that name a work session, both agents and a conversation, and are no child conversation's.
func FeedsRoute(r *Record, c Class) bool {
	switch r.Type {
	case TypeA2ASend, TypeA2AResponse, TypeA2AComplete:
	default:
		return false
	}
	return c.Role == RoleConversation && r.ParentConversationID == "" &&
		r.WorkSessionID != "" && r.ConversationID != "" && r.From() != "" && r.To() != ""
}

// RouteOfSession is the routeKey of events: "<session key of the sender>:<agent>", as the conversation index of the design names what continues
// over the turns of a user. Outside of tasks a message goes on with the conversation of the last one with the same key.
func RouteOfSession(sessionKey, agent string) string {
	if sessionKey == "" || agent == "" {
		return ""
	}
	return sessionKey + ":" + strings.ToLower(agent)
}
