package collabtools

import (
	"context"
	_ "embed"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/access"
	"github.com/pronto-lab/openclawd/tools"
)

// Name is the tool's name.
const Name = "collaborate"

// guide is the text about the tool in prompts, verbatim as its authors wrote it.
//
//go:embed guide.md
var guide string

// Tool is collaborate, for sessions of all kinds and every agent that may reach another one.
func (s *Service) Tool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: Name, Group: tool.GroupSessions, Label: "Ask in a thread", Guide: guide,
			Description: "Ask another agent in a thread of Discord, Telegram or Slack that people can read. A thread is opened or reused, and the agent is mentioned " +
				"in it. The agent answers in the thread later, where you take part. This session gets the answer at its next run; " +
				"no run starts for it, so do not wait. In a thread that you already share with the agent, the request is a plain message.",
			Schema: tools.Object("targetAgent message", schemaTarget, schemaMessage, schemaPlace, schemaRest),
		},
		Who: tools.Who{NotUtility: true, Unless: reachesNoAgent},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[arguments](call)
			if err != nil {
				return tool.Output{}, err
			}
			return s.collaborate(ctx, call, &args)
		},
	}
}

const (
	schemaTarget = `"targetAgent":{"type":"string","minLength":1,"description":"Id of the agent to ask, e.g. eden."}`

	schemaMessage = `"message":{"type":"string","minLength":1,
		"description":"Your request, at most 2000 characters. Include all context: the agent does not see your conversation."}`

	schemaPlace = `"threadId":{"type":"string","description":"An existing thread to continue in."},
		"channelId":{"type":"string","description":"Channel for a new thread; its id says whether it is in Discord, Telegram or Slack. Default: your channel, or the default channel."},
		"threadName":{"type":"string","description":"Topic of a new thread. The same name reuses the same thread."}`

	schemaRest = `"accountId":{"type":"string","description":"Bot account that posts. Default: your own."},
		"idempotencyKey":{"type":"string","description":"A repeated key within 5 minutes counts as the same request."}`
)

type arguments struct {
	TargetAgent    string `json:"targetAgent"`
	Message        string `json:"message"`
	ThreadID       string `json:"threadId"`
	ChannelID      string `json:"channelId"`
	ThreadName     string `json:"threadName"`
	AccountID      string `json:"accountId"`
	IdempotencyKey string `json:"idempotencyKey"`
}

// request decodes the arguments. Secrets in the message are masked here.
func (a *arguments) request(call *tools.Call) (r collaborate.Request, masked bool) {
	r = collaborate.Request{From: call.AgentID, Target: a.TargetAgent, ThreadID: a.ThreadID, ChannelID: a.ChannelID, AccountID: a.AccountID,
		Key: a.IdempotencyKey}
	r.Message, r.ThreadName = masking(a.Message, &masked), masking(a.ThreadName, &masked)
	return r, masked
}

// reachesNoAgent reports whether the agent-to-agent policy leaves the caller no agent to ask.
func reachesNoAgent(call *tools.Call) bool {
	for i := range call.Config.Agents {
		other := &call.Config.Agents[i]
		if !strings.EqualFold(other.ID, call.AgentID) && access.DenyAgents(call.Config.Tools.AgentToAgent, call.AgentID, other.ID) == "" {
			return false
		}
	}
	return true
}
