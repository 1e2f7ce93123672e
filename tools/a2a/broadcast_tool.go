package a2a

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// BroadcastTool is sessions_broadcast. It is not for sub-agents, as sessions_send is not.
func BroadcastTool(c *Coordinator) tools.Tool {
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
			result, err := c.broadcastFor(ctx, call, &args)
			if err != nil {
				return tool.Output{}, err
			}
			return result.output()
		},
	}
}

const broadcastDescription = "Send one message to several agents at once, and get their answers together. Name them by agents, or a team: all, or " +
	"those of a role (lead, worker, specialist). You are not among them, nor are utility agents among a team. You wait 30 seconds for all answers " +
	"if you do not say otherwise; timeoutSeconds 0 does not wait. Each agent gets the message in a conversation of its own, and does not see " +
	"what the others answer; all of them are in one work session. results says for each agent what came of it. One who may not be written to is told " +
	"there, and the others get it all the same. Status ok: all have answered. partial or timeout: some have not answered yet, or did not get it; " +
	"what those answer who are late comes to this session as a message, so do not send it to them again. Write [NO_REPLY_NEEDED] or " +
	"[NOTIFICATION] into the message if you only inform. For a structured handoff, or to write to one agent, use sessions_send."

const broadcastSchema = `{"type":"object","additionalProperties":false,"required":["message"],"properties":{
	"message":{"type":"string","minLength":1,"description":"What you want to say, complete: nobody of them knows your conversation."},
	"agents":{"type":"array","minItems":1,"maxItems":50,"items":{"type":"string","minLength":1,"maxLength":64},
		"description":"The agents to write to; agents_list tells which you may (canSend). Give this or team."},
	"team":{"type":"string","enum":["all","lead","worker","specialist"],"description":"Write to all agents, or to all of a role, in place of agents."},
	"timeoutSeconds":{"type":"number","minimum":0,"maximum":3600,"description":"How long to wait for all answers; 30 if absent, 0: not at all."},
	"taskId":{"type":"string","maxLength":200,"description":"The task that the message is about."},
	"workSessionId":{"type":"string","maxLength":200,"description":"The work session of the message; that of the task, or your own, if absent."},
	"topicId":{"type":"string","maxLength":200,"description":"A name for what the message is about."}
}}`

// teamAll is the team of all agents; the others are roles.
const teamAll = "all"

type broadcastArgs struct {
	Message        string   `json:"message"`
	Agents         []string `json:"agents"`
	Team           string   `json:"team"`
	TimeoutSeconds *float64 `json:"timeoutSeconds"`
	TaskID         string   `json:"taskId"`
	WorkSessionID  string   `json:"workSessionId"`
	TopicID        string   `json:"topicId"`
}

// broadcastFor sends what a call of the tool asks for.
func (c *Coordinator) broadcastFor(ctx context.Context, call *tools.Call, args *broadcastArgs) (BroadcastResult, error) {
	b, refused := args.broadcast(call)
	if refused != nil {
		return refusedBroadcast(refused), nil
	}
	return c.Broadcast(ctx, b)
}

// broadcast is what the arguments ask for. Nothing is posted in the end: it would be posted once for each agent.
func (a *broadcastArgs) broadcast(call *tools.Call) (b Broadcast, refused *refusal) {
	b.Request = Request{
		From: call.Caller, Origin: originOf(call.Entry), Key: call.CallID, Message: a.Message, TaskID: coordination.TrimJS(a.TaskID),
		WorkSessionID: coordination.TrimJS(a.WorkSessionID), TopicID: coordination.TrimJS(a.TopicID), Wait: usualWait, NoAnnounce: true,
	}
	if a.TimeoutSeconds != nil {
		b.Wait = time.Duration(*a.TimeoutSeconds * float64(time.Second))
	}
	switch {
	case len(a.Agents) > 0 && a.Team != "":
		return b, &refusal{statusError, codeInvalid, "agents and team are both given", "give one of them"}
	case len(a.Agents) > 0:
		b.Targets = a.Agents
	case a.Team != "":
		if b.Targets = teamOf(call.Config, a.Team, call.AgentID); len(b.Targets) == 0 {
			return b, &refusal{statusError, codeNobody, fmt.Sprintf("there is nobody in team %s beside you", a.Team),
				"agents_list tells which agents there are; name them by agents"}
		}
	default:
		return b, &refusal{statusError, codeInvalid, "nobody is named to write to", "give agents or team"}
	}
	return b, nil
}

// codeNobody is that of a message to a team in which there is nobody to get it.
const codeNobody = "empty_team"

// teamOf are the agents of a team, in the order of the configuration, but for who sends to it and those who only ever work for another.
func teamOf(conf *config.Config, team, sender string) (ids []string) {
	for i := range conf.Agents {
		a := &conf.Agents[i]
		id := strings.ToLower(a.ID)
		if (team == teamAll || team == a.Role) && id != sender && !a.IsUtility() {
			ids = append(ids, id)
		}
	}
	return ids
}

// maxReplies is how many bytes the replies have in an answer of the tool, all together. Each may have its share.
const maxReplies = 160 << 10

// replyCut stands where the rest of a reply was left out.
const replyCut = "\n...(truncated)..."

// output is the answer of the tool. As JSON a text may be longer than it is: the replies get less room until all of it fits.
func (r *BroadcastResult) output() (out tool.Output, err error) {
	answer := tools.Answer
	if r.Status == statusError || r.Status == statusForbidden {
		answer = tools.Refuse
	}
	for most := maxReplies / max(len(r.Results), 1); ; most /= 2 {
		if out, err = answer(r.within(most)); err != nil || len(out.Details) <= tools.MaxOutput || most == 0 {
			return out, err
		}
	}
}

// within is a result in which no reply is longer than so many bytes.
func (r *BroadcastResult) within(most int) *BroadcastResult {
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
