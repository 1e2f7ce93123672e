package inbound

import (
	"errors"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
)

// cause is who asks for the runs.
const cause = "discord"

// RunID is the id of the run that an agent answers a message with.
func RunID(messageID, agent string) string { return "discord:" + messageID + ":" + agent }

// asks is what is appended so that whoever handles the message runs. A run that is refused leaves the decision as it is; the person who has written
// the message is told.
func (h *hearing) asks(tx eventstore.Tx, d *route.Decision) (appends []eventstore.StreamAppend, err error) {
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
			begun, err := h.exchange(tx, d, v)
			if err != nil {
				return nil, err
			}
			appends = append(appends, begun...)
			continue
		}
		ask := h.ask(v, d.Author)
		queued, err := h.o.Runs.Ask(tx, ask, h.now)
		switch why := refusalOf(err); {
		case why != nil:
			h.refused = append(h.refused, refused{v.Agent, why})
			if queued, err = h.notice(v, why); err != nil {
				return nil, err
			}
			cut, err := h.cut(&ask, v.Agent, why)
			if err != nil {
				return nil, err
			}
			queued = append(queued, cut...)
		case err != nil:
			return nil, err
		default:
			v.RunID = ask.RunID
		}
		appends = append(appends, queued...)
	}
	return appends, nil
}

// isExchange says whether a message is one to an agent that another one begins an exchange with.
func (h *hearing) isExchange(d *route.Decision, v *route.Verdict) bool {
	m := &h.message
	return h.o.Exchanges != nil && h.config.Discord.Collaboration.AutoRoute && d.Author != "" && !m.System && !m.Request && m.ThreadID == "" && m.GuildID != "" &&
		v.Reason == route.ByMention && without(h.words(), v.BotUserID) != ""
}

// exchange has the two agents speak with each other, instead of a run in the channel. What is refused is not handled in another way: whatever stands
// against the exchange stands against that, too.
func (h *hearing) exchange(tx eventstore.Tx, d *route.Decision, v *route.Verdict) ([]eventstore.StreamAppend, error) {
	from := route.Verdict{Agent: d.Author}
	hop := h.link.Hop
	e := Exchange{Context: coordination.Context{WorkSessionID: h.asked.WorkSessionID, TaskID: h.asked.TaskID, RootRunID: h.link.Root, Hop: &hop}, MessageID: h.message.ID,
		ChannelID: h.message.ChannelID, From: d.Author, To: v.Agent, Session: h.session(&from), Target: h.session(v), AccountID: h.in.Message.Author.Account,
		RunID: h.saidIn, Text: h.o.Bots.Resolve(without(h.words(), v.BotUserID))}
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

// without is a text without the mentions of a user.
func without(text, userID string) string {
	return strings.TrimSpace(strings.NewReplacer("<@"+userID+">", "", "<@!"+userID+">", "").Replace(text))
}

// refused is an agent whose run was not accepted.
type refused struct {
	agent string
	why   error
}

// refusalOf is the error if it says that no run is accepted; nil for all others, which may go by.
func refusalOf(err error) error {
	refusal, busy := (*run.Refusal)(nil), (*run.Busy)(nil)
	if errors.As(err, &refusal) || errors.As(err, &busy) {
		return err
	}
	return nil
}

func (h *hearing) session(v *route.Verdict) coordination.SessionKey {
	return discord.SessionOf(h.config, v.Agent, h.in.Where())
}

func (h *hearing) ask(v *route.Verdict, author string) run.Ask {
	m := &h.message
	ask := run.Ask{
		RunQueued: coordination.RunQueued{
			RunID: RunID(m.ID, v.Agent), Lane: run.LaneMain, Cause: cause, By: "discord:" + m.Author.ID, OnRestart: run.OnRestartRetry,
			Message: h.text(), ExtraSystemPrompt: strings.Join(v.Hints, "\n"), Provenance: "external_user", FromAgent: author,
			Deliver: true, Channel: discord.Channel, To: "channel:" + m.ChannelID, AccountID: v.AccountID, ThreadID: m.ThreadID,
			MessageID: m.ID, CollabID: h.collabID,
		},
		Session: h.session(v), Human: !m.Author.Bot && !m.Author.Webhook,
	}
	if author != "" {
		hop := h.link.Hop
		ask.Provenance = "inter_session"
		ask.Context = coordination.Context{WorkSessionID: h.asked.WorkSessionID, TaskID: h.asked.TaskID, RootRunID: h.link.Root, Hop: &hop}
		ask.Pass, ask.PassedBy = true, author
	}
	return ask
}

// cut tells that agents have caused each other to write in a loop, and are held.
func (h *hearing) cut(ask *run.Ask, to string, why error) ([]eventstore.StreamAppend, error) {
	refusal := (*run.Refusal)(nil)
	if !errors.As(why, &refusal) || !chain.IsCode(refusal.Code) {
		return nil, nil
	}
	cut := chain.Refusal{Code: refusal.Code, Text: refusal.Text, Mend: refusal.Mend}
	stream := coordination.StreamOf(&coordination.Record{Type: coordination.TypeA2AForbidden, AgentID: ask.PassedBy})
	a, err := appendOf(stream, coordination.TypeA2AForbidden, ask.PassedBy, h.now.UnixMilli(),
		cut.Forbidden(ask.Context, ask.PassedBy, to, ask.Session.String()))
	return []eventstore.StreamAppend{a}, err
}

// notice tells a person why nobody answers.
func (h *hearing) notice(v *route.Verdict, why error) ([]eventstore.StreamAppend, error) {
	m := &h.message
	if m.Author.Bot || m.Author.Webhook {
		return nil, nil
	}
	d := delivery.Delivery{
		Purpose: delivery.Notice, AgentID: v.Agent, AccountID: v.AccountID, GuildID: m.GuildID, ChannelID: m.ChannelID, ThreadID: m.ThreadID,
		Messages: []string{refusedText(why)}, ReplyTo: m.ID, System: true,
	}
	return schedule(&d, "discord/refused/"+m.ID+"/"+v.Agent, h.now)
}

// refusedText is what a person is told whose message nobody takes on.
func refusedText(why error) string {
	refusal := (*run.Refusal)(nil)
	switch {
	case !errors.As(why, &refusal):
		return "I cannot take this on: too many requests wait for me already. Please say it again in a while."
	case refusal.Code == run.CodeNotAllowed:
		return "I take no messages in this session: it is closed for them (sendPolicy: deny)."
	}
	return "I cannot take this on (" + refusal.Code + "). The log of openclawd says why."
}
