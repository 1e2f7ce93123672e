package inbound

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

// ack schedules the reaction by which an agent's bot acknowledges a person's message, if the configuration wants it. One that cannot be
// scheduled is left out: the run does not depend on it.
func (h *intake) ack(v *route.Verdict) []eventstore.StreamAppend {
	m := &h.message
	if m.Author.Bot || m.Author.Webhook || v.AccountID == "" || !h.config.Messages.Acks(m.GuildID == "", v.Reason == route.ByMention) {
		return nil
	}
	a := delivery.Ack{Channel: coordination.OtherChannel(m.ChannelID), AgentID: v.Agent, AccountID: v.AccountID, ChannelID: m.ChannelID, ThreadID: m.ThreadID,
		MessageID: m.ID, Emoji: h.config.Messages.Ack}
	effectID := delivery.AckEffect(m.ID, v.Agent)
	asked, err := a.Work(effectID)
	if err == nil {
		err = work.Check(&asked)
	}
	var scheduled eventstore.StreamAppend
	if err == nil {
		scheduled, err = appendOf(work.Stream(effectID), coordination.TypeWorkScheduled, asked.Owner, h.now.UnixMilli(), asked)
	}
	if err != nil {
		h.o.Logger.Warn("cannot acknowledge a message", "message", m.ID, "agent", v.Agent, "err", err)
		return nil
	}
	scheduled.Expect = eventstore.NoStream()
	return []eventstore.StreamAppend{scheduled}
}
