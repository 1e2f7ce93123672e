package notify

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/eventstore"
)

const escalationSource = "escalations"

// escalations tells people what nobody else can mend: one line for each thing, with what to do.
type escalations struct{ w *watch }

func (x *escalations) id() string { return escalationSource }

func (x *escalations) wanted(c *config.Config) bool { return tellsPeople(c) }

// alarm is what people are told.
type alarm struct {
	subject    string // what it is about
	text, mend string
	in         coordination.Context
}

func (x *escalations) tell(_ context.Context, c *config.Config, e *eventstore.Event) (*telling, error) {
	var a *alarm
	var err error
	switch e.Type {
	case coordination.TypeZombieAbandoned:
		a, err = x.zombie(e)
	case coordination.TypeUnblockFailed:
		a, err = x.stuck(e)
	case coordination.TypeDiscordDeliveryUnknown, coordination.TypeDiscordSendFailed:
		a, err = x.unposted(e)
	case coordination.TypeThreadSuspended:
		a, err = x.suspended(e)
	}
	if err != nil {
		return nil, &unsayable{fmt.Errorf("read %s: %w", e.Type, err)}
	}
	if a == nil {
		return nil, nil
	}
	return &telling{subject: e.Type + " " + short(a.subject), work: func(eventstore.Tx) (*coordination.WorkScheduled, error) {
		d := x.w.toPeople(c, delivery.Escalate, "**에스컬레이션** · "+a.text+" → "+a.mend)
		d.Context = contextOf(&a.in)
		return workOf(&d, "escalation/"+strconv.FormatInt(e.Seq, 10))
	}}, nil
}

// zombie is a task that was taken away for good.
func (x *escalations) zombie(e *eventstore.Event) (*alarm, error) {
	var z coordination.ZombieAbandoned
	if err := json.Unmarshal(e.Data, &z); err != nil || z.Action != coordination.ZombieEscalated {
		return nil, err
	}
	text := fmt.Sprintf("%s의 작업 `%s`: %.0f시간 동안 아무도 진행하지 않아 중단됨 (%d번째)", x.name(e.AgentID), x.word(z.TaskID), z.AgeHours, z.ReassignCount)
	return &alarm{z.TaskID, text + x.alsoTold(z.ToldAgentID), x.name(e.AgentID) + "에게 `task_resume` 또는 `task_cancel`을 지시하세요", z.Context}, nil
}

// stuck is a task about which nobody is asked any more.
func (x *escalations) stuck(e *eventstore.Event) (*alarm, error) {
	var u coordination.Unblock
	if err := json.Unmarshal(e.Data, &u); err != nil || u.TargetAgentID != "" {
		return nil, err
	}
	why, mend := "요청한 에이전트들이 답하지 않음", "도울 수 있는 사람을 찾아 알려 준 뒤 `task_resume`을 지시하세요"
	switch continuation.Reason(u.Reason) {
	case continuation.NotDelivered:
		why, mend = "도움 요청을 전달할 수 없음", "tools.agentToAgent 정책과 대상 에이전트를 확인하세요"
	case continuation.NobodyToAsk:
		why = "도움을 요청할 에이전트가 없음"
	case continuation.DependencyGone:
		why = "선행 작업 `" + x.word(u.Dependency) + "`이(가) 완료되지 않아 시작할 수 없음"
		mend = "`task_cancel` 후 그 의존성 없이 다시 추가하게 하세요"
	}
	text := fmt.Sprintf("%s의 작업 `%s`이(가) 막혀 있음: %s", x.name(e.AgentID), x.word(u.TaskID), why)
	return &alarm{u.TaskID, text + x.alsoTold(u.ToldAgentID), mend, u.Context}, nil
}

// unposted is what was not posted, or of which nobody knows whether it was. What is itself told to people is not told of, or it would go on for
// ever; and of what agents ask each other tools/collaborate tells.
func (x *escalations) unposted(e *eventstore.Event) (*alarm, error) {
	var o coordination.DiscordOutbound
	if err := json.Unmarshal(e.Data, &o); err != nil || !o.Escalate || o.CollabID != "" {
		return nil, err
	}
	switch o.Purpose {
	case delivery.Escalate, delivery.Approval, delivery.Report, delivery.Request, delivery.Reminder:
		return nil, nil
	}
	place := x.word(cmp.Or(o.ThreadID, o.ChannelID))
	text := fmt.Sprintf("<#%s>에 메시지가 게시되었는지 알 수 없음 (`%s`)", place, x.word(o.EffectID))
	mend := "그곳에 없으면"
	if e.Type == coordination.TypeDiscordSendFailed {
		text = fmt.Sprintf("<#%s>에 메시지를 게시하지 못함 (%s: %s)", place, x.word(o.ErrorCode), x.word(o.Error))
		mend = "원인을 없앤 뒤"
	}
	return &alarm{place + " " + o.ErrorCode, text, mend + " `openclawd work resend " + x.word(o.EffectID) + "`", o.Context}, nil
}

// suspended is a place where bots have talked too much.
func (x *escalations) suspended(e *eventstore.Event) (*alarm, error) {
	var t coordination.Thread
	if err := json.Unmarshal(e.Data, &t); err != nil || t.ThreadID == "" {
		return nil, err
	}
	text := fmt.Sprintf("<#%s>에서 봇끼리의 대화가 너무 많아 멈춤 (%s)", x.word(t.ThreadID), x.word(t.Reason))
	if t.UntilMs > 0 {
		text += fmt.Sprintf(", <t:%d:t>까지", t.UntilMs/1000)
	}
	return &alarm{t.ThreadID, text, "대화를 확인하고, 계속해야 하면 그곳에 직접 글을 남기세요", t.Context}, nil
}

func (x *escalations) alsoTold(agent string) string {
	if agent == "" {
		return ""
	}
	return "; " + x.name(agent) + "에게도 알림"
}

func (x *escalations) name(agent string) string { return x.word(x.w.names().Name(agent)) }
func (x *escalations) word(text string) string  { return x.w.line(text, textLength) }
