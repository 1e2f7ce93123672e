package inbound

import (
	"errors"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
)

// RunID is the id of the run in which an agent answers a message.
func RunID(messageID, agent string) string {
	if coordination.OtherChannel(messageID) == "" {
		messageID = coordination.Discord + ":" + messageID
	}
	return messageID + ":" + agent
}

// queueRuns returns the events that queue the handlers' runs. A refused run does not change the decision; the person who
// wrote the message is notified.
func (h *intake) queueRuns(tx eventstore.Tx, d *route.Decision) (appends []eventstore.StreamAppend, err error) {
	for i := range d.Verdicts {
		v := &d.Verdicts[i]
		if v.Mode != route.Handler {
			continue
		}
		if h.stops {
			h.stopped = append(h.stopped, h.session(v).String())
			continue
		}
		if h.isExchange(d, v) {
			made, err := h.exchange(tx, d, v)
			if err != nil {
				return nil, err
			}
			appends = append(appends, made...)
			continue
		}
		ask := h.ask(v, d.Author)
		news, err := h.news(tx, v.Agent)
		if err != nil {
			return nil, err
		}
		ask.Message += news
		fetched := h.files(&ask)
		queued, err := h.o.Queue.Ask(tx, ask, h.now)
		switch why := refusalOf(err); {
		case why != nil:
			h.refused = append(h.refused, refused{v.Agent, why})
			if queued, err = h.notice(v, why); err != nil {
				return nil, err
			}
			cut, err := h.refuseLoop(&ask, v.Agent, why)
			if err != nil {
				return nil, err
			}
			queued = append(queued, cut...)
		case err != nil:
			return nil, err
		default:
			v.RunID = ask.RunID
			queued = slices.Concat(fetched, queued, h.ack(v))
		}
		appends = append(appends, queued...)
	}
	return appends, nil
}

// isExchange reports whether a message starts an exchange between agents.
func (h *intake) isExchange(d *route.Decision, v *route.Verdict) bool {
	m := &h.message
	return h.o.Exchanges != nil && h.config.Channel(h.o.Channel).Collaboration.AutoRoute && d.Author != "" && !m.System && !m.Request && m.ThreadID == "" && m.GuildID != "" &&
		v.Reason == route.ByMention && withoutMentions(h.words(), v.BotUserID) != ""
}

// exchange starts an exchange between the two agents instead of a run in the channel. A refused exchange is not
// replaced by a run, since the same reasons apply to it.
func (h *intake) exchange(tx eventstore.Tx, d *route.Decision, v *route.Verdict) ([]eventstore.StreamAppend, error) {
	from := route.Verdict{Agent: d.Author}
	hop := h.link.Hop
	e := Exchange{Context: coordination.Context{WorkSessionID: h.request.WorkSessionID, TaskID: h.request.TaskID, RootRunID: h.link.Root, Hop: &hop}, MessageID: h.message.ID,
		ChannelID: h.message.ChannelID, From: d.Author, To: v.Agent, Session: h.session(&from), Target: h.session(v), AccountID: h.in.Message.Author.Account,
		RunID: h.saidIn, Text: h.o.Bots.Resolve(withoutMentions(h.words(), v.BotUserID))}
	runID, why, appends, err := h.o.Exchanges(tx, &e, h.now)
	switch {
	case err != nil:
		return nil, err
	case why != nil:
		h.refused = append(h.refused, refused{v.Agent, why})
	}
	v.RunID = runID
	return appends, nil
}

// withoutMentions removes a user's mentions from a text.
func withoutMentions(text, userID string) string {
	return strings.TrimSpace(strings.NewReplacer("<@"+userID+">", "", "<@!"+userID+">", "").Replace(text))
}

type refused struct {
	agent string
	why   error
}

// refusalOf returns an error that permanently refuses a run; nil for all others, which may be temporary.
func refusalOf(err error) error {
	refusal, busy := (*run.Refusal)(nil), (*run.Busy)(nil)
	if errors.As(err, &refusal) || errors.As(err, &busy) {
		return err
	}
	return nil
}

func (h *intake) session(v *route.Verdict) coordination.SessionKey {
	return channel.SessionOf(h.config, v.Agent, h.in.Where())
}

func (h *intake) ask(v *route.Verdict, author string) run.Ask {
	m := &h.message
	ask := run.Ask{
		RunQueued: coordination.RunQueued{
			RunID: RunID(m.ID, v.Agent), Lane: run.LaneMain, Cause: h.o.Channel, By: h.o.Channel + ":" + m.Author.ID, OnRestart: run.OnRestartRetry,
			Message: h.text(), ExtraSystemPrompt: strings.Join(v.Hints, "\n"), Provenance: "external_user", FromAgent: author,
			Deliver: true, Channel: h.o.Channel, To: "channel:" + m.ChannelID, AccountID: v.AccountID, ThreadID: m.ThreadID,
			MessageID: m.ID, CollabID: h.collabID,
		},
		Session: h.session(v), Human: !m.Author.Bot && !m.Author.Webhook,
	}
	if author != "" {
		hop := h.link.Hop
		ask.Provenance = "inter_session"
		ask.Context = coordination.Context{WorkSessionID: h.request.WorkSessionID, TaskID: h.request.TaskID, RootRunID: h.link.Root, Hop: &hop}
		ask.Pass, ask.PassedBy = true, author
	}
	return ask
}

// refuseLoop records that agents have triggered each other in a loop and are suspended.
func (h *intake) refuseLoop(ask *run.Ask, to string, why error) ([]eventstore.StreamAppend, error) {
	refusal := (*run.Refusal)(nil)
	if !errors.As(why, &refusal) || !chain.IsCode(refusal.Reason) {
		return nil, nil
	}
	cut := chain.Refusal{Reason: refusal.Reason, Text: refusal.Text, HintText: refusal.HintText}
	stream := coordination.StreamOf(&coordination.Record{Type: coordination.TypeA2AForbidden, AgentID: ask.PassedBy})
	a, err := appendOf(stream, coordination.TypeA2AForbidden, ask.PassedBy, h.now.UnixMilli(),
		chain.Forbidden(&cut, ask.Context, ask.PassedBy, to, ask.Session.String()))
	return []eventstore.StreamAppend{a}, err
}

// notice tells a person why no answer comes.
func (h *intake) notice(v *route.Verdict, why error) ([]eventstore.StreamAppend, error) {
	m := &h.message
	if m.Author.Bot || m.Author.Webhook {
		return nil, nil
	}
	d := delivery.Delivery{
		Channel: coordination.OtherChannel(m.ChannelID), Purpose: delivery.Notice, AgentID: v.Agent, AccountID: v.AccountID, GuildID: m.GuildID, ChannelID: m.ChannelID, ThreadID: m.ThreadID,
		Messages: []string{refusedText(why)}, ReplyTo: m.ID, System: true,
	}
	return schedule(&d, h.o.Channel+"/refused/"+m.ID+"/"+v.Agent, h.now)
}

// refusedText is the notice for a person whose message was refused.
func refusedText(why error) string {
	refusal := (*run.Refusal)(nil)
	switch {
	case !errors.As(why, &refusal):
		return "I cannot take this on: too many requests wait for me already. Please say it again in a while."
	case refusal.Reason == run.CodeNotAllowed:
		return "I take no messages in this session: it is closed for them (sendPolicy: deny)."
	}
	return "I cannot take this on (" + refusal.Reason + "). The log of openclawd says why."
}
