package exectools

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/effects"
)

func isGone(err error) bool {
	var refused *tool.Error
	return errors.As(err, &refused) && refused.Code == tool.CodeNoProcess
}

// gone answers about a command of the caller's session that is not kept any more, by what the log has of it; otherwise with the error.
func (c *Commands) gone(ctx context.Context, call *tools.Call, args *processArguments, unknown error) (tool.Output, error) {
	agent, list, err := c.opts.Log.Recorded(ctx, args.SessionID)
	if err != nil {
		return tool.Output{}, fmt.Errorf("read what the log has of a command: %w", err)
	}
	if len(list) == 0 || agent != call.AgentID || list[0].SessionKey != call.SessionKey {
		return tool.Output{}, unknown
	}
	end := endOf(&list[len(list)-1])
	if !slices.Contains([]string{"poll", "log"}, args.Action) {
		return tool.Output{}, &tool.Error{Code: tool.CodeNoProcess, Field: "/sessionId", Text: "the command is over: " + end, Hint: "process with action log shows what the log has of its output"}
	}
	return tool.Output{Text: recordedText(list) + "\n[" + end + "]", IsError: list[len(list)-1].Exit != 0 || list[len(list)-1].Reason != ""}, nil
}

// endOf says how a command has ended, by the last that was recorded of it.
func endOf(last *coordination.ToolOutput) string {
	switch {
	case !last.Ended, last.Reason == effects.ReasonRestart:
		return "openclawd was restarted while the command was running, which ended it: how far it came is unknown. Find out before you run it again"
	case last.Reason != "":
		return "the command was ended: " + last.Reason
	}
	return fmt.Sprintf("exit status %d", last.Exit)
}

// recordedText is the end of the output in the log.
func recordedText(list []coordination.ToolOutput) string {
	var b strings.Builder
	for i := range list {
		if list[i].Dropped > 0 {
			fmt.Fprintf(&b, "[%d bytes are left out]\n", list[i].Dropped)
		}
		b.WriteString(list[i].Text)
	}
	text := strings.TrimRight(b.String(), "\n")
	if len(text) > maxAnswer {
		text = strings.ToValidUTF8(text[len(text)-maxAnswer:], "")
	}
	return text
}
