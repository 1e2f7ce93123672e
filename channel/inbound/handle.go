package inbound

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Handle handles a fact. It returns when the consequences are on disk or the context has ended; failed writes are
// retried. It is the OnMessage of channel.Options, with the program's context.
func (m *Service) Handle(ctx context.Context, in channel.Inbound) {
	id := in.Message.ID
	if id == "" || in.Kind == channel.Created && m.isDecided(id) {
		return
	}
	if !m.owns(&in.Message) {
		m.o.Logger.Error("a message has an id of another channel; dropped", "channel", m.o.Channel, "message", id, "place", in.Message.ChannelID)
		return
	}
	if in.Kind != channel.Created {
		m.change(ctx, &in)
		return
	}
	began := m.o.Now()
	h, err := m.persist(ctx, &in)
	var conflict *eventstore.ConflictError
	switch {
	case err == nil:
		m.markDecided(id)
		m.notify(h)
		m.reportStats(h.decision, h.duration, began)
		m.stop(ctx, h)
	case errors.As(err, &conflict) && conflict.Stream == coordination.MessageStream(id):
		m.markDecided(id) // decided concurrently
	case ctx.Err() != nil || errors.Is(err, eventstore.ErrClosed):
		m.o.Logger.Warn("message not processed before shutdown; it is read again at the next start", "message", id, "err", err)
	default:
		m.giveUp(ctx, &in, err)
	}
}

// owns reports whether the ids of a message are of this channel: no other channel's decision or place can be reached by them.
func (m *Service) owns(message *channel.Message) bool {
	for _, id := range []string{message.ID, message.ChannelID, message.ParentID, message.GuildID, message.ReplyTo} {
		if parsed, ok := coordination.ParseChatID(id); id != "" && (!ok || parsed.Channel != m.o.Channel) {
			return false
		}
	}
	return true
}

func (m *Service) isDecided(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.decided.has(id)
}

func (m *Service) markDecided(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.decided.add(id)
}

// persist decides about a message and appends the result, retrying as needed.
func (m *Service) persist(ctx context.Context, in *channel.Inbound) (h *intake, err error) {
	for again := 1; ; again++ {
		if h, err = m.try(ctx, in); err == nil || m.isFinal(err) {
			return h, err
		}
		if again == 1 && ctx.Err() == nil {
			m.o.Logger.Warn("cannot write to the log; will retry", "message", in.Message.ID, "err", err)
		}
		if err := wait.For(ctx, m.o.Backoff(again)); err != nil {
			return h, err
		}
	}
}

func (m *Service) try(ctx context.Context, in *channel.Inbound) (h *intake, err error) {
	defer func() {
		if why := recover(); why != nil {
			err = &panicked{why, debug.Stack()}
		}
	}()
	began := m.o.Now()
	h = m.newIntake(in)
	before := m.o.Now().Sub(began)
	_, err = m.o.Log.Decide(ctx, func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		began := m.o.Now()
		defer func() { h.duration = before + m.o.Now().Sub(began) }()
		return h.decide(tx)
	})
	return h, err
}

// panicked is a panic in our code.
type panicked struct {
	why   any
	stack []byte
}

func (p *panicked) Error() string { return fmt.Sprintf("panic: %v", p.why) }

// isFinal reports whether retrying cannot help.
func (m *Service) isFinal(err error) bool {
	var (
		conflict *eventstore.ConflictError
		reuse    *eventstore.IDReuseError
		invalid  *eventstore.InvalidError
		refused  *eventstore.RefusedError
		broken   *panicked
		unsaid   *delivery.Refusal
	)
	return errors.Is(err, eventstore.ErrClosed) || errors.As(err, &conflict) || errors.As(err, &reuse) || errors.As(err, &invalid) ||
		errors.As(err, &unsaid) || errors.As(err, &broken) || errors.As(err, &refused) && !m.o.Log.Fatal(err)
}

// giveUp drops a message that cannot be decided or whose decision is rejected by the log, recording it with an event
// if possible.
func (m *Service) giveUp(ctx context.Context, in *channel.Inbound, why error) {
	broken := (*panicked)(nil)
	stack := ""
	if errors.As(why, &broken) {
		stack = string(broken.stack)
	}
	began := m.o.Now()
	m.o.Logger.Error("cannot decide about a "+m.title+" message; dropped", "message", in.Message.ID, "err", why, "stack", stack)
	message := in.Route()
	_, err := m.o.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
		return appendsOf(route.Undecided(&message), message.ID)
	})
	if err != nil {
		m.o.Logger.Error("cannot record a dropped "+m.title+" message", "message", in.Message.ID, "err", err)
		return
	}
	m.markDecided(in.Message.ID)
	m.reportStats(&route.Decision{Verdicts: []route.Verdict{{Mode: route.Dropped, Reason: route.InternalError}}}, 0, began)
}

// reportStats reports a decision to the metrics, unless the message had been decided before.
func (m *Service) reportStats(d *route.Decision, took time.Duration, began time.Time) {
	if m.o.Heard != nil && d != nil {
		m.o.Heard(DecisionStats{Decision: d, Deciding: took, Whole: m.o.Now().Sub(began)})
	}
}

