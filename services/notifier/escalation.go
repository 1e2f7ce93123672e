package notifier

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
)

const escalationSource = "escalations"

// escalations notifies people in a channel of what only they can resolve: one line each, with what to do.
type escalations struct {
	w       *watch
	channel string
}

func (x *escalations) id() string { return named(x.channel, escalationSource, "-") }

func (x *escalations) enabled(c *config.Config) bool { return hasNotices(c, x.channel) }

type alarm struct {
	subject    string // subject
	text, hint string
	in         coordination.Context
}

func (x *escalations) notification(_ context.Context, c *config.Config, e *eventstore.Event) (*notification, error) {
	var a *alarm
	var err error
	in := c.Language()
	switch e.Type {
	case coordination.TypeZombieAbandoned:
		a, err = x.zombie(in, e)
	case coordination.TypeUnblockFailed:
		a, err = x.stuck(in, e)
	case coordination.TypeDiscordDeliveryUnknown, coordination.TypeDiscordSendFailed:
		a, err = x.unposted(in, e)
	case coordination.TypeThreadSuspended:
		a, err = x.suspended(in, e)
	case coordination.TypeA2AForbidden:
		a, err = x.looping(in, e)
	}
	if err != nil {
		return nil, &permanentError{fmt.Errorf("read %s: %w", e.Type, err)}
	}
	if a == nil {
		return nil, nil
	}
	return &notification{subject: e.Type + " " + short(a.subject), work: func(eventstore.Tx) (*coordination.WorkScheduled, error) {
		d := x.w.toPeople(c, x.channel, delivery.Escalate, delivery.Alarm(in, a.text, a.hint))
		d.Context = contextOf(&a.in)
		return workOf(&d, named(x.channel, "escalation/"+strconv.FormatInt(e.Seq, 10), "/"))
	}}, nil
}

// zombie reports a task that was abandoned for good.
func (x *escalations) zombie(in coordination.Language, e *eventstore.Event) (*alarm, error) {
	var z coordination.ZombieAbandoned
	if err := json.Unmarshal(e.Data, &z); err != nil || z.Action != coordination.ZombieEscalated {
		return nil, err
	}
	name := x.name(e.AgentID)
	text := fmt.Sprintf(in.Say("%[2]s의 작업 `%[1]s`: %.0[3]f시간 동안 진행되지 않아 중단되었습니다 (%[4]d번째)",
		"task `%s` of %s was given up: no progress for %.0f hours (time %d)"), x.word(z.TaskID), name, z.AgeHours, z.ReassignCount)
	hint := fmt.Sprintf(in.Say("%s에게 `task_resume` 또는 `task_cancel`을 호출하게 하세요", "have %s call `task_resume` or `task_cancel`"), name)
	return &alarm{z.TaskID, text + x.alsoTold(in, z.ToldAgentID), hint, z.Context}, nil
}

// stuck reports a blocked task without an agent left to ask.
func (x *escalations) stuck(in coordination.Language, e *eventstore.Event) (*alarm, error) {
	var u coordination.Unblock
	if err := json.Unmarshal(e.Data, &u); err != nil || u.TargetAgentID != "" {
		return nil, err
	}
	why := in.Say("요청을 받은 에이전트가 모두 도움을 주지 못했습니다", "none of the agents that were asked has helped")
	hint := in.Say("도울 수 있는 사람을 찾은 뒤 `task_resume`을 호출하게 하세요", "find a person who can, then have `task_resume` called")
	switch continuation.Reason(u.Reason) {
	case continuation.NotDelivered:
		why = in.Say("도움을 요청할 수 없었습니다", "no agent could be asked for help")
		hint = in.Say("tools.agentToAgent 설정과 요청할 수 있는 에이전트를 확인하세요", "check tools.agentToAgent, and the agents that may be asked")
	case continuation.NobodyToAsk:
		why = in.Say("도움을 요청할 에이전트가 없습니다", "there is no agent to ask for help")
	case continuation.DependencyGone:
		why = fmt.Sprintf(in.Say("선행 작업 `%s`이(가) 완료되지 않았습니다", "task `%s`, which it depends on, was not completed"), x.word(u.Dependency))
		hint = in.Say("`task_cancel`을 호출하게 하고, 그 선행 작업 없이 다시 등록하세요", "have `task_cancel` called, and the task added again without that dependency")
	}
	text := fmt.Sprintf(in.Say("%[2]s의 작업 `%[1]s` 진행이 막혔습니다: %[3]s", "task `%s` of %s is blocked: %s"), x.word(u.TaskID), x.name(e.AgentID), why)
	return &alarm{u.TaskID, text + x.alsoTold(in, u.ToldAgentID), hint, u.Context}, nil
}

