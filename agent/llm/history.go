package llm

// NoResult replaces a missing result of a tool call whose run was stopped.
const NoResult = "No result: the call was interrupted before it ended. It may or may not have had an effect."

// Paired returns messages that every provider accepts, since most reject calls without results and vice versa: results
// without a preceding call and duplicate results are dropped, calls without a result get NoResult, results directly
// follow their calls in call order, and empty assistant messages are dropped. It returns messages itself if nothing
// changes.
func Paired(messages []Message) []Message {
	if paired(messages) {
		return messages
	}
	complete, results := make([]Message, 0, len(messages)+1), resultsOf(messages)
	for i := range messages {
		m := &messages[i]
		if m.Role == ToolRole || m.Role == Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			continue
		}
		complete = append(complete, *m)
		for j, call := range m.ToolCalls {
			if at := results[i][j]; at >= 0 {
				complete = append(complete, messages[at])
			} else {
				complete = append(complete, Message{Role: ToolRole, Text: NoResult, ToolCallID: call.ID, ToolName: call.Name, IsError: true})
			}
		}
	}
	return complete
}

// Resulting returns messages like Paired, but leaves calls at their end that have no results yet.
func Resulting(messages []Message) []Message {
	last := len(messages) - 1
	for last >= 0 && messages[last].Role == ToolRole {
		last--
	}
	if last < 0 {
		return nil
	}
	complete := append(Paired(messages[:last]), messages[last])
	results := resultsOf(messages[last:])[0]
	for _, at := range results {
		if at < 0 {
			break
		}
		complete = append(complete, messages[last+at])
	}
	return complete
}

// paired reports whether each call is followed by its result.
func paired(messages []Message) bool {
	var open []ToolCall
	for i := range messages {
		m := &messages[i]
		if m.Role == ToolRole {
			if len(open) == 0 || open[0].ID != m.ToolCallID {
				return false
			}
			open = open[1:]
			continue
		}
		if len(open) > 0 || m.Role == Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			return false
		}
		open = m.ToolCalls
	}
	return len(open) == 0
}

// resultsOf returns for each message the positions of its calls' results: the first one after it, but not after a
// later call with the same id. -1 is none.
func resultsOf(messages []Message) [][]int {
	all, next := make([][]int, len(messages)), map[string]int{}
	for i := len(messages) - 1; i >= 0; i-- {
		m := &messages[i]
		for _, call := range m.ToolCalls {
			at, found := next[call.ID]
			if !found {
				at = -1
			}
			all[i] = append(all[i], at)
		}
		for _, call := range m.ToolCalls {
			delete(next, call.ID)
		}
		if m.Role == ToolRole {
			next[m.ToolCallID] = i
		}
	}
	return all
}
