package notify

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

// workOf is the work that a delivery is.
func workOf(d *delivery.Delivery, effectID string) (*coordination.WorkScheduled, error) {
	w, err := d.Work(effectID, 0)
	if err != nil {
		return nil, &unsayable{fmt.Errorf("post %s: %w", effectID, err)}
	}
	return &w, nil
}

// contextOf is where what tells of an event belongs: to its task, and to no work session, which may be over by then.
func contextOf(c *coordination.Context) coordination.Context {
	return coordination.Context{TaskID: c.TaskID, EventRole: coordination.RoleObservability}
}

// short is an id as it stands in that of an effect: one that is long as its digest.
func short(id string) string {
	if len(id) <= maxInEffect && strings.ToValidUTF8(id, "") == id && strings.IndexByte(id, 0) < 0 {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// people are those of some users of Discord that are none of our bots, each once.
func (w *watch) people(c *config.Config, users []string) (people []string) {
	for _, user := range users {
		bot := slices.ContainsFunc(w.Bots(), func(b collaborate.Bot) bool { return b.UserID == user }) ||
			slices.ContainsFunc(c.Discord.Accounts, func(a config.DiscordAccount) bool { return a.BotUserID == user })
		if user != "" && strings.Trim(user, "0123456789") == "" && !bot && !slices.Contains(people, user) {
			people = append(people, user)
		}
	}
	return people
}

// mentions is a line that calls people, "" for none.
func mentions(people []string) string {
	if len(people) == 0 {
		return ""
	}
	return "<@" + strings.Join(people, "> <@") + ">\n"
}

// harmless is a text in which nothing is a mention of Discord.
func harmless(text string) string {
	const apart = "\u200b" // cannot be seen
	text = strings.ReplaceAll(text, "<@", "<"+apart+"@")
	text = strings.ReplaceAll(text, "@everyone", "@"+apart+"everyone")
	return strings.ReplaceAll(text, "@here", "@"+apart+"here")
}

// speaker is the account by which openclawd speaks where nobody else does, "" if none can.
func speaker(c *config.Config) string {
	account := accountOf(c, c.Discord.DefaultAccount)
	for _, a := range c.Discord.Accounts {
		account = cmp.Or(account, accountOf(c, a.ID))
	}
	return account
}

// toPeople is a delivery to the channel where people are told, which calls who is configured.
func (w *watch) toPeople(c *config.Config, purpose, text string) delivery.Delivery {
	to := c.Discord.Collaboration.Escalation
	people := w.people(c, []string{cmp.Or(to.MentionUserID, c.Discord.Retry.EscalationUserID)})
	return delivery.Delivery{Purpose: purpose, AccountID: speaker(c), ChannelID: to.ChannelID, System: true, Notify: people,
		Messages: collaborate.Chunks(mentions(people) + text)}
}

// tellsPeople reports whether there is a channel where people are told, and a bot that can.
func tellsPeople(c *config.Config) bool {
	return c.Discord.Collaboration.Escalation.ChannelID != "" && speaker(c) != ""
}
