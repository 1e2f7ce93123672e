package command

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
)

// maxShown is how many characters of a name are shown.
const maxShown = 40

// traits are the limits of the channel, such as how many characters an answer may have, and what it counts as one.
func (d *Handler) traits() coordination.Channel {
	traits, _ := coordination.ChannelNamed(d.o.Bots.Name())
	return traits
}

// outcome is the result of an action: a text for the requester, or for everyone if update puts it into the button's
// message.
type outcome struct {
	text   string
	update bool
}

// perform runs an action and answers with its outcome. If it takes long, it first acknowledges the interaction.
func (d *Handler) perform(ctx context.Context, i channel.Interaction, work func(context.Context) outcome) {
	done := make(chan outcome, 1)
	go func() { done <- d.tried(ctx, i, work) }()
	timer := time.NewTimer(d.o.Patience)
	defer timer.Stop()
	onMessage := i.MessageID != ""
	select {
	case out := <-done:
		d.log(i, d.o.Bots.Answer(ctx, i, channel.InteractionAnswer{Text: d.text(out), Private: !out.update, Update: out.update}))
		return
	case <-timer.C:
	}
	d.log(i, d.o.Bots.Answer(ctx, i, channel.InteractionAnswer{Later: true, Private: true, Update: onMessage}))
	out := <-done
	switch {
	case onMessage && !out.update:
		d.log(i, d.o.Bots.Add(ctx, i, channel.InteractionAnswer{Text: d.text(out), Private: true}))
	default:
		d.log(i, d.o.Bots.Amend(ctx, i, channel.InteractionAnswer{Text: d.text(out), Update: out.update}))
	}
}

// tried runs an action. A panic becomes its failure.
func (d *Handler) tried(ctx context.Context, i channel.Interaction, work func(context.Context) outcome) (out outcome) {
	defer func() {
		if why := recover(); why != nil {
			d.o.Logger.Error("panic while handling an interaction", "interaction", i.ID, "panic", why, "stack", string(debug.Stack()))
			out = d.failed(i, fmt.Errorf("panic: %v", why), "")
		}
	}()
	return work(ctx)
}

func (d *Handler) text(out outcome) string {
	nothing := d.language().Say("알려 드릴 내용이 없습니다.", "There is nothing to say.")
	traits := d.traits()
	return traits.Head(cmp.Or(strings.TrimSpace(coordination.Mask(out.text)), nothing), traits.MaxMessage)
}

func (d *Handler) language() coordination.Language { return d.o.Config().Language() }

func (d *Handler) refuse(ctx context.Context, i channel.Interaction, why string) {
	d.log(i, d.o.Bots.Answer(ctx, i, channel.InteractionAnswer{Text: why, Private: true}))
}

// failed is the answer for an error. Internal errors are logged and not shown.
func (d *Handler) failed(i channel.Interaction, err error, text string) outcome {
	if text = strings.TrimSpace(text); text != "" {
		return outcome{text: text}
	}
	d.o.Logger.Warn("cannot do what an interaction asked for", "interaction", i.ID, "kind", i.Kind, "name", coordination.Head(i.Name, maxShown),
		"account", i.AccountID, "err", coordination.Mask(err.Error()))
	return outcome{text: fmt.Sprintf(d.language().Say("처리하지 못했고, 아무것도 바뀌지 않았습니다. 이유는 openclawd 로그의 interaction %s에 있습니다.",
		"This did not work, and nothing was done. The log of openclawd says why, under interaction %s."), i.ID)}
}

// log logs an answer that the service rejected. The action itself is not affected.
func (d *Handler) log(i channel.Interaction, err error) {
	if err != nil {
		d.o.Logger.Warn("cannot answer an interaction", "interaction", i.ID, "kind", i.Kind, "account", i.AccountID, "err", err,
			"age", d.o.Now().Sub(time.UnixMilli(i.At)))
	}
}

// personOf is a person's name in decisions.
func (d *Handler) personOf(i *channel.Interaction) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(i.User.Name, ""))
	return cmp.Or(coordination.Head(strings.TrimSpace(name), maxShown), "a person") + " (" + d.o.Bots.Name() + " " + i.User.ID + ")"
}
