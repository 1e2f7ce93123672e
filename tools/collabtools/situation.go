package collabtools

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
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/services/access"
)

// situation holds the inputs of a decision about a request in a channel that come from neither the log nor the service.
func (s *Service) situation(conf *config.Config, channel string, session collaborate.Session) *collaborate.Situation {
	inputs := &collaborate.Situation{Channel: channel, Policy: policyOf(conf, channel), Session: session, Agents: agentsOf(conf, channel)}
	if bots := s.channel(channel); bots != nil {
		inputs.Bots = bots.Connected()
	}
	policy := access.PolicyOf(conf.Tools.AgentToAgent)
	inputs.Judge = func(from, target string) collaborate.Verdict {
		v := policy.Judge(from, target)
		return collaborate.Verdict{Allowed: v.Allowed, Why: v.Why, Hint: v.Hint}
	}
	return inputs
}

func policyOf(conf *config.Config, channel string) collaborate.Policy {
	own := conf.Channel(channel)
	c := &own.Collaboration
	return collaborate.Policy{DefaultChannel: c.DefaultChannel, AllowedChannels: c.AllowedChannels, AllowedGuilds: c.AllowedGuilds, Reuse: c.ThreadReuse,
		PairLimit: c.LoopGuard.MaxPerPair, PairWindow: c.LoopGuard.Window, DefaultAccount: own.DefaultAccount, MaxHops: conf.Defaults.LoopGuard.Hops}
}

// agentsOf returns the configured agents by id, each with the first account of a channel bound to it.
func agentsOf(conf *config.Config, channel string) (agents []collaborate.Agent) {
	for i := range conf.Agents {
		a := &conf.Agents[i]
		agents = append(agents, collaborate.Agent{ID: strings.ToLower(a.ID), Name: a.Name, Account: accountOf(conf, channel, a.ID)})
	}
	return agents
}

func accountOf(conf *config.Config, channel, agent string) string {
	for i := range conf.Bindings {
		b := &conf.Bindings[i]
		if b.Channel == channel && strings.EqualFold(b.AgentID, agent) && b.AccountID != "*" {
			return cmp.Or(b.AccountID, config.DefaultAccount)
		}
	}
	own := conf.Channel(channel)
	if i := slices.IndexFunc(own.Accounts, func(a config.Account) bool { return strings.EqualFold(a.ID, agent) }); i >= 0 {
		return own.Accounts[i].ID
	}
	return ""
}

// read adds what the log says: earlier requests, and the participants where the agent was asked itself.
func read(tx eventstore.Tx, conf *config.Config, s *collaborate.Situation, r collaborate.Request, now int64) (err error) {
	from, target := s.Parties(r)
	if s.Cut, err = cut(tx, conf, s, from, target, now); err != nil {
		return err
	}
	if s.State, err = responses.Between(tx, from, target, now); err != nil || s.Session.ChannelID == "" {
		return err
	}
	present, err := routing.Attendance(tx, s.Session.ChannelID)
	if err != nil {
		return err
	}
	s.Session.Together = present.Of(s.Session.ChannelID, now, conf.Channel(s.Channel).Collaboration.ParticipantTTL)
	return nil
}

// cut returns why the chain of causes forbids the request, nil if it does not.
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
	if err != nil || why == nil || why.Reason == chain.CodeHops { // the decision reports that itself
		return nil, err
	}
	return &collaborate.Refusal{Reason: why.Reason, Field: "targetAgent", Value: target, Text: why.Text, HintText: why.HintText}, nil
}

// places are the channels and threads that were looked up, by id; nil for one that does not exist.
type places map[string]*collaborate.Place

// knows reports whether all ids were looked up.
func (p places) knows(ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool { _, seen := p[id]; return !seen })
}

func (p places) list() (all []collaborate.Place) {
	for _, place := range p {
		if place != nil {
			all = append(all, *place)
		}
	}
	return all
}

// lookUpPlaces fetches places that were not looked up yet, and the channels of threads. Channels come from the bots' cache; threads are fetched,
// since they may be archived or deleted without a notice.
func (s *Service) lookUpPlaces(ctx context.Context, situation *collaborate.Situation, r collaborate.Request, into places) error {
	account := asker(situation, r)
	for queue := situation.RequiredPlaces(r); len(queue) > 0; queue = queue[1:] {
		id := queue[0]
		if _, seen := into[id]; seen {
			continue
		}
		place, err := s.place(ctx, situation.Channel, account, id)
		if err != nil {
			return err
		}
		if into[id] = place; place != nil && place.Kind == collaborate.Thread && place.ParentID != "" {
			queue = append(queue, place.ParentID)
		}
	}
	return nil
}

func (s *Service) place(ctx context.Context, channel, account, id string) (*collaborate.Place, error) {
	bots := s.channel(channel)
	if traits, _ := coordination.ChannelNamed(channel); bots == nil || !traits.IsPlaceID(id) {
		return nil, nil
	}
	known, told := bots.Known(id)
	if told && known.Kind != collaborate.Thread {
		return &known, nil
	}
	is, ok, err := bots.Place(ctx, account, id)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && told:
		return &known, nil
	case err != nil:
		return nil, &collaborate.Refusal{Reason: collaborate.CodeUnavailable, Field: "channelId", Value: id,
			Text: fmt.Sprintf("%s does not describe %s: %s", titleOf(channel), id, coordination.Mask(err.Error())), HintText: "try again in a minute"}
	case !ok:
		return nil, nil
	}
	return &is, nil
}

// asker returns the account used for lookups: most likely the one that will post.
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

// known returns places from the bots' cache, for a decision that must not wait.
func (s *Service) known(situation *collaborate.Situation, r collaborate.Request) (all []collaborate.Place) {
	bots := s.channel(situation.Channel)
	if bots == nil {
		return nil
	}
	for queue := situation.RequiredPlaces(r); len(queue) > 0; queue = queue[1:] {
		p, ok := bots.Known(queue[0])
		if !ok || slices.ContainsFunc(all, func(seen collaborate.Place) bool { return seen.ID == p.ID }) {
			continue
		}
		if all = append(all, p); p.Kind == collaborate.Thread && p.ParentID != "" {
			queue = append(queue, p.ParentID)
		}
	}
	return all
}
