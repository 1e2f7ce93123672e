package command

import (
	"cmp"
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/discord"
)

// Bounds of what is said, in characters.
const (
	maxText  = collaborate.MaxMessage
	maxShown = 40
)

// outcome is what comes of work: a word to whoever has asked, or to all where update puts it into the message below which the button is.
type outcome struct {
	text   string
	update bool
}

// perform does work and answers with what comes of it. If that takes long, it is said first that it was heard.
func (d *Desk) perform(ctx context.Context, i discord.Interaction, work func(context.Context) outcome) {
	done := make(chan outcome, 1)
	go func() { done <- d.tried(ctx, i, work) }()
	timer := time.NewTimer(d.o.Patience)
	defer timer.Stop()
	onMessage := i.MessageID != ""
	select {
	case out := <-done:
		d.log(i, d.o.Bots.Answer(ctx, i, discord.InteractionAnswer{Text: d.text(out), Private: !out.update, Update: out.update}))
		return
	case <-timer.C:
	}
	d.log(i, d.o.Bots.Answer(ctx, i, discord.InteractionAnswer{Later: true, Private: true, Update: onMessage}))
	out := <-done
	switch {
	case onMessage && !out.update:
		d.log(i, d.o.Bots.Add(ctx, i, discord.InteractionAnswer{Text: d.text(out), Private: true}))
	default:
		d.log(i, d.o.Bots.Amend(ctx, i, discord.InteractionAnswer{Text: d.text(out), Update: out.update}))
	}
}

// tried does work. A panic is a failure of the work, and not the end of the program.
func (d *Desk) tried(ctx context.Context, i discord.Interaction, work func(context.Context) outcome) (out outcome) {
	defer func() {
		if why := recover(); why != nil {
			d.o.Logger.Error("what was asked for in Discord has panicked", "interaction", i.ID, "panic", why, "stack", string(debug.Stack()))
			out = d.failed(i, fmt.Errorf("panic: %v", why), "")
		}
	}()
	return work(ctx)
}

func (d *Desk) text(out outcome) string {
	nothing := d.language().Say("알려 드릴 내용이 없습니다.", "There is nothing to say.")
	return coordination.Head(cmp.Or(strings.TrimSpace(coordination.Mask(out.text)), nothing), maxText)
}

// language is the one in which people are told.
func (d *Desk) language() coordination.Language { return d.o.Config().Language() }

// refuse tells whoever has asked that it is not done.
func (d *Desk) refuse(ctx context.Context, i discord.Interaction, why string) {
	d.log(i, d.o.Bots.Answer(ctx, i, discord.InteractionAnswer{Text: why, Private: true}))
}

// failed is what is said of an error. What people cannot mend is logged, and not told.
func (d *Desk) failed(i discord.Interaction, err error, text string) outcome {
	if text = strings.TrimSpace(text); text != "" {
		return outcome{text: text}
	}
	d.o.Logger.Warn("what was asked for in Discord was not done", "interaction", i.ID, "kind", i.Kind, "name", coordination.Head(i.Name, maxShown),
		"account", i.AccountID, "error", coordination.Mask(err.Error()))
	return outcome{text: fmt.Sprintf(d.language().Say("처리하지 못했고, 아무것도 바뀌지 않았습니다. 이유는 openclawd 로그의 interaction %s에 있습니다.",
		"This did not work, and nothing was done. The log of openclawd says why, under interaction %s."), i.ID)}
}

// log tells of an answer that Discord did not take: the work is done, or not, all the same.
func (d *Desk) log(i discord.Interaction, err error) {
	if err != nil {
		d.o.Logger.Warn("an interaction cannot be answered", "interaction", i.ID, "kind", i.Kind, "account", i.AccountID, "error", err,
			"age", d.o.Now().Sub(time.UnixMilli(i.At)))
	}
}

// personOf is how somebody is called in what is decided.
func personOf(i *discord.Interaction) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(i.User.Name, ""))
	return cmp.Or(coordination.Head(strings.TrimSpace(name), maxShown), "a person") + " (discord " + i.User.ID + ")"
}
