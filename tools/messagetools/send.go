// Package messagetools defines the tools with which agents write to each other: sessions_send and sessions_broadcast.
package messagetools

import (
	"context"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/messenger"
	"github.com/pronto-lab/openclawd/tools"
)

// Tools returns the tools of this package.
func Tools(m *messenger.Service) []tools.Tool { return []tools.Tool{Send(m), Broadcast(m)} }

// Send is sessions_send. Sub-agents do not have it: they report only to the agent that started them.
func Send(m *messenger.Service) tools.Tool {
	return tools.Tool{
		Spec: tool.Spec{
			Name: "sessions_send", Group: tool.GroupSessions, Label: "Send a message", Description: sendDescription, Schema: json.RawMessage(sendSchema),
		},
		Who: tools.Who{NotFrom: []coordination.KeyKind{coordination.KeySubagent}},
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			args, err := tools.Decode[sendArgs](call)
			if err != nil {
				return tool.Output{}, err
			}
			result, err := m.SendTo(ctx, args.request(call), messenger.Address{SessionKey: args.SessionKey, SessionID: args.SessionID,
				Label: args.Label, AgentID: args.AgentID})
			switch {
			case err != nil:
				return tool.Output{}, err
			case result.Status == messenger.StatusError || result.Status == messenger.StatusForbidden:
				return tools.Refuse(result)
			}
			return tools.Answer(result)
		},
	}
}

const sendDescription = "Send a message to another agent, or to another of your sessions, and get the answer. Identify the target by agentId " +
	"(the agent's main session), sessionKey or label. The call waits up to 30 seconds for the answer; timeoutSeconds changes that. Set it " +
	"to 0 to ask several agents at once or for long work: the status is then accepted, and the answers arrive in this session as " +
	"messages, unless replyBack is false or the message is itself an answer. If the target is waiting for your answer, the status is " +
	"accepted at once, too. Status timeout is not a failure: the message was accepted and the exchange continues, so do not send it again. " +
	"If no answer arrives at all, you get a message that begins with [outcome]. Write [NO_REPLY_NEEDED] or [NOTIFICATION] in the message if no answer is needed. " +
	"payloadJson adds a structured handoff, which is recorded and tracked; the message must still make sense without it."

const payloadDescription = "A structured handoff of one of four types. task_delegation hands over work: {type, taskId, taskTitle, " +
	"taskDescription, context?, deadline?, priority? critical|high|medium|low, acceptanceCriteria?[]}. status_report reports on such work: " +
	"{type, taskId, status in_progress|completed|blocked|failed, completedWork?, remainingWork?, blockers?[], progressPercent? 0-100, " +
	"artifacts?[]}. question asks something: {type, questionId, question, context?, urgency? urgent|normal|low, options?[]}. answer answers a question: {type, " +
	"questionId, answer, confidence? 0-1, references?[]}. An invalid payload is not sent; payloadWarnings has the reason. An identical " +
	"task_delegation or question that is still open is not sent again."

const sendSchema = `{"type":"object","additionalProperties":false,"required":["message"],"properties":{
	"sessionKey":{"type":"string","maxLength":512,"description":"Key of the target session, e.g. agent:seum:main, or its id."},
	"sessionId":{"type":"string","maxLength":512,"description":"Alias of sessionKey."},
	"label":{"type":"string","maxLength":128,"description":"Label of the target session, instead of sessionKey; agentId names its agent."},
	"agentId":{"type":"string","maxLength":64,"description":"Id of the agent to message; agents_list shows which you may (canSend)."},
	"message":{"type":"string","minLength":1,"description":"The message. Include all context: the target does not see your conversation."},
	"timeoutSeconds":{"type":"number","minimum":0,"maximum":3600,"description":"Seconds to wait for the answer. Default 30; 0 does not wait."},
	"payloadJson":{"type":["string","object"],"description":"` + payloadDescription + `"},
	"replyBack":{"type":"boolean","description":"false: the exchange ends after the first answer of the target."},
	"announceStep":{"type":"boolean","description":"false: no summary is posted to the channel at the end of the exchange."},
	"taskId":{"type":"string","maxLength":200,"description":"Id of the task the message is about."},
	"workSessionId":{"type":"string","maxLength":200,"description":"Work session of the message. Default: the work session of the task, else yours."},
	"conversationId":{"type":"string","maxLength":200,"description":"Conversation to continue. Default: your conversation with the target."},
	"parentConversationId":{"type":"string","maxLength":200,"description":"Conversation to continue if conversationId is absent."},
	"topicId":{"type":"string","maxLength":200,"description":"Name of the topic."},
	"depth":{"type":"number","minimum":0,"maximum":1000,"description":"Delegation depth of the message. Leave it out."},
	"hop":{"type":"number","minimum":0,"maximum":1000,"description":"How often the message was forwarded. Leave it out: it is counted."}
}}`

const usualWait = 30 * time.Second

type sendArgs struct {
	SessionKey           string          `json:"sessionKey"`
	SessionID            string          `json:"sessionId"`
	Label                string          `json:"label"`
	AgentID              string          `json:"agentId"`
	Message              string          `json:"message"`
	TimeoutSeconds       *float64        `json:"timeoutSeconds"`
	PayloadJSON          json.RawMessage `json:"payloadJson"`
	ReplyBack            *bool           `json:"replyBack"`
	AnnounceStep         *bool           `json:"announceStep"`
	TaskID               string          `json:"taskId"`
	WorkSessionID        string          `json:"workSessionId"`
	ConversationID       string          `json:"conversationId"`
	ParentConversationID string          `json:"parentConversationId"`
	TopicID              string          `json:"topicId"`
	Depth                *float64        `json:"depth"`
	Hop                  *float64        `json:"hop"`
}

// request decodes the arguments except the target.
func (a *sendArgs) request(call *tools.Call) messenger.Request {
	r := messenger.Request{
		From: call.Caller, Origin: messenger.OriginOf(call.Entry), Key: call.CallID, Message: a.Message, Payload: a.payload(), TaskID: coordination.TrimJS(a.TaskID),
		WorkSessionID: coordination.TrimJS(a.WorkSessionID), ConversationID: coordination.TrimJS(a.ConversationID),
		ParentConversationID: coordination.TrimJS(a.ParentConversationID), TopicID: coordination.TrimJS(a.TopicID),
		Depth: whole(a.Depth), Hop: whole(a.Hop), Wait: usualWait,
		NoTurns: a.ReplyBack != nil && !*a.ReplyBack, NoAnnounce: a.AnnounceStep != nil && !*a.AnnounceStep,
	}
	if a.TimeoutSeconds != nil {
		r.Wait = time.Duration(*a.TimeoutSeconds) * time.Second
	}
	return r
}

// payload returns the payload as JSON, given as a text or as an object.
func (a *sendArgs) payload() string {
	var text string
	if json.Unmarshal(a.PayloadJSON, &text) == nil {
		return text
	}
	return string(a.PayloadJSON)
}

// whole drops the fraction of a number.
func whole(number *float64) *int {
	if number == nil {
		return nil
	}
	n := int(*number)
	return &n
}
