package outbound

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// Do implements worker.Handler: it continues a delivery until it has to wait or has ended.
func (h *Handler) Do(ctx context.Context, item workqueue.Item) error {
	a := &attempt{Handler: h, item: item}
	if err := a.read(ctx); err != nil {
		if ctx.Err() != nil {
			return a.release(ctx, 0) // nothing was sent, so the next attempt need not look for it
		}
		return err
	}
	if !a.known {
		return a.giveUp(ctx, "the scheduled delivery was redacted or is malformed")
	}
	for {
		next := delivery.Next(&a.delivery, &a.progress, h.o.Now().UnixMilli())
		switch next.Do {
		case delivery.End:
			return a.end(ctx, &next.Outcome)
		case delivery.Wait:
			return a.release(ctx, next.Wait)
		}
		if ctx.Err() != nil || a.late() {
			return a.release(ctx, 0)
		}
		if mine, err := a.recordFailure(ctx); err != nil || !mine {
			return err
		}
		over, err := a.step(ctx, next)
		if err != nil || over {
			return err
		}
	}
}

const maxPage = 500

func (a *attempt) read(ctx context.Context) error {
	var after int64
	for {
		page, err := a.o.Log.ReadStream(ctx, coordination.WorkStream(a.item.EffectID), after, maxPage)
		if err != nil {
			return fmt.Errorf("read delivery %s: %w", a.item.EffectID, err)
		}
		for i := range page {
			if err := a.fold(&page[i]); err != nil {
				a.o.Logger.Error("cannot read a delivery", "effect", a.item.EffectID, "seq", page[i].Seq, "err", err)
				a.known = false
				return nil
			}
			after = page[i].Version
		}
		if len(page) < maxPage {
			return nil
		}
	}
}

// late reports whether the lease may end before a step does.
func (a *attempt) late() bool {
	return a.item.LeaseUntil > 0 && a.item.LeaseUntil-a.o.Now().UnixMilli() < stepTime.Milliseconds()
}

// step does one step and records it. over means that the attempt has ended.
func (a *attempt) step(ctx context.Context, s delivery.Step) (over bool, err error) {
	var done func() (bool, error)
	switch s.Do {
	case delivery.OpenThread:
		done, err = a.openThread(ctx)
	case delivery.FindThread:
		done, err = a.findThread(ctx, s)
	case delivery.PostOne:
		done, err = a.post(ctx, s)
	case delivery.FindOne:
		done, err = a.findMessage(ctx, s)
	}
	if err == nil {
		return done()
	}
	var refused *channel.Error
	if !errors.As(err, &refused) {
		refused = &channel.Error{Class: collaborate.ClassLost}
	}
	looks := s.Do == delivery.FindThread || s.Do == delivery.FindOne
	if ctx.Err() != nil {
		if refused.Failure.Unsent || looks {
			return true, a.release(ctx, 0)
		}
		return true, nil // the outcome is unknown: the message may be lost
	}
	a.failed(s, looks, refused, err)
	return false, nil
}

// failed records a failure. It is stored together with its consequences.
func (a *attempt) failed(s delivery.Step, looks bool, refused *channel.Error, err error) {
	class := refused.Class
	switch {
	case errors.Is(err, channel.ErrNoBot):
		class = delivery.ClassNoBot
	case errors.Is(err, channel.ErrAccepted):
		class = delivery.ClassAccepted
	}
	text := work.Tidy(err.Error())
	a.o.Logger.Warn("delivery step failed", "effect", a.item.EffectID, "step", s.Do, "index", s.Index, "class", class, "err", text)
	a.progress.Failed(looks, class, refused.Failure.RetryAfter, text, refused.Hint, a.o.Now().UnixMilli())
	f := a.outbound()
	f.Step, f.Index, f.ErrorClass, f.Error = delivery.StepPost, s.Index, string(class), text
	switch {
	case looks:
		f.Step = delivery.StepLook
	case s.Do == delivery.OpenThread:
		f.Step = delivery.StepOpen
	}
	a.failure = &f
}

// outbound is the part common to all step events of the delivery.
func (a *attempt) outbound() coordination.DiscordOutbound {
	d := &a.delivery
	o := coordination.DiscordOutbound{Context: d.Context, Channel: d.Channel, EffectID: a.item.EffectID, ChannelID: d.ChannelID, ThreadID: d.ThreadID, GuildID: d.GuildID,
		AccountID: d.AccountID, Purpose: d.Purpose, Attempt: a.item.Attempt, RunID: d.RunID, CollabID: d.CollabID, ApprovalID: d.ApprovalID, System: d.System}
	if a.progress.Opened {
		o.ThreadID = a.progress.ThreadID
	}
	o.EventRole = coordination.RoleObservability
	return o
}

func (a *attempt) openThread(ctx context.Context) (done func() (bool, error), err error) {
	d := &a.delivery
	o := channel.Opening{AccountID: d.AccountID, ChannelID: d.ChannelID, Name: d.Open.Name}
	if d.Open.Starter {
		first := a.draft(d.ChannelID, 0)
		o.Starter = &first
	}
	t, err := a.o.Bots.StartThread(ctx, o)
	return func() (bool, error) { return a.opened(ctx, t, t.MessageID, false) }, err
}

func (a *attempt) findThread(ctx context.Context, s delivery.Step) (done func() (bool, error), err error) {
	d := &a.delivery
	t, found, err := a.o.Bots.FindThread(ctx, channel.Lookup{AccountID: d.AccountID, ChannelID: d.ChannelID, Name: d.Open.Name, Since: s.Since,
		Other: a.isLogged(ctx, routing.IsOpened)})
	return func() (bool, error) {
		if !found {
			a.progress.NotFound()
			return false, nil
		}
		return a.opened(ctx, t, t.ID, true) // in a forum the first message has its thread's id
	}, err
}

