package command

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord"
)

// Prefixes of the ids of buttons and forms; the id of the approval follows.
const (
	approvePrefix = "approve:"
	rejectPrefix  = "reject:"
)

// Limits of Discord and of forms, in characters.
const (
	maxComponentID = 100
	maxReason      = 1000
)

const reasonField = "reason"

// Types and styles of components in Discord's API.
const (
	typeRow     = 1
	typeButton  = 2
	styleGreen  = 3
	styleDanger = 4
)

type rowShape struct {
	Type       int           `json:"type"`
	Components []buttonShape `json:"components"`
}

type buttonShape struct {
	Type  int    `json:"type"`
	Style int    `json:"style"`
	Label string `json:"label"`
	ID    string `json:"custom_id"`
}

// Buttons returns the two buttons below an approval request: an array of components in Discord's format. It is nil for
// an id over 92 characters, which no button can hold.
func Buttons(in coordination.Language, approvalID string) []byte {
	if approvalID == "" || len([]rune(approvePrefix+approvalID)) > maxComponentID {
		return nil
	}
	row := rowShape{Type: typeRow, Components: []buttonShape{
		{Type: typeButton, Style: styleGreen, Label: in.Say("승인", "Approve"), ID: approvePrefix + approvalID},
		{Type: typeButton, Style: styleDanger, Label: in.Say("거절", "Reject"), ID: rejectPrefix + approvalID},
	}}
	text, err := json.Marshal([]rowShape{row})
	if err != nil {
		return nil // encoding numbers and texts cannot fail
	}
	return text
}

// button approves, or opens the form for a rejection.
func (d *Handler) button(ctx context.Context, c *config.Config, i discord.Interaction) {
	approve, isApprove := strings.CutPrefix(i.Name, approvePrefix)
	reject, isReject := strings.CutPrefix(i.Name, rejectPrefix)
	why := mayDecide(c, &i)
	switch {
	case !isApprove && !isReject:
		d.refuse(ctx, i, c.Language().Say("알 수 없는 버튼입니다.", "I do not know this button."))
	case why != "":
		d.refuse(ctx, i, why)
	case isReject:
		form := discord.Form{ID: rejectPrefix + reject, Title: c.Language().Say("거절", "Reject"), Field: reasonField,
			Label: c.Language().Say("이유를 적어 주세요. 에이전트에게 전달됩니다.", "Why? The agent is told."), Max: maxReason}
		d.log(i, d.o.Bots.Answer(ctx, i, discord.InteractionAnswer{Form: &form}))
	default:
		d.perform(ctx, i, func(ctx context.Context) outcome {
			text, err := d.o.Approvals.Approve(ctx, approve, personOf(&i))
			return d.decided(i, text, err)
		})
	}
}

func (d *Handler) form(ctx context.Context, c *config.Config, i discord.Interaction) {
	id, isReject := strings.CutPrefix(i.Name, rejectPrefix)
	if !isReject {
		d.refuse(ctx, i, c.Language().Say("알 수 없는 양식입니다.", "I do not know this form."))
		return
	}
	if why := mayDecide(c, &i); why != "" { // it may have changed since the button was pressed
		d.refuse(ctx, i, why)
		return
	}
	d.perform(ctx, i, func(ctx context.Context) outcome {
		text, err := d.o.Approvals.Reject(ctx, id, personOf(&i), i.Values[reasonField])
		return d.decided(i, text, err)
	})
}

// decided shows the decision in the approval's message; a person who was too late is told privately.
func (d *Handler) decided(i discord.Interaction, text string, err error) outcome {
	if err != nil {
		return d.failed(i, err, text)
	}
	text = cmp.Or(strings.TrimSpace(text), fmt.Sprintf(d.language().Say("%s 님이 결정했습니다.", "Decided by %s."), personOf(&i)))
	if i.MessageID == "" {
		return outcome{text: text}
	}
	return outcome{text: below(i.Text, text), update: true}
}

// below appends a line to a message, shortened if both do not fit.
func below(message, line string) string {
	line = coordination.Head(line, maxText)
	room := maxText - len([]rune(line)) - len("\n\n")
	if message = strings.TrimSpace(message); message == "" || room <= 0 {
		return line
	}
	return coordination.Head(message, room) + "\n\n" + line
}
