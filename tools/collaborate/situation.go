package collaborate

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/response"
	"github.com/pronto-lab/openclawd/projections/routing"
	runs "github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/tools"
	"github.com/pronto-lab/openclawd/tools/access"
)

// channel is how Discord is called as a channel of sessions.
const channel = "discord"

// situation is what a decision depends on, as far as neither the log nor Discord has to be asked for it.
func (d *Desk) situation(conf *config.Config, session collaborate.Session) *collaborate.Situation {
	s := &collaborate.Situation{Policy: policyOf(conf), Session: session, Agents: agentsOf(conf)}
	if d.o.Discord != nil {
		s.Bots = d.o.Discord.Connected()
	}
	policy := access.PolicyOf(conf.Tools.AgentToAgent)
	s.Judge = func(from, target string) collaborate.Verdict {
		v := policy.Judge(from, target)
		return collaborate.Verdict{Allowed: v.Allowed, Why: v.Why, Mend: v.Mend}
	}
	return s
}

func policyOf(conf *config.Config) collaborate.Policy {
	c := &conf.Discord.Collaboration
	return collaborate.Policy{DefaultChannel: c.DefaultChannel, AllowedChannels: c.AllowedChannels, AllowedGuilds: c.AllowedGuilds, Reuse: c.ThreadReuse,
		PairLimit: c.LoopGuard.MaxPerPair, PairWindow: c.LoopGuard.Window, DefaultAccount: conf.Discord.DefaultAccount, MaxHops: conf.Defaults.LoopGuard.Hops}
}

// agentsOf are the agents that are configured, by their ids as the log has them, each with the account that is bound to it first.
func agentsOf(conf *config.Config) (agents []collaborate.Agent) {
	for i := range conf.Agents {
		a := &conf.Agents[i]
		agents = append(agents, collaborate.Agent{ID: strings.ToLower(a.ID), Name: a.Name, Account: accountOf(conf, a.ID)})
	}
	return agents
}

func accountOf(conf *config.Config, agent string) string {
	for i := range conf.Bindings {
		b := &conf.Bindings[i]
		if b.Channel == channel && strings.EqualFold(b.AgentID, agent) && b.AccountID != "*" {
			return cmp.Or(b.AccountID, config.DefaultAccount)
		}
	}
	if i := slices.IndexFunc(conf.Discord.Accounts, func(a config.DiscordAccount) bool { return strings.EqualFold(a.ID, agent) }); i >= 0 {
		return conf.Discord.Accounts[i].ID
	}
	return ""
}

// sessionOf is the session of a call. Where it is one of Discord, its key names the channel or thread; elsewhere it may be spoken to there.
func sessionOf(call *tools.Call) collaborate.Session {
	s := collaborate.Session{Key: call.SessionKey, RunID: call.RunID, Hop: call.Hop}
	of := call.Channel == channel
	if of {
		s.AccountID = call.AccountID
	}
	switch key := &call.Session; {
	case key.Channel == channel && (key.Kind == coordination.KeyChannel || key.Kind == coordination.KeyGroup):
		s.ChannelID = cmp.Or(key.Thread, key.ID)
	case of:
		s.ChannelID = call.ThreadID
		if to, is := strings.CutPrefix(call.To, "channel:"); is && s.ChannelID == "" {
			s.ChannelID = to
		}
	}
	return s
}

// read adds what the log says: what was asked before, and who takes part where the agent is asked itself.
func read(tx eventstore.Tx, conf *config.Config, s *collaborate.Situation, r collaborate.Request, now int64) (err error) {
	from, target := s.Parties(r)
	if s.Cut, err = cut(tx, conf, s, from, target, now); err != nil {
		return err
	}
	if s.State, err = response.Between(tx, from, target, now); err != nil || s.Session.ChannelID == "" {
		return err
	}
	present, err := routing.Attendance(tx, s.Session.ChannelID)
	if err != nil {
		return err
	}
	s.Session.Together = present.Of(s.Session.ChannelID, now, conf.Discord.Collaboration.ParticipantTTL)
	return nil
}

