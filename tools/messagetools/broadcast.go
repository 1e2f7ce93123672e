package messagetools

import (
	"context"
	"encoding/json"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
)

// Broadcast is sessions_broadcast. Sub-agents have neither it nor sessions_send.
func Broadcast(m *messenger.Service) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "sessions_broadcast", Group: tool.GroupSessions, Label: "Send a message to several agents", Description: broadcastDescription,
			Schema: json.RawMessage(broadcastSchema),
		},
		Who: tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[broadcastArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			result, err := m.Broadcast(ctx, args.request(call))
			if err != nil {
				return tool.Output{}, err
			}
			return output(&result)
		},
	}
}

const broadcastDescription = "Send one message to several agents and collect their answers. Name the agents, or a team: all, or every agent " +
	"with a role (lead, worker, specialist). A team excludes you and utility agents. The call waits up to 30 seconds for all answers; " +
	"timeoutSeconds changes that, and 0 does not wait. Each agent gets the message in a separate conversation and does not see " +
	"the other answers; all conversations share one work session. results lists the outcome for each agent, including agents that you may " +
	"not message; the others still get it. Status ok: all agents answered. Status partial or timeout: some did not answer yet or did not get it. " +
	"Late answers arrive in this session as messages, so do not send the message again. Write [NO_REPLY_NEEDED] or " +
	"[NOTIFICATION] in the message if no answer is needed. For a structured handoff or a single agent use sessions_send."

const broadcastSchema = `{"type":"object","additionalProperties":false,"required":["message"],"properties":{
	"message":{"type":"string","minLength":1,"description":"The message. Include all context: the agents do not see your conversation."},
	"agents":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"string","minLength":1,"maxLength":64},
		"description":"Ids of the agents to message; agents_list shows which you may (canSend). Give agents or team."},
	"team":{"type":"string","enum":["all","lead","worker","specialist"],"description":"Message all agents, or all with a role. Use instead of agents."},
	"timeoutSeconds":{"type":"number","minimum":0,"maximum":3600,"description":"Seconds to wait for all answers. Default 30; 0 does not wait."},
	"taskId":{"type":"string","maxLength":200,"description":"Id of the task the message is about."},
	"workSessionId":{"type":"string","maxLength":200,"description":"Work session of the message. Default: the work session of the task, else yours."},
	"topicId":{"type":"string","maxLength":200,"description":"Name of the topic."}
}}`

type broadcastArgs struct {
	Message        string   `json:"message"`
	Agents         []string `json:"agents"`
	Team           string   `json:"team"`
	TimeoutSeconds *float64 `json:"timeoutSeconds"`
	TaskID         string   `json:"taskId"`
	WorkSessionID  string   `json:"workSessionId"`
	TopicID        string   `json:"topicId"`
}

// request decodes the arguments. A broadcast announces nothing, or it would be announced once per agent.
func (a *broadcastArgs) request(call *tools.Call) messenger.Broadcast {
	b := messenger.Broadcast{Targets: a.Agents, Team: a.Team, Request: messenger.Request{
		From: call.Caller, Origin: messenger.OriginOf(call.Entry), Key: call.CallID, Message: a.Message, TaskID: coordination.TrimJS(a.TaskID),
		WorkSessionID: coordination.TrimJS(a.WorkSessionID), TopicID: coordination.TrimJS(a.TopicID), Wait: usualWait, NoAnnounce: true,
	}}
	if a.TimeoutSeconds != nil {
		b.Wait = time.Duration(*a.TimeoutSeconds * float64(time.Second))
	}
	return b
}

// maxReplies bounds the replies in one answer of the tool, in bytes. They share it evenly.
const maxReplies = 160 << 10

const replyCut = "\n...(truncated)..."

// output is the tool's answer. JSON escapes may lengthen texts: replies are cut further until all of it fits.
func output(r *messenger.BroadcastResult) (out tool.Output, err error) {
	answer := tools.Answer
	if r.Status == messenger.StatusError || r.Status == messenger.StatusForbidden {
		answer = tools.Refuse
	}
	for most := maxReplies / max(len(r.Results), 1); ; most /= 2 {
		if out, err = answer(within(r, most)); err != nil || len(out.Details) <= tools.MaxOutput || most == 0 {
			return out, err
		}
	}
}

// within returns the result with each reply cut to so many bytes.
func within(r *messenger.BroadcastResult, most int) *messenger.BroadcastResult {
	short := *r
	short.Results = slices.Clone(r.Results)
	for i := range short.Results {
		if one := &short.Results[i]; len(one.Reply) > most {
			end := max(most-len(replyCut), 0)
			for end > 0 && !utf8.RuneStart(one.Reply[end]) {
				end--
			}
			one.Reply = one.Reply[:end] + replyCut
		}
	}
	return &short
}
