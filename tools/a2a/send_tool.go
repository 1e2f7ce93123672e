package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// SendTool is sessions_send. It is not for sub-agents: they do the work that they were given, and tell whoever gave it.
func SendTool(c *Coordinator) tools.Tool {
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
			result, err := c.sendFor(ctx, call, &args)
			switch {
			case err != nil:
				return tool.Output{}, err
			case result.Status == statusError || result.Status == statusForbidden:
				return tools.Refuse(result)
			}
			return tools.Answer(result)
		},
	}
}

const sendDescription = "Send a message to another agent, or to another session of your own, and get its answer. Name the target by agentId " +
	"(that agent's main session), by sessionKey, or by label. You wait 30 seconds for the answer if you do not say otherwise. Set timeoutSeconds " +
	"to 0 to ask several agents at once, or if the work takes long: the status is accepted then, and what they answer comes to this session as a " +
	"message, unless replyBack is false, or the message is itself an answer. Who waits for your answer cannot give you one before, so to them it is " +
	"accepted at once, too. Status timeout is no failure: the message was taken on and the exchange goes on without you, so do not send it again. " +
	"If in the end nobody answers, a message that begins with [outcome] tells you so. Write [NO_REPLY_NEEDED] or [NOTIFICATION] into the message if you only inform. With " +
	"payloadJson the target gets a structured handoff, which is recorded and tracked; write the message for reading all the same."

const payloadDescription = "A structured handoff, of one of four types. task_delegation gives work away: {type, taskId, taskTitle, " +
	"taskDescription, context?, deadline?, priority? critical|high|medium|low, acceptanceCriteria?[]}. status_report tells how such work stands: " +
	"{type, taskId, status in_progress|completed|blocked|failed, completedWork?, remainingWork?, blockers?[], progressPercent? 0-100, " +
	"artifacts?[]}. question asks: {type, questionId, question, context?, urgency? urgent|normal|low, options?[]}. answer answers one: {type, " +
	"questionId, answer, confidence? 0-1, references?[]}. One that breaks these rules is left out, and payloadWarnings says why. An equal " +
	"task_delegation or question that is still open is not sent twice."

const sendSchema = `{"type":"object","additionalProperties":false,"required":["message"],"properties":{
	"sessionKey":{"type":"string","maxLength":512,"description":"The session to write to: its key, e.g. agent:seum:main, or its id."},
	"sessionId":{"type":"string","maxLength":512,"description":"The same as sessionKey."},
	"label":{"type":"string","maxLength":128,"description":"The label of the session to write to, in place of sessionKey; agentId says whose."},
	"agentId":{"type":"string","maxLength":64,"description":"The agent to write to; agents_list tells which you may (canSend)."},
	"message":{"type":"string","minLength":1,"description":"What you want to say, complete: the target does not know your conversation."},
	"timeoutSeconds":{"type":"number","minimum":0,"maximum":3600,"description":"How long to wait for the answer; 30 if absent, 0: not at all."},
	"payloadJson":{"type":["string","object"],"description":"` + payloadDescription + `"},
	"replyBack":{"type":"boolean","description":"false: the target answers once, and you do not reply to each other after that."},
	"announceStep":{"type":"boolean","description":"false: no summary is posted in the channel when the exchange is over."},
	"taskId":{"type":"string","maxLength":200,"description":"The task that the message is about."},
	"workSessionId":{"type":"string","maxLength":200,"description":"The work session of the message; that of the task, or your own, if absent."},
	"conversationId":{"type":"string","maxLength":200,"description":"The conversation to go on with; the one you have with the target if absent."},
	"parentConversationId":{"type":"string","maxLength":200,"description":"The conversation that this message goes on with, where conversationId names none."},
	"topicId":{"type":"string","maxLength":200,"description":"A name for what the message is about."},
	"depth":{"type":"number","minimum":0,"maximum":1000,"description":"How deep in a delegation the message is; leave it out."},
	"hop":{"type":"number","minimum":0,"maximum":1000,"description":"How often the message was passed on; leave it out, it is counted."}
}}`

// usualWait is how long a sender waits who does not say.
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

// sendFor sends what a call of the tool asks for.
func (c *Coordinator) sendFor(ctx context.Context, call *tools.Call, args *sendArgs) (Result, error) {
	r := args.request(call)
	target, refused, err := c.target(ctx, call, args)
	if err != nil {
		return Result{}, err
	}
	if refused != nil {
		return c.unsent(ctx, &r, args, refused)
	}
	r.Target = target
	return c.Send(ctx, r)
}

// request is what the arguments ask for, but for the target.
func (a *sendArgs) request(call *tools.Call) Request {
	r := Request{
		From: call.Caller, Origin: originOf(call.Entry), Key: call.CallID, Message: a.Message, Payload: a.payload(), TaskID: coordination.TrimJS(a.TaskID),
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

// payload is the JSON of the payload: the text that was given, or the object itself.
func (a *sendArgs) payload() string {
	var text string
	if json.Unmarshal(a.PayloadJSON, &text) == nil {
		return text
	}
	return string(a.PayloadJSON)
}

// whole is a number without its fraction.
func whole(number *float64) *int {
	if number == nil {
		return nil
	}
	n := int(*number)
	return &n
}

// originOf is by which way a message came.
func originOf(entry tool.Entry) string {
	if entry == tool.ByRun {
		return "tool"
	}
	return string(cmp.Or(entry, "tool"))
}
