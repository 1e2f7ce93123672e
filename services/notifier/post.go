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

// people returns the Discord users that are not our bots, each once.
func (w *watch) people(c *config.Config, users []string) (people []string) {
	for _, user := range users {
		bot := slices.ContainsFunc(w.Bots(), func(b collaborate.Bot) bool { return b.UserID == user }) ||
			slices.ContainsFunc(c.Discord.Accounts, func(a config.Account) bool { return a.BotUserID == user })
		if user != "" && strings.Trim(user, "0123456789") == "" && !bot && !slices.Contains(people, user) {
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

// speaker returns the account that speaks for openclawd itself, "" for none.
func speaker(c *config.Config) string {
	account := accountOf(c, c.Discord.DefaultAccount)
	for _, a := range c.Discord.Accounts {
		account = cmp.Or(account, accountOf(c, a.ID))
	}
	return account
}

// toPeople returns a delivery to the channel of notices that mentions the configured people.
func (w *watch) toPeople(c *config.Config, purpose, text string) delivery.Delivery {
	to := c.Discord.Collaboration.Escalation
	people := w.people(c, []string{cmp.Or(to.MentionUserID, c.Discord.Retry.EscalationUserID)})
	return delivery.Delivery{Purpose: purpose, AccountID: speaker(c), ChannelID: to.ChannelID, System: true, Notify: people,
		Messages: collaborate.Chunks(mentions(people) + text)}
}

// hasNotices reports whether there is a channel of notices and a bot for it.
func hasNotices(c *config.Config) bool {
	return c.Discord.Collaboration.Escalation.ChannelID != "" && speaker(c) != ""
}
