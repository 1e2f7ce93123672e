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
	mended := make([]Message, 0, len(messages)+1)
	for i := range messages {
		m := &messages[i]
		if m.Role == ToolRole || m.Role == Assistant && m.Text == "" && len(m.ToolCalls) == 0 {
			continue
		}
		mended = append(mended, *m)
		for _, call := range m.ToolCalls {
			mended = append(mended, resultOf(call, messages[i+1:]))
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

// resultOf finds the result of a call in what follows it. It ends where a later call has the same id.
func resultOf(call ToolCall, rest []Message) Message {
	for i := range rest {
		if m := &rest[i]; m.Role == ToolRole && m.ToolCallID == call.ID {
			return *m
		}
		for _, later := range rest[i].ToolCalls {
			if later.ID == call.ID {
				return Message{Role: ToolRole, Text: NoResult, ToolCallID: call.ID, ToolName: call.Name, IsError: true}
			}
		}
	}
	return Message{Role: ToolRole, Text: NoResult, ToolCallID: call.ID, ToolName: call.Name, IsError: true}
}
