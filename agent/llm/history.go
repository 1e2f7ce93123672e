package llm

// NoResult stands for the result of a call of which none is known: whoever called the tool was stopped.
const NoResult = "No result: the call was interrupted before it ended. It may or may not have had an effect."

// Paired gives messages that any provider takes, for most refuse a call without a result and a result without a call: results that
// answer no call before them are left out, as are second ones, and calls without a result get NoResult. Results stand right after their
// calls, in the order of the calls. Messages of an assistant that say nothing are left out. It returns messages itself if there is nothing to mend.
func Paired(messages []Message) []Message {
	if paired(messages) {
		return messages
	}
	mended, results := make([]Message, 0, len(messages)+1), resultsOf(messages)
	for i := range messages {
		m := &messages[i]
		if m.Role == ToolRole || m.Role == Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			continue
		}
		mended = append(mended, *m)
		for j, call := range m.ToolCalls {
			if at := results[i][j]; at >= 0 {
				mended = append(mended, messages[at])
			} else {
				mended = append(mended, Message{Role: ToolRole, Text: NoResult, ToolCallID: call.ID, ToolName: call.Name, IsError: true})
			}
		}
	}
	return mended
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

// resultsOf says for each message where the results of its calls are: the first behind it, but none behind a later call with the same id.
// -1 is none.
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
