package collaborate

import (
	"context"
	_ "embed"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/access"
)

// Name is the tool's.
const Name = "collaborate"

// guide is what agents are told of the tool, word for word as their people have written it.
//
//go:embed guide.md
var guide string

// Tool is the tool collaborate. It is for sessions of all kinds, and for every agent that may reach another one.
func (d *Desk) Tool() tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: Name, Group: tool.GroupSessions, Label: "Ask in Discord", Guide: guide,
			Description: "Ask another agent in a Discord thread, where people can read along. The thread is opened, or found again, and the agent is " +
				"mentioned there; it answers in the thread, later, where you take part and hear it. Here you find the answer " +
				"the next time that you run; nothing wakes you for it. Do not wait for it. In a thread that you share with " +
				"the agent already your message is an ordinary one.",
			Schema: tools.Object("targetAgent message", schemaTarget, schemaMessage, schemaPlace, schemaRest),
		},
		Who: tools.Who{NotUtility: true, Unless: reachesNobody},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[arguments](call)
			if err != nil {
				return tool.Output{}, err
			}
			return d.collaborate(ctx, call, &args)
		},
	}
}

const (
	schemaTarget = `"targetAgent":{"type":"string","minLength":1,"description":"The agent to ask: its id, e.g. eden."}`

	schemaMessage = `"message":{"type":"string","minLength":1,
		"description":"What you want of it, complete, in at most 2000 characters: it does not know your conversation."}`

	schemaPlace = `"threadId":{"type":"string","description":"A thread to go on in."},
		"channelId":{"type":"string","description":"The channel in which a new thread is opened; your own, or the usual one, if absent."},
		"threadName":{"type":"string","description":"What a new thread is about. The same name leads to the same thread again."}`

	schemaRest = `"accountId":{"type":"string","description":"The bot that speaks; your own if absent."},
		"idempotencyKey":{"type":"string","description":"The same key, within 5 minutes, is the same request."}`
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

// request is what the arguments ask for. Secrets in the message go no further than here.
func (a *arguments) request(call *tools.Call) (r collaborate.Request, masked bool) {
	r = collaborate.Request{From: call.AgentID, Target: a.TargetAgent, ThreadID: a.ThreadID, ChannelID: a.ChannelID, AccountID: a.AccountID,
		Key: a.IdempotencyKey}
	r.Message, r.ThreadName = masking(a.Message, &masked), masking(a.ThreadName, &masked)
	return r, masked
}

// reachesNobody reports whether the policy between agents leaves the caller nobody to ask.
func reachesNobody(call *tools.Call) bool {
	for i := range call.Config.Agents {
		other := &call.Config.Agents[i]
		if !strings.EqualFold(other.ID, call.AgentID) && access.DenyAgents(call.Config.Tools.AgentToAgent, call.AgentID, other.ID) == "" {
			return false
		}
	}
	return true
}
