package collaborate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// agent resolves a name: an agent's id, else the id of an account, else a mention of a bot. Case is ignored. An
// unknown name stands for itself.
func (s *Situation) agent(name string) Agent {
	a, _ := s.find(coordination.TrimJS(name))
	return a
}

func (s *Situation) find(name string) (a Agent, known bool) {
	if a, ok := s.configured(name); ok {
		return a, true
	}
	for _, is := range []func(Bot) bool{
		func(b Bot) bool { return strings.EqualFold(b.Agent, name) },
		func(b Bot) bool { return strings.EqualFold(b.AccountID, name) },
		func(b Bot) bool { return b.UserID != "" && (name == "<@"+b.UserID+">" || name == "<@!"+b.UserID+">") },
	} {
		for _, b := range s.Bots {
			if b.Agent == "" || !is(b) {
				continue
			}
			if a, ok := s.configured(b.Agent); ok {
				return a, true
			}
			return Agent{ID: b.Agent, Account: b.AccountID}, true
		}
	}
	for _, a := range s.Agents {
		if a.Account != "" && strings.EqualFold(a.Account, name) {
			return a, true
		}
	}
	return Agent{ID: name}, false
}

func (s *Situation) configured(id string) (Agent, bool) {
	for _, a := range s.Agents {
		if id != "" && strings.EqualFold(a.ID, id) {
			return a, true
		}
	}
	return Agent{}, false
}

// botOf returns the bot of an agent: one whose messages are routed to it, preferring that of its own account; else
// that of its account, unless that speaks for another agent.
func (s *Situation) botOf(a Agent) (bot Bot, ok bool) {
	for _, b := range s.Bots {
		if strings.EqualFold(b.Agent, a.ID) && (!ok || strings.EqualFold(b.AccountID, a.Account)) {
			bot, ok = b, true
		}
	}
	if ok {
		return bot, true
	}
	b, ok := s.bot(a.Account)
	return b, ok && b.Agent == ""
}

// bot returns the bot of an account.
func (s *Situation) bot(account string) (Bot, bool) {
	for _, b := range s.Bots {
		if account != "" && strings.EqualFold(b.AccountID, account) {
			return b, true
		}
	}
	return Bot{}, false
}

// unmapped says what is missing for an agent to have a bot.
func (s *Situation) unmapped(field, value string, a Agent, known bool) *Refusal {
	r := &Refusal{Reason: CodeMapping, Field: field, Value: value}
	own := s.traits()
	binding := fmt.Sprintf("{agentId: %q, match: {channel: %q, accountId: \"...\"}}", a.ID, own.Name)
	switch {
	case !known:
		r.Text = fmt.Sprintf("%s %q: no such agent, and no %s account of this name", field, value, own.Title)
		r.HintText = fmt.Sprintf("name one of %s; or add the agent, and %s to bindings", s.reachable(), binding)
	case a.Account == "":
		r.Text = fmt.Sprintf("%s %q: agent %s has no %s bot: no binding gives it an account", field, value, a.ID, own.Title)
		r.HintText = fmt.Sprintf("add %s to bindings, and the account to channels.%s.accounts", binding, own.Name)
	default:
		r.Text = fmt.Sprintf("%s %q: agent %s has no %s bot: account %s of its binding is not connected for it", field, value, a.ID, own.Title, a.Account)
		r.HintText = fmt.Sprintf("check that channels.%s.accounts.%s is enabled, has a valid token, and is bound to no other agent", own.Name, a.Account)
	}
	return r
}

// reachable lists the agents that have a bot, at most 20.
func (s *Situation) reachable() string {
	const most = 20
	var ids []string
	for _, a := range s.Agents {
		if _, ok := s.botOf(a); ok {
			ids = append(ids, a.ID)
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 {
		return "the agents with a bot (there is none)"
	}
	if len(ids) > most {
		ids = append(ids[:most], "...")
	}
	return strings.Join(ids, ", ")
}

// speaker returns the bot that posts the request: the named one, else that of the session, else the agent's own, else
// the default one. It is never the target's own, which does not receive its own messages.
func (s *Situation) speaker(r *Request, from Agent, target Bot) (Bot, *Refusal) {
	if r.AccountID != "" {
		b, ok := s.bot(r.AccountID)
		switch {
		case !ok:
			return Bot{}, &Refusal{Reason: CodeAccount, Field: "accountId", Value: r.AccountID,
				Text:     fmt.Sprintf("accountId %q: no %s account of this name is connected", r.AccountID, s.traits().Title),
				HintText: fmt.Sprintf("omit accountId, or name a connected account of channels.%s.accounts", s.traits().Name)}
		case b.UserID == target.UserID:
			return Bot{}, &Refusal{Reason: CodeAccount, Field: "accountId", Value: r.AccountID,
				Text:     fmt.Sprintf("accountId %q: this is the bot of %s, which does not receive its own messages", r.AccountID, r.Target),
				HintText: "omit accountId, or name another account"}
		}
		return b, nil
	}
	if b, ok := s.bot(s.Session.AccountID); ok && b.UserID != target.UserID {
		return b, nil
	}
	if b, ok := s.botOf(from); ok && b.UserID != target.UserID {
		return b, nil
	}
	if b, ok := s.bot(s.Policy.DefaultAccount); ok && b.UserID != target.UserID {
		return b, nil
	}
	_, known := s.configured(from.ID)
	return Bot{}, s.unmapped("from", from.ID, from, known)
}
