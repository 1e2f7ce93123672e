package command

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/permission"
)

// Prefixes of the ids of buttons and forms; the id of the approval follows.
const (
	approvePrefix = "approve:"
	alwaysPrefix  = "always:"
	rejectPrefix  = "reject:"
)

// maxReason limits a person's reason, in characters.
const maxReason = 1000

const reasonField = "reason"

// Buttons returns the buttons below an approval request: two, and for a call of a tool that waits to be made a third one; none without an id. See channel.Poster.Components.
func Buttons(in coordination.Language, approvalID string) []channel.Button {
	if approvalID == "" {
		return nil
	}
	buttons := []channel.Button{{ID: approvePrefix + approvalID, Label: in.Say("승인", "Approve"), Style: channel.ButtonGood}}
	if strings.HasPrefix(approvalID, permission.Prefix) && !permission.IsInput(approvalID) {
		buttons = append(buttons, channel.Button{ID: alwaysPrefix + approvalID, Label: in.Say("항상 승인", "Always approve")})
	}
	return append(buttons, RejectButton(in, approvalID)...)
}

// RejectButton returns the one of Buttons that rejects, for a request that people do not see as a whole.
func RejectButton(in coordination.Language, approvalID string) []channel.Button {
	if approvalID == "" {
		return nil
	}
	return []channel.Button{{ID: rejectPrefix + approvalID, Label: in.Say("거절", "Reject"), Style: channel.ButtonDanger}}
}

// button approves, or opens the form for a rejection.
func (d *Handler) button(ctx context.Context, c *config.Config, i channel.Interaction) {
	approve, isApprove := strings.CutPrefix(i.Name, approvePrefix)
	always, isAlways := strings.CutPrefix(i.Name, alwaysPrefix)
	reject, isReject := strings.CutPrefix(i.Name, rejectPrefix)
	why := d.mayDecide(c, &i)
	switch {
	case !isApprove && !isAlways && !isReject:
		d.refuse(ctx, i, c.Language().Say("알 수 없는 버튼입니다.", "I do not know this button."))
	case why != "":
		d.refuse(ctx, i, why)
	case isReject:
		form := channel.Form{ID: rejectPrefix + reject, Title: c.Language().Say("거절", "Reject"), Field: reasonField,
			Label: c.Language().Say("이유를 적어 주세요. 에이전트에게 전달됩니다.", "Why? The agent is told."), Max: maxReason}
		d.log(i, d.o.Bots.Answer(ctx, i, channel.InteractionAnswer{Form: &form}))
	case isAlways:
		d.perform(ctx, i, func(ctx context.Context) outcome {
			text, err := d.o.Approvals.ApproveAlways(ctx, always, d.personOf(&i))
			return d.decided(i, text, err)
		})
	default:
		d.perform(ctx, i, func(ctx context.Context) outcome {
			text, err := d.o.Approvals.Approve(ctx, approve, d.personOf(&i))
			return d.decided(i, text, err)
		})
	}
}

func (d *Handler) form(ctx context.Context, c *config.Config, i channel.Interaction) {
	id, isReject := strings.CutPrefix(i.Name, rejectPrefix)
	if !isReject {
		d.refuse(ctx, i, c.Language().Say("알 수 없는 양식입니다.", "I do not know this form."))
		return
	}
	if why := d.mayDecide(c, &i); why != "" { // it may have changed since the button was pressed
		d.refuse(ctx, i, why)
		return
	}
	d.perform(ctx, i, func(ctx context.Context) outcome {
		text, err := d.o.Approvals.Reject(ctx, id, d.personOf(&i), i.Values[reasonField])
		return d.decided(i, text, err)
	})
}

// decided shows the decision in the approval's message; a person who was too late is told privately.
func (d *Handler) decided(i channel.Interaction, text string, err error) outcome {
	if err != nil {
		return d.failed(i, err, text)
	}
	text = cmp.Or(strings.TrimSpace(text), fmt.Sprintf(d.language().Say("%s 님이 결정했습니다.", "Decided by %s."), d.personOf(&i)))
	if i.MessageID == "" {
		return outcome{text: text}
	}
	return outcome{text: d.below(i.Text, text), update: true}
}

// below appends a line to a message, shortened if both do not fit.
func (d *Handler) below(message, line string) string {
	traits := d.traits()
	line = traits.Head(line, traits.MaxMessage)
	room := traits.MaxMessage - traits.Length(line) - len("\n\n")
	if message = strings.TrimSpace(message); message == "" || room <= 0 {
		return line
	}
	return traits.Head(message, room) + "\n\n" + line
}
