package inbound

import (
	"fmt"
	"slices"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/pairing"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// admit lets the author of a direct message speak if an operator approved the person.
func (h *intake) admit(tx eventstore.Tx, s *route.Situation) error {
	author := &s.Message.Author
	if s.Policy.Direct != route.Pairing || author.Bot || author.Webhook || s.Policy.Bars(&s.Message) != route.DirectNotPaired {
		return nil
	}
	p, err := routing.PersonOf(tx, h.o.Channel, author.ID)
	if err == nil && p.State == pairing.Approved {
		s.Policy.AllowFrom = append(slices.Clone(s.Policy.AllowFrom), author.ID)
	}
	return err
}

// pairs returns the events that give an unknown person a code, and tell it to the person; none if the person has one already, or too
// many wait.
func (h *intake) pairs(tx eventstore.Tx, d *route.Decision) (appends []eventstore.StreamAppend, err error) {
	m, now := &h.message, h.now.UnixMilli()
	i := slices.IndexFunc(d.Verdicts, func(v route.Verdict) bool { return v.Reason == route.DirectNotPaired })
	if i < 0 || m.Author.Bot || m.Author.Webhook || h.in.Message.Group { // in a group of people others would read the code
		return nil, nil
	}
	s, err := routing.Pairings(tx, h.o.Channel, now)
	if err != nil {
		return nil, err
	}
	v := &d.Verdicts[i]
	asked, err := s.Ask(&pairing.Person{UserID: m.Author.ID, UserName: oneLine(m.Author.Name), AccountID: v.AccountID, AgentID: v.Agent, ChannelID: m.ChannelID},
		m.ID, h.o.Random)
	if err != nil || asked == nil {
		return nil, err
	}
	told := delivery.Delivery{
		Channel: coordination.OtherChannel(m.ChannelID), Purpose: delivery.Notice, AgentID: v.Agent, AccountID: v.AccountID, ChannelID: m.ChannelID,
		Messages: []string{pairingText(h.config, h.o.Channel, h.title, asked)}, ReplyTo: m.ID, System: true,
	}
	if appends, err = schedule(&told, h.o.Channel+"/pairing/"+m.ID, h.now); err != nil {
		return nil, err
	}
	a, err := appendOf(coordination.PairingStream(h.o.Channel, asked.UserID), coordination.TypePairingRequested, v.Agent, now, asked)
	h.paired = asked
	return append(appends, a), err
}

// pairingText tells an unknown person the code, and how an operator approves it.
func pairingText(c *config.Config, channel, title string, asked *coordination.Pairing) string {
	return fmt.Sprintf(c.Language().Say(
		"아직 이 에이전트와 대화할 수 없습니다.\n\n%[1]s 사용자 ID: %[2]s\n페어링 코드: %[3]s\n\n운영자에게 한 시간 안에 승인해 달라고 하세요:\nopenclawd pairing approve %[4]s %[3]s",
		"You may not speak with this agent yet.\n\nYour %[1]s user id: %[2]s\nPairing code: %[3]s\n\nAsk the operator to approve it within an hour:\nopenclawd pairing approve %[4]s %[3]s"),
		title, asked.UserID, asked.Code, channel)
}
