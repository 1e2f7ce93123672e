package inbound

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// change records that a message which agents know was edited or deleted, once however many bots deliver it. No agent runs for it.
func (m *Service) change(ctx context.Context, in *channel.Inbound) {
	_, err := m.persist(ctx, in)
	switch {
	case err == nil:
	case ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed):
		m.o.Logger.Warn("a change of a message was not recorded before shutdown", "message", in.Message.ID, "kind", in.Kind, "err", err)
	default:
		m.o.Logger.Error("cannot record a change of a message; dropped", "message", in.Message.ID, "kind", in.Kind, "err", err)
	}
}

// changed returns the event of an edit, a deletion or a reaction, none if it is not noted.
func (h *intake) changed(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
	if h.in.Kind == channel.Reacted {
		return h.reacted(tx)
	}
	earlier, err := routing.Earlier(tx, h.message.ID)
	if err != nil || earlier == nil {
		return nil, err
	}
	known, _, err := routing.ChangeOf(tx, h.message.ID)
	if err != nil {
		return nil, err
	}
	now := h.message
	var event *route.Event
	if h.in.Kind == channel.Deleted {
		event = route.Deleted(&now, earlier, known, h.now.UnixMilli())
	} else {
		at := h.in.Message.EditedAt
		if at <= 0 {
			at = h.now.UnixMilli()
		}
		now.Text = h.o.Bots.Resolve(now.Text)
		event = route.Edited(&now, earlier, known, at)
	}
	if event == nil {
		return nil, nil
	}
	a, err := appendOf(coordination.MessageStream(h.message.ID), event.Type, "", event.At, event.Data)
	return []eventstore.StreamAppend{a}, err
}

// Limits of what a run is told of edits.
const (
	maxNews     = 5
	maxNewsText = 500 // characters
)

// news are lines about messages that an agent handled here and that were edited or deleted since it was last asked here.
func (h *intake) news(tx eventstore.Tx, agent string) (lines string, err error) {
	list, err := routing.NewsOf(tx, agent, h.message.Place(), maxNews)
	for i := range list {
		n := &list[i]
		what := "was deleted"
		switch {
		case n.Deleted:
		case n.Text == "":
			what = "was edited"
		default:
			what = "was edited and now reads: " + coordination.Head(n.Text, maxNewsText)
		}
		lines += fmt.Sprintf("\n[the message of %s of %s %s]", oneLine(n.Author), time.UnixMilli(n.At).UTC().Format("2006-01-02 15:04Z"), what)
	}
	return lines, err
}
