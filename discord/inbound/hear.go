package inbound

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
	responses "github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Hear takes up a fact. It returns when what follows is on disk, or the context has ended; what the log does not take for now is tried again. It is
// the OnMessage of discord.Options, with the context of the program.
func (m *Monitor) Hear(ctx context.Context, in discord.Inbound) {
	id := in.Message.ID
	if in.Kind != discord.Created || id == "" || m.isDecided(id) {
		return
	}
	began := m.o.Now()
	h, err := m.persist(ctx, &in)
	var conflict *eventstore.ConflictError
	switch {
	case err == nil:
		m.took(id)
		m.tell(h)
		m.heard(h.decision, h.took, began)
		m.stop(ctx, h)
	case errors.As(err, &conflict) && conflict.Stream == coordination.DiscordStream(id):
		m.took(id) // somebody was first
	case ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed):
		m.o.Logger.Warn("a message of Discord was not taken up before the end; it is read again at the next start", "message", id, "err", err)
	default:
		m.giveUp(ctx, &in, err)
	}
}

func (m *Monitor) isDecided(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.decided.has(id)
}

func (m *Monitor) took(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decided.add(id)
}

// persist decides about a message, and appends what follows, as often as that takes.
func (m *Monitor) persist(ctx context.Context, in *discord.Inbound) (h *hearing, err error) {
	for again := 1; ; again++ {
		if h, err = m.try(ctx, in); err == nil || m.isFinal(err) {
			return h, err
		}
		if again == 1 && ctx.Err() == nil {
			m.o.Logger.Warn("the log takes nothing; trying again", "message", in.Message.ID, "err", err)
		}
		if err := pause(ctx, m.o.Backoff(again)); err != nil {
			return h, err
		}
	}
}

func (m *Monitor) try(ctx context.Context, in *discord.Inbound) (h *hearing, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = &panicked{why, debug.Stack()}
		}
	}()
	began := m.o.Now()
	h = m.hearing(in)
	before := m.o.Now().Sub(began)
	_, err = m.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		began := m.o.Now()
		defer func() { h.took = before + m.o.Now().Sub(began) }()
		return h.decide(tx)
	})
	return h, err
}

// panicked is a defect of ours.
type panicked struct {
	why   any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.why) }

// isFinal reports whether an error stays, however often one tries.
func (m *Monitor) isFinal(err error) bool {
	var (
		conflict *eventstore.ConflictError
		reuse    *eventstore.IDReuseError
		invalid  *eventstore.InvalidError
		refused  *eventstore.RefusedError
		broken   *panicked
	)
	return errors.Is(err, eventstore.ErrClosed) || errors.As(err, &conflict) || errors.As(err, &reuse) || errors.As(err, &invalid) ||
		errors.As(err, &broken) || errors.As(err, &refused) && !m.o.Log.Fatal(err)
}

// giveUp drops a message that cannot be decided about, or whose decision the log does not take, with an event that says so if that can be.
func (m *Monitor) giveUp(ctx context.Context, in *discord.Inbound, why error) {
	broken := (*panicked)(nil)
	stack := ""
	if errors.As(why, &broken) {
		stack = string(broken.stack)
	}
	began := m.o.Now()
	m.o.Logger.Error("a message of Discord is dropped: it cannot be decided about", "message", in.Message.ID, "err", why, "stack", stack)
	message := in.Route()
	_, err := m.o.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
		return appendsOf(route.Undecided(&message), message.ID)
	})
	if err != nil {
		m.o.Logger.Error("that a message of Discord was dropped is not in the log", "message", in.Message.ID, "err", err)
		return
	}
	m.took(in.Message.ID)
	m.heard(&route.Decision{Verdicts: []route.Verdict{{Mode: route.Dropped, Reason: route.InternalError}}}, 0, began)
}

// heard tells whoever counts of a decision, unless there was none because there had been one before.
func (m *Monitor) heard(d *route.Decision, took time.Duration, began time.Time) {
	if m.o.Heard != nil && d != nil {
		m.o.Heard(Heard{Decision: d, Deciding: took, Whole: m.o.Now().Sub(began)})
	}
}

// pause waits, unless ctx ends before; then it gives the cause.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// hearing is one message on its way into the log.
type hearing struct {
	*Monitor
	in      *discord.Inbound
	message route.Message
	config  *config.Config
	bots    []route.Bot
	now     time.Time
	stops   bool // a person says that what runs is to end

	// Of the last transaction:
	decision  *route.Decision      // nil: it was decided about before
	took      time.Duration        // the decision, with what was read before
	asked     coordination.Context // of the newest request in the thread, of a message of an agent
	talk      talk                 // that the message is a part of, in a thread in which agents ask each other
	link      chain.Link           // likewise: where it stands in the chain of causes
	saidIn    string               // the run that has said the message; "" if none has, or that is not known
	collabID  string               // the request that the message is, or reminds of; "" if it is about none
	said      []string             // likewise: the messages that it was posted with, itself among them; none where that is not known
	suspended *route.Suspension
	warnings  []route.Warning
	refused   []refused
	stopped   []string // keys of the sessions in which runs are to end
}