func (a *attempt) post(ctx context.Context, s delivery.Step) (done func() (bool, error), err error) {
	place := a.delivery.Place(a.progress.ThreadID)
	draft := a.draft(place, s.Index)
	if err := a.load(&draft, s.Index); err != nil {
		return nil, err
	}
	p, err := a.o.Bots.Send(ctx, draft)
	return func() (bool, error) { return a.posted(ctx, p, s.Index, false) }, err
}

func (a *attempt) findMessage(ctx context.Context, s delivery.Step) (done func() (bool, error), err error) {
	place := a.delivery.Place(a.progress.ThreadID)
	draft := a.draft(place, s.Index)
	p, found, err := a.o.Bots.FindMessage(ctx, channel.Lookup{AccountID: draft.AccountID, ChannelID: place, Nonce: draft.Nonce, Content: draft.Content, File: draft.File,
		ReplyTo: draft.ReplyTo, Since: s.Since, Other: a.isLogged(ctx, a.isForeign)})
	return func() (bool, error) {
		if !found {
			a.progress.NotFound()
			return false, nil
		}
		return a.posted(ctx, p, s.Index, true)
	}, err
}

// isForeign reports whether a message is known to belong to something other than this delivery: the log records its
// post, or it was received before the delivery started.
func (a *attempt) isForeign(tx eventstore.Tx, messageID string) (bool, error) {
	_, known, err := routing.PostOf(tx, messageID)
	if known || err != nil {
		return known, err
	}
	return routing.HeardBefore(tx, messageID, a.since)
}

// isLogged reports whether a candidate is already in the log, and therefore is not the message we are looking for.
func (a *attempt) isLogged(ctx context.Context, is func(tx eventstore.Tx, id string) (bool, error)) func(id string) (bool, error) {
	return func(id string) (known bool, err error) {
		_, err = a.o.Log.Decide(ctx, func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
			known, err = is(tx, id)
			return nil, err
		})
		return known, err
	}
}

// load reads the file of the i-th message. A file that is gone, as after a redaction, is never posted.
func (a *attempt) load(p *channel.Post, i int) (err error) {
	_, f := a.delivery.Post(i)
	if f == nil {
		return nil
	}
	if p.File.Content, err = a.o.File(f.SHA256); err != nil {
		return channel.Local("post a file", p.AccountID, p.ChannelID, http.StatusBadRequest, fmt.Errorf("read the stored file: %w", err), "send the file again")
	}
	return nil
}

// draft is the i-th message as posted in a place, without the content of its file.
func (a *attempt) draft(place string, i int) channel.Post {
	d := &a.delivery
	text, f := d.Post(i)
	p := channel.Post{AccountID: d.AccountID, ChannelID: place, Content: text, Nonce: d.Nonce(a.item.EffectID, place, i), Notify: d.Notify}
	if f != nil {
		p.File = &channel.File{Name: f.Name, Type: f.Type, Size: f.Size}
	}
	if i == 0 {
		p.ReplyTo = d.ReplyTo
	}
	if i == len(d.Messages)-1 {
		p.Components = d.Components
	}
	return p
}

// opened records a thread, with its first message if it was opened with one.
func (a *attempt) opened(ctx context.Context, t channel.Thread, first string, found bool) (over bool, err error) {
	d, now := &a.delivery, a.o.Now()
	data := coordination.Thread{Context: d.Context, ThreadID: t.ID, ChannelID: d.ChannelID, Name: t.Name, GuildID: t.GuildID, Kind: d.Open.Kind,
		EffectID: a.item.EffectID, CollabID: d.CollabID, ReuseKey: d.Open.ReuseKey, ReportOf: d.ReportOf, FromAgent: d.Open.FromAgent, ToAgent: d.Open.ToAgent}
	data.EventRole = coordination.RoleObservability
	e, err := newEvent(coordination.TypeThreadCreated, d.AgentID, data, now)
	if err != nil {
		return true, err
	}
	events := []eventstore.NewEvent{e}
	a.progress.OpenedThread(t.ID, t.Name, now.UnixMilli())
	if d.GuildID == "" {
		d.GuildID = t.GuildID
	}
	if d.Open.Starter {
		if e, err = a.sent(first, d.Nonce(a.item.EffectID, d.ChannelID, 0), 0, found); err != nil {
			return true, err
		}
		events = append(events, e)
		a.progress.Posted(first, now.UnixMilli())
	}
	mine, err := a.append(ctx, events)
	return !mine, err
}

func (a *attempt) posted(ctx context.Context, p channel.Posted, i int, found bool) (over bool, err error) {
	if a.delivery.GuildID == "" {
		a.delivery.GuildID = p.GuildID
	}
	e, err := a.sent(p.ID, a.delivery.Nonce(a.item.EffectID, a.delivery.Place(a.progress.ThreadID), i), i, found)
	if err != nil {
		return true, err
	}
	a.progress.Posted(p.ID, a.o.Now().UnixMilli())
	mine, err := a.append(ctx, []eventstore.NewEvent{e})
	if mine && err == nil && p.Tell != nil {
		p.Tell(ctx)
	}
	return !mine, err
}

func (a *attempt) sent(id, nonce string, i int, found bool) (eventstore.NewEvent, error) {
	o := a.outbound()
	o.MessageID, o.Nonce, o.Index, o.Found, o.Step = id, nonce, i, found, delivery.StepPost
	return newEvent(coordination.TypeDiscordSent, a.delivery.AgentID, o, a.o.Now())
}
