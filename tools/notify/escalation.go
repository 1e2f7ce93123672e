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
		d := x.w.toPeople(c, delivery.Escalate, "**Escalation** · "+a.text+" → "+a.mend)
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
	name := x.name(e.AgentID)
	text := fmt.Sprintf("task `%s` of %s was given up: nobody has gone on with it for %.0f hours (time %d)", x.word(z.TaskID), name, z.AgeHours, z.ReassignCount)
	return &alarm{z.TaskID, text + x.alsoTold(z.ToldAgentID), "have " + name + " call `task_resume` or `task_cancel`", z.Context}, nil
}

// stuck is a task about which nobody is asked any more.
func (x *escalations) stuck(e *eventstore.Event) (*alarm, error) {
	var u coordination.Unblock
	if err := json.Unmarshal(e.Data, &u); err != nil || u.TargetAgentID != "" {
		return nil, err
	}
	why, mend := "none of the agents that were asked has helped", "find somebody who can, then have `task_resume` called"
	switch continuation.Reason(u.Reason) {
	case continuation.NotDelivered:
		why, mend = "nobody could be asked for help", "check tools.agentToAgent, and the agents that may be asked"
	case continuation.NobodyToAsk:
		why = "there is no agent to ask for help"
	case continuation.DependencyGone:
		why = "task `" + x.word(u.Dependency) + "`, which it depends on, was not completed"
		mend = "have `task_cancel` called, and the task added again without that dependency"
	}
	text := fmt.Sprintf("task `%s` of %s is blocked: %s", x.word(u.TaskID), x.name(e.AgentID), why)
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
	text := fmt.Sprintf("nobody knows whether a message was posted in <#%s> (`%s`)", place, x.word(o.EffectID))
	mend := "if it is not there:"
	if e.Type == coordination.TypeDiscordSendFailed {
		text = fmt.Sprintf("a message was not posted in <#%s> (%s: %s)", place, x.word(o.ErrorCode), x.word(o.Error))
		mend = "remove the cause, then"
	}
	return &alarm{place + " " + o.ErrorCode, text, mend + " `openclawd work resend " + x.word(o.EffectID) + "`", o.Context}, nil
}

// suspended is a place where bots have talked too much.
func (x *escalations) suspended(e *eventstore.Event) (*alarm, error) {
	var t coordination.Thread
	if err := json.Unmarshal(e.Data, &t); err != nil || t.ThreadID == "" {
		return nil, err
	}
	text := fmt.Sprintf("bots talk too much in <#%s>, and are held (%s)", x.word(t.ThreadID), x.word(t.Reason))
	if t.UntilMs > 0 {
		text += fmt.Sprintf(", until <t:%d:t>", t.UntilMs/1000)
	}
	return &alarm{t.ThreadID, text, "read what they say; write something there yourself to have them go on", t.Context}, nil
}

func (x *escalations) alsoTold(agent string) string {
	if agent == "" {
		return ""
	}
	return "; " + x.name(agent) + " was told, too"
}

func (x *escalations) name(agent string) string { return x.word(x.w.names().Name(agent)) }
func (x *escalations) word(text string) string  { return x.w.line(text, textLength) }