func (m *Monitor) hearing(in *discord.Inbound) *hearing {
	h := &hearing{Monitor: m, in: in, message: in.Route(), config: m.o.Config(), now: m.o.Now()}
	h.message.Notice = in.Message.Command
	h.bots = m.o.Bots.Sight(h.message.GuildID, h.message.ChannelID, h.message.ThreadID)
	for i := range h.bots {
		if h.bots[i].AccountID == in.AccountID {
			h.bots[i].Blind = false // it has told of the message
		}
	}
	h.stops = m.o.Stop != nil && len(in.Message.Attachments) == 0 && !h.message.Author.Bot && !h.message.Author.Webhook && isStop(in.Message.Content)
	return h
}

// decide is the decision, and what follows from it. A panic is an error: it must not end whoever writes the log.
func (h *hearing) decide(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if why := recover(); why != nil {
			appends, err = nil, &panicked{why, debug.Stack()}
		}
	}()
	h.decision, h.asked, h.talk, h.link, h.saidIn, h.collabID = nil, coordination.Context{}, talk{}, chain.Link{}, "", ""
	h.said, h.suspended, h.warnings, h.refused, h.stopped = nil, nil, nil, nil, nil
	if earlier, err := routing.Earlier(tx, h.message.ID); err != nil || earlier != nil {
		return nil, err
	}
	s, err := h.situation(tx)
	if err != nil {
		return nil, err
	}
	d := route.Decide(&s)
	asked, err := h.asks(tx, &d)
	if err != nil {
		return nil, err
	}
	h.suspended, h.warnings = d.Suspend, d.Warnings
	if appends, err = appendsOf(h.told(&d, &s.Message), h.message.ID); err != nil {
		return nil, err
	}
	answered, err := h.answers(tx, &d, &s.Message)
	if err != nil {
		return nil, err
	}
	h.decision = &d
	return append(append(appends, answered...), asked...), nil
}

// answers is what is appended if the message answers a request.
func (h *hearing) answers(tx eventstore.Tx, d *route.Decision, message *route.Message) ([]eventstore.StreamAppend, error) {
	if !d.Answers {
		return nil, nil
	}
	m := &h.in.Message
	open, err := responses.Open(tx, h.message.ThreadID, d.Author)
	if err != nil {
		return nil, err
	}
	e, ok := open.Match(response.Message{ID: m.ID, ThreadID: h.message.ThreadID, AgentID: d.Author, At: m.At, ReplyTo: m.ReplyTo, Nonce: m.Nonce,
		Text: m.Content, System: message.System, CausedBy: message.CausedBy,
		CollabID: message.CollabID})
	if !ok {
		return nil, nil
	}
	said, is := e.Data.(response.Responded)
	if !is {
		return nil, fmt.Errorf("an answer is told by %T, not by what says that a request was answered", e.Data)
	}
	a, err := appendOf(coordination.CollabStream(said.RequestID), e.Type, e.AgentID, h.now.UnixMilli(), e.Data)
	if err != nil {
		return nil, err
	}
	appends := []eventstore.StreamAppend{a}
	if r := open.Find(said.RequestID); r != nil && h.o.Answered != nil {
		whole := *m
		if len(h.said) > 0 {
			whole.Content = strings.Join(h.said, "\n")
		}
		follows, err := h.o.Answered(tx, r, &whole, h.now)
		if err != nil {
			return nil, err
		}
		appends = append(appends, follows...)
	}
	return appends, nil
}

// tell logs what an operator should know of a decision, each thing once in a place, and lets Run know of a suspension.
func (m *Monitor) tell(h *hearing) {
	place := h.message.Place()
	for _, w := range h.warnings {
		key := string(w) + " " + place
		m.mu.Lock()
		again := m.warned.has(key)
		m.warned.add(key)
		m.mu.Unlock()
		if !again {
			m.o.Logger.Warn(warningText(w), "code", w, "place", place, "message", h.message.ID)
		}
	}
	for _, r := range h.refused {
		m.o.Logger.Warn("a message of Discord was not taken on", "message", h.message.ID, "agent", r.agent, "err", r.why)
	}
	if h.suspended != nil {
		m.o.Logger.Warn("bots talk too much: they are held", "place", h.suspended.Place, "reason", h.suspended.Reason, "until", h.suspended.Until)
		select {
		case m.wake <- struct{}{}:
		default: // it is going to look anyway
		}
	}
}

func warningText(w route.Warning) string {
	switch w {
	case route.WarnParticipantsUnknown:
		return "nobody knows who takes part in a thread: agents answer there only where they are mentioned, until they are mentioned or have written"
	case route.WarnNobodyOwns:
		return "no agent answers in a channel: neither the one that is bound to it nor the default one sees it"
	case route.WarnOwnerAbsent:
		return "the default agent answers for one that is bound, but does not see the channel, or is not configured"
	case route.WarnMentionedAbsent:
		return "an agent was mentioned whose bot does not see the message: it does not answer"
	case route.WarnNoBot:
		return "a direct message came to a bot that speaks for no agent: nobody answers"
	}
	return "a message of Discord is not routed as it seems to be meant"
}
