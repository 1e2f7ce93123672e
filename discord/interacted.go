package discord

import (
	"encoding/json"

	"github.com/pronto-lab/openclawd/channel"
)

func (b *bot) interacted(data json.RawMessage) {
	s, ok := shape[interactionShape](b, dispatch{"INTERACTION_CREATE", data})
	if !ok {
		return
	}
	i, ok := s.interaction()
	if !ok {
		return
	}
	i.AccountID = b.account
	if who, known := b.bots.Registry().Account(b.account); known {
		i.AgentID = who.AgentID
	}
	t := b.bots.asked.Begin(i.ID)
	if t == channel.TurnNone {
		return
	}
	go func() {
		defer b.bots.asked.End(t)
		if t == channel.TurnTold {
			b.bots.o.OnInteraction(i)
			return
		}
		b.log.Warn("too many interactions in progress; answering that the bot is busy", "interaction", i.ID, "most", channel.MaxInteractions)
		if err := b.bots.Answer(b.ctx, i, channel.InteractionAnswer{Text: channel.BusyText, Private: true}); err != nil {
			b.log.Warn("cannot answer an interaction", "interaction", i.ID, "err", err)
		}
	}()
}