// cut says what the chain of causes has against it that an agent asks another one in a run; nil for nothing.
func cut(tx eventstore.Tx, conf *config.Config, s *collaborate.Situation, from, target string, now int64) (*collaborate.Refusal, error) {
	if s.Session.RunID == "" {
		return nil, nil
	}
	link, _, found, err := runs.Link(tx, s.Session.RunID)
	if err != nil || !found {
		return nil, err
	}
	link.Hop = max(link.Hop, s.Session.Hop)
	why, err := runs.Judge(tx, &conf.Defaults.LoopGuard, link.Next(), from, target, 0, now)
	if err != nil || why == nil || why.Code == chain.CodeHops { // of that the decision tells itself
		return nil, err
	}
	return &collaborate.Refusal{Reason: why.Code, Field: "targetAgent", Value: target, Text: why.Text, Mend: why.Mend}, nil
}

// places are the channels and threads that were looked for, by id. What is there and nil does not exist.
type places map[string]*collaborate.Place

// maxDigits is how many digits an id of Discord has at most.
const maxDigits = 20

func isID(id string) bool {
	return id != "" && len(id) <= maxDigits && strings.Trim(id, "0123456789") == ""
}

// knows reports whether all of these were looked for.
func (p places) knows(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { _, seen := p[id]; return !seen })
}

// list are those that there are.
func (p places) list() (all []collaborate.Place) {
	for _, place := range p {
		if place != nil {
			all = append(all, *place)
		}
	}
	return all
}

// look asks Discord for what was not looked for yet, and for the channels of threads. Channels that the bots have been told of are as they were
// told; threads, which are archived and taken away unheard, are asked for.
func (d *Desk) look(ctx context.Context, s *collaborate.Situation, r collaborate.Request, into places) error {
	account := asker(s, r)
	for queue := s.Look(r); len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if _, seen := into[id]; seen {
			continue
		}
		place, err := d.place(ctx, account, id)
		if err != nil {
			return err
		}
		if into[id] = place; place != nil && place.Kind == collaborate.Thread && place.ParentID != "" {
			queue = append(queue, place.ParentID)
		}
	}
	return nil
}

func (d *Desk) place(ctx context.Context, account, id string) (*collaborate.Place, error) {
	if d.o.Discord == nil || !isID(id) {
		return nil, nil
	}
	known, told := d.o.Discord.Known(id)
	if told && known.Kind != collaborate.Thread {
		return &known, nil
	}
	is, ok, err := d.o.Discord.Place(ctx, account, id)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && told:
		return &known, nil
	case err != nil:
		return nil, &collaborate.Refusal{Reason: collaborate.CodeUnavailable, Field: "channelId", Value: id,
			Text: fmt.Sprintf("Discord does not say what %s is: %s", id, coordination.Mask(err.Error())), Mend: "try again in a minute"}
	case !ok:
		return nil, nil
	}
	return &is, nil
}

// asker is the account whose bot looks: that which is going to speak, most likely.
func asker(s *collaborate.Situation, r collaborate.Request) string {
	from, _ := s.Parties(r)
	for _, wanted := range []func(*collaborate.Bot) bool{
		func(b *collaborate.Bot) bool { return r.AccountID != "" && strings.EqualFold(b.AccountID, r.AccountID) },
		func(b *collaborate.Bot) bool {
			return r.AccountID == "" && strings.EqualFold(b.AccountID, s.Session.AccountID)
		},
		func(b *collaborate.Bot) bool { return strings.EqualFold(b.Agent, from) },
		func(b *collaborate.Bot) bool { return strings.EqualFold(b.AccountID, s.Policy.DefaultAccount) },
		func(*collaborate.Bot) bool { return true },
	} {
		for i := range s.Bots {
			if wanted(&s.Bots[i]) {
				return s.Bots[i].AccountID
			}
		}
	}
	return ""
}

// known are the places as the bots have been told of them: for a decision that must not wait.
func (d *Desk) known(s *collaborate.Situation, r collaborate.Request) (all []collaborate.Place) {
	if d.o.Discord == nil {
		return nil
	}
	for queue := s.Look(r); len(queue) > 0; queue = queue[1:] {
		p, ok := d.o.Discord.Known(queue[0])
		if !ok || slices.ContainsFunc(all, func(seen collaborate.Place) bool { return seen.ID == p.ID }) {
			continue
		}
		if all = append(all, p); p.Kind == collaborate.Thread && p.ParentID != "" {
			queue = append(queue, p.ParentID)
		}
	}
	return all
}
