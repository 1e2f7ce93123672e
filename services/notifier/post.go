package notifier

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

func workOf(d *delivery.Delivery, effectID string) (*coordination.WorkScheduled, error) {
	w, err := d.Work(effectID, 0)
	if err != nil {
		return nil, &permanentError{fmt.Errorf("post %s: %w", effectID, err)}
	}
	return &w, nil
}

// contextOf returns the context of a notice: the task of its event, but no work session, which may be over by then.
func contextOf(c *coordination.Context) coordination.Context {
	return coordination.Context{TaskID: c.TaskID, EventRole: coordination.RoleObservability}
}

// short returns an id for use in an effect id: a long one as its digest.
func short(id string) string {
	if len(id) <= maxInEffect && strings.ToValidUTF8(id, "") == id && strings.IndexByte(id, 0) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// named is an id of a channel's own. Those of Discord do not name it.
func named(channel, id, separator string) string {
	if channel == coordination.Discord {
		return id
	}
	return channel + separator + id
}

// people returns the users of a channel that are not our bots, each once.
func (w *watch) people(c *config.Config, channel string, users []string) (people []string) {
	traits, _ := coordination.ChannelNamed(channel)
	for _, user := range users {
		bot := slices.ContainsFunc(w.Bots(channel), func(b collaborate.Bot) bool { return b.UserID == user }) ||
			slices.ContainsFunc(c.Channel(channel).Accounts, func(a config.Account) bool { return a.BotUserID == user })
		if traits.IsUserID(user) && !bot && !slices.Contains(people, user) {
			people = append(people, user)
		}
	}
	return people
}

// mentions returns a line that mentions people, "" for none.
func mentions(people []string) string {
	if len(people) == 0 {
		return ""
	}
	return "<@" + strings.Join(people, "> <@") + ">\n"
}

// harmless returns a text without effective Discord mentions.
func harmless(text string) string {
	const apart = "\u200b" // invisible
	text = strings.ReplaceAll(text, "<@", "<"+apart+"@")
	text = strings.ReplaceAll(text, "@everyone", "@"+apart+"everyone")
	return strings.ReplaceAll(text, "@here", "@"+apart+"here")
}

// speaker returns the account that speaks for openclawd itself in a channel, "" for none.
func speaker(c *config.Config, channel string) string {
	own := c.Channel(channel)
	account := accountOf(c, channel, own.DefaultAccount)
	for _, a := range own.Accounts {
		account = cmp.Or(account, accountOf(c, channel, a.ID))
	}
	return account
}

// toPeople returns a delivery to the notices of a channel that mentions the configured people.
func (w *watch) toPeople(c *config.Config, channel, purpose, text string) delivery.Delivery {
	own := c.Channel(channel)
	traits, _ := coordination.ChannelNamed(channel)
	people := w.people(c, channel, []string{cmp.Or(own.Collaboration.Escalation.MentionUserID, own.Retry.EscalationUserID)})
	d := delivery.Delivery{Purpose: purpose, AccountID: speaker(c, channel), System: true, Notify: people,
		Messages: collaborate.ChunksFor(traits, mentions(people)+text)}
	d.To(own.Collaboration.Escalation.ChannelID)
	return d
}

// hasNotices reports whether a channel has a place for notices and a bot for it.
func hasNotices(c *config.Config, channel string) bool {
	return c.Channel(channel).Collaboration.Escalation.ChannelID != "" && speaker(c, channel) != ""
}