// intake is one message on its way into the log.
type intake struct {
	*Service
	in      *channel.Inbound
	message route.Message
	config  *config.Config
	bots    []route.Bot
	now     time.Time
	stops   bool // a stop word of a person

	// Of the last transaction:
	decision     *route.Decision      // nil: decided before
	duration     time.Duration        // duration of the decision, including reads
	request      coordination.Context // the newest request in the thread, for an agent's message
	conversation threadConversation   // conversation the message belongs to, in a thread where agents ask each other
	link         chain.Link           // likewise: position in the causal chain
	saidIn       string               // run that wrote the message; "" if none or unknown
	collabID     string               // request that the message is, or is a reminder of; "" if none
	said         []string             // likewise: all messages of its post, including itself; none if unknown
	posted       []delivery.File      // likewise: all files of its post
	suspended    *route.Suspension
	warnings     []route.Warning
	refused      []refused
	stopped      []string              // keys of the sessions in which runs are stopped
	paired       *coordination.Pairing // the author's request to write to agents; nil: none is made
}

func (m *Service) newIntake(in *channel.Inbound) *intake {
	h := &intake{Service: m, in: in, message: in.Route(), config: m.o.Config(), now: m.o.Now()}
	h.message.Notice, h.message.Interaction = in.Message.Command, in.Message.Interaction
	h.bots = m.o.Bots.Sight(h.message.GuildID, h.message.ChannelID, h.message.ThreadID)
	for i := range h.bots {
		if h.bots[i].AccountID == in.AccountID {
			h.bots[i].Blind = false // bot that delivered the message
		}
	}
	h.stops = m.o.Stop != nil && len(in.Message.Attachments) == 0 && !h.message.Author.Bot && !h.message.Author.Webhook && isStop(in.Message.Content)
	return h
}

// decide makes the decision and computes its consequences. A panic becomes an error, since it runs in the log's
// writer.
func (h *intake) decide(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
	defer func() {
		if why := recover(); why != nil {
			appends, err = nil, &panicked{why, debug.Stack()}
		}
	}()
	h.decision, h.request, h.conversation, h.link, h.saidIn, h.collabID = nil, coordination.Context{}, threadConversation{}, chain.Link{}, "", ""
	h.said, h.posted, h.suspended, h.warnings, h.refused, h.stopped, h.paired = nil, nil, nil, nil, nil, nil, nil
	if h.in.Kind != channel.Created {
		return h.changed(tx)
	}
	if earlier, err := routing.Earlier(tx, h.message.ID); err != nil || earlier != nil {
		return nil, err
	}
	s, err := h.situation(tx)
	if err != nil {
		return nil, err
	}
	d := route.Decide(&s)
	asked, err := h.queueRuns(tx, &d)
	if err != nil {
		return nil, err
	}
	paired, err := h.pairs(tx, &d)
	if err != nil {
		return nil, err
	}
	h.suspended, h.warnings = d.Suspend, d.Warnings
	if appends, err = appendsOf(h.decisionEvents(&d, &s.Message), h.message.ID); err != nil {
		return nil, err
	}
	answered, err := h.answers(tx, &d, &s.Message)
	if err != nil {
		return nil, err
	}
	h.decision = &d
	return slices.Concat(appends, answered, asked, paired), nil
}

// answers returns the events for a message that answers a request.
func (h *intake) answers(tx eventstore.Tx, d *route.Decision, message *route.Message) ([]eventstore.StreamAppend, error) {
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
		return nil, fmt.Errorf("an answer is %T, which does not say that a request was answered", e.Data)
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

// notify logs what an operator should know of a decision, once per place, and notifies Run of a suspension.
func (m *Service) notify(h *intake) {
	place := h.message.Place()
	for _, w := range h.warnings {
		key := string(w) + " " + place
		m.mu.Lock()
		again := m.warned.has(key)
		m.warned.add(key)
		m.mu.Unlock()
		if !again {
			m.o.Logger.Warn(m.warningText(w), "code", w, "place", place, "message", h.message.ID)
		}
	}
	for _, r := range h.refused {
		m.o.Logger.Warn(m.title+" message refused", "message", h.message.ID, "agent", r.agent, "err", r.why)
	}
	if h.paired != nil {
		m.o.Logger.Info("a person asks to write to an agent: see openclawd pairing list "+m.o.Channel, "agent", h.paired.AgentID, "user", h.paired.UserID)
	}
	if h.suspended != nil {
		m.o.Logger.Warn("bot loop: bots suspended", "place", h.suspended.Place, "reason", h.suspended.Reason, "until", h.suspended.Until)
		select {
		case m.wake <- struct{}{}:
		default: // it will check anyway
		}
	}
}

func (m *Service) warningText(w route.Warning) string {
	switch w {
	case route.WarnParticipantsUnknown:
		return "participants of a thread are unknown: agents answer there only if mentioned, until they are mentioned or have written"
	case route.WarnNobodyOwns:
		return "no agent answers in a channel: neither the bound agent nor the default agent sees it"
	case route.WarnOwnerAbsent:
		return "the default agent answers for a bound agent that does not see the channel or is not configured"
	case route.WarnMentionedAbsent:
		return "a mentioned agent's bot does not see the message: it does not answer"
	case route.WarnNoBot:
		return "direct message to a bot without an agent: not answered"
	}
	return m.title + " message may not be routed as intended"
}
