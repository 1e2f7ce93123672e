package coordination

import "strings"

// RouteKey names the route between two agents within a work session: "<workSessionId>::<lo>|<hi>", the agents lower-case and sorted, so
// that both directions share it. It is not ok without a work session and both agents.
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

// FeedsRoute reports whether an event sets the conversation that its route continues with: a send, response or completion between main
// agents that names a work session, both agents and a conversation that is no child.
func FeedsRoute(r *Record, c Class) bool {
	switch r.Type {
	case TypeA2ASend, TypeA2AResponse, TypeA2AComplete:
	default:
		return false
	}
	return c.Role == RoleConversation && r.ParentConversationID == "" &&
		r.WorkSessionID != "" && r.ConversationID != "" && r.From() != "" && r.To() != ""
}

// RouteOfSession is the routeKey of events, "<session key of the sender>:<agent>", the design's conversation index. Outside of tasks a
// message continues the conversation of the last one with the same key.
func RouteOfSession(sessionKey, agent string) string {
	if sessionKey == "" || agent == "" {
		return ""
	}
	return sessionKey + ":" + strings.ToLower(agent)
}