// unposted reports a message that was not posted, or may not have been. It skips notices themselves, which would cause notices forever,
// and requests between agents, which tools/collabtools reports.
func (x *escalations) unposted(in coordination.Language, e *eventstore.Event) (*alarm, error) {
	var o coordination.DiscordOutbound
	if err := json.Unmarshal(e.Data, &o); err != nil || !o.Escalate || o.CollabID != "" {
		return nil, err
	}
	switch o.Purpose {
	case delivery.Escalate, delivery.Approval, delivery.Report, delivery.Request, delivery.Reminder:
		return nil, nil
	}
	place := x.word(cmp.Or(o.ThreadID, o.ChannelID))
	text := fmt.Sprintf(in.Say("%s에 메시지가 게시되었는지 알 수 없습니다 (`%s`)", "it is unknown whether a message was posted in %s (`%s`)"), x.place(place),
		x.word(o.EffectID))
	hint := in.Say("메시지가 없으면 다음을 실행하세요:", "if it is not there:")
	if e.Type == coordination.TypeDiscordSendFailed {
		text = fmt.Sprintf(in.Say("%s에 메시지를 게시하지 못했습니다 (%s: %s)", "a message was not posted in %s (%s: %s)"), x.place(place), x.word(o.ErrorCode), x.word(o.Error))
		hint = in.Say("원인을 해결한 뒤 다음을 실행하세요:", "fix the cause, then")
	}
	return &alarm{place + " " + o.ErrorCode, text, hint + " `openclawd work resend " + x.word(o.EffectID) + "`", o.Context}, nil
}

// suspended reports a channel or thread in which bots have talked too much.
func (x *escalations) suspended(in coordination.Language, e *eventstore.Event) (*alarm, error) {
	var t coordination.Thread
	if err := json.Unmarshal(e.Data, &t); err != nil || t.ThreadID == "" {
		return nil, err
	}
	text := fmt.Sprintf(in.Say("%s에서 봇들의 대화가 너무 많아 멈추었습니다 (%s)", "bots talk too much in %s and are suspended (%s)"), x.place(x.word(t.ThreadID)), x.word(t.Reason))
	if t.UntilMs > 0 {
		text += fmt.Sprintf(in.Say(", %s까지", ", until %s"), clock(x.channel, t.UntilMs))
	}
	hint := in.Say("대화를 확인하고, 계속하게 하려면 그곳에 직접 글을 남기세요", "read what they say; write something there yourself to let them continue")
	return &alarm{t.ThreadID, text, hint, t.Context}, nil
}

// looping reports agents that have caused each other to act in a loop, at most once in a while per chain of causes.
func (x *escalations) looping(in coordination.Language, e *eventstore.Event) (*alarm, error) {
	var r coordination.A2ARefusal
	if err := json.Unmarshal(e.Data, &r); err != nil || !chain.IsCode(r.Code) {
		return nil, err
	}
	text := fmt.Sprintf(in.Say("에이전트들의 반복을 끊었습니다: %s → %s (%s: %s)", "a loop of agents was cut: %s was kept from having %s act (%s: %s)"),
		x.name(r.FromAgent), x.name(r.ToAgent), x.word(r.Code), x.word(r.Reason))
	hint := fmt.Sprintf(in.Say("무엇을 하고 있는지 확인하세요 (`openclawd trace %s`). 에이전트에게 직접 말을 걸면 다시 이어 갑니다. 한도는 agents.defaults.a2aLoopGuard에 있습니다",
		"check what they do (`openclawd trace %s`); a message from you to one of them lets it continue; agents.defaults.a2aLoopGuard has the limits"),
		x.word(cmp.Or(r.RootRunID, r.ParentRunID)))
	return &alarm{cmp.Or(r.RootRunID, r.FromAgent+" "+r.ToAgent), text, hint, r.Context}, nil
}

func (x *escalations) alsoTold(in coordination.Language, agent string) string {
	if agent == "" {
		return ""
	}
	return "; " + fmt.Sprintf(in.Say("%s에게도 알렸습니다", "%s was told, too"), x.name(agent))
}

// place names a place: in Discord its own ones as a link.
func (x *escalations) place(id string) string {
	if x.channel == coordination.Discord && coordination.ChannelOf(id) == coordination.Discord {
		return "<#" + id + ">"
	}
	return "`" + id + "`"
}

// clock is a time, ms since 1970, which Discord shows in each reader's time zone.
func clock(channel string, at int64) string {
	if channel == coordination.Discord {
		return fmt.Sprintf("<t:%d:t>", at/1000)
	}
	return time.UnixMilli(at).UTC().Format("15:04 UTC")
}

func (x *escalations) name(agent string) string { return x.word(x.w.names().Name(agent)) }
func (x *escalations) word(text string) string  { return x.w.line(text, textLength) }
