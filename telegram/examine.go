package telegram

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Examine asks Telegram what the bot of an account lacks: its token, privacy mode, who receives its updates, and its
// rights in the configured groups. It changes nothing, and takes no updates from a running program.
func Examine(ctx context.Context, c *config.Config, a config.Account, o channel.Options) []channel.Fault {
	all := New(o)
	all.setConfig(c)
	w, err := newLibrary(a.Token.Reveal(), all.o.UserAgent, all.o.Transport)
	if err != nil {
		return []channel.Fault{{Code: channel.FaultToken, Setting: "token", Text: err.Error(), Hint: "copy the token from @BotFather"}}
	}
	own := &bot{bots: all, account: a.ID, own: a, wire: w, log: all.o.Log, ctx: ctx}
	own.status = channel.NewBotStatus(&all.o, a, func() {}, all.Registry)
	all.bots[a.ID] = own
	const deed = "request the bot"
	answer, refused := own.ask(ctx, deed, "", meForm{})
	if refused != nil {
		return []channel.Fault{own.faultOf(refused)}
	}
	me, err := result[userShape](deed, a.ID, answer)
	if err != nil {
		return []channel.Fault{{Code: channel.FaultUnreachable, Text: err.Error()}}
	}
	own.user.Store(me.ID)
	own.seesAll = me.SeesAll
	var faults []channel.Fault
	if !me.SeesAll {
		faults = append(faults, channel.Fault{Code: channel.FaultRight, Text: missingPrivacy, Hint: missingPrivacyHint})
	}
	return append(append(faults, own.webhookFaults()...), own.groupFaults(c)...)
}

func (b *bot) faultOf(refused *channel.Error) channel.Fault {
	t := b.troubleOf(refused)
	f := channel.Fault{Code: channel.FaultUnreachable, Text: t.text, Hint: t.hint}
	if refused.Class == collaborate.ClassUnauthorized {
		f.Code, f.Setting = channel.FaultToken, "token"
	}
	return f
}

// recentError is how long a failed delivery is a fault: Telegram names the last one for good.
const recentError = time.Hour

// webhookFaults compares the address that receives the bot's updates with the configured one.
func (b *bot) webhookFaults() []channel.Fault {
	const deed = "request the webhook"
	answer, refused := b.ask(b.ctx, deed, "", webhookForm{})
	if refused != nil {
		return []channel.Fault{b.faultOf(refused)}
	}
	hook, err := result[webhookShape](deed, b.account, answer)
	if err != nil {
		return []channel.Fault{{Code: channel.FaultUnreachable, Text: err.Error()}}
	}
	var faults []channel.Fault
	if hook.URL != "" && hook.URL != b.own.Webhook.URL {
		faults = append(faults, channel.Fault{Code: channel.FaultWebhook, Text: "Telegram sends the bot's updates to " + hostOf(hook.URL),
			Hint: "stop the program there, or create another bot with @BotFather; openclawd serve takes the updates over when it connects"})
	}
	if hook.LastError != "" && b.own.Webhook.URL != "" && b.bots.o.Now().Sub(time.Unix(hook.FailedAt, 0)) < recentError {
		faults = append(faults, channel.Fault{Code: channel.FaultWebhook, Text: "Telegram could not deliver to the webhook: " + coordination.Head(hook.LastError, maxSaid),
			Hint: "check that webhookUrl leads to webhookHost and webhookPort from the internet, with a certificate that Telegram accepts"})
	}
	return faults
}

// hostOf is the host of an address, whose path may be a secret.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return "another address"
	}
	return u.Host
}

// groupsOf are the groups that the configuration names for an account: the listed ones, and those of collaboration.
func groupsOf(c *config.Config, account string) (ids []string) {
	all := c.Telegram.Named(account)
	for _, g := range c.Telegram.AccessOf(account).Guilds {
		if !slices.Contains(g.Channels, config.NoChannel) {
			all = append(all, g.ID)
		}
	}
	for _, id := range all {
		if at, err := parsePlace(id); err == nil { // else those for all groups
			at.topic = 0
			ids = append(ids, placeID(at))
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// groupFaults asks for the bot's rights in the groups of the configuration.
func (b *bot) groupFaults(c *config.Config) (faults []channel.Fault) {
	for _, id := range groupsOf(c, b.account) {
		err := b.bots.Rights(b.ctx, b.account, id)
		if err == nil {
			continue
		}
		refused, is := errors.AsType[*channel.Error](err)
		switch {
		case !is:
			faults = append(faults, channel.Fault{Code: channel.FaultUnreachable, Text: err.Error()})
		case errors.Is(err, ErrRights):
			if refused.Hint == missingPrivacyHint {
				continue // said of the bot
			}
			faults = append(faults, channel.Fault{Code: channel.FaultRight, Text: fmt.Sprintf("the bot lacks a right in %s", id), Hint: refused.Hint})
		case refused.Class == collaborate.ClassNotFound || refused.Class == collaborate.ClassForbidden:
			faults = append(faults, channel.Fault{Code: channel.FaultRight, Text: fmt.Sprintf("the bot is not in the group %s: %s", id, refused.Said), Hint: "add the bot to the group"})
		default:
			faults = append(faults, b.faultOf(refused))
		}
	}
	return faults
}
