package route

import (
	"slices"
	"strings"
)

// DefaultAccount is the account of a binding that names none.
const DefaultAccount = "default"

// AnyAccount is the account of a binding for all accounts.
const AnyAccount = "*"

// Binding assigns messages to an agent. A blank field matches anything, except AccountID.
type Binding struct {
	Agent   string
	Channel string // such as discord
	Account string // "" is DefaultAccount
	Peer    Peer
	Guild   string
	Roles   []string // any of them, in Guild
	Team    string
}

// Peer is a channel, a thread, or a person.
type Peer struct {
	Kind string // channel or direct; "" matches both
	ID   string
}

// Tier is the specificity of a binding: the most specific one wins.
type Tier string

const (
	TierPeer    Tier = "peer"
	TierParent  Tier = "peer.parent" // the parent channel of a thread
	TierRoles   Tier = "guild.roles"
	TierGuild   Tier = "guild"
	TierTeam    Tier = "team"
	TierAccount Tier = "account"
	TierChannel Tier = "channel" // any account
	TierDefault Tier = "default" // no binding
)

// tiers lists the tiers of bindings, most specific first.
var tiers = [...]Tier{TierPeer, TierParent, TierRoles, TierGuild, TierTeam, TierAccount, TierChannel}

// Spot is the origin of a message, as bindings match it.
type Spot struct {
	Channel  string   // such as discord
	Accounts []string // of the bots that see it
	Peer     Peer
	Parent   Peer
	Guild    string
	Roles    []string // of the author
	Team     string
	// Direct: the message came to one account. Any other came to all accounts, so an account alone does not select an agent: TierAccount
	// does not count.
	Direct bool
}

// Resolve finds the agent that messages at a spot belong to: the first match in the most specific tier. bound is that agent, "" without
// a match. If it is not usable, or without a match, agent is fallback and tier is TierDefault.
func Resolve(bindings []Binding, s *Spot, usable func(agent string) bool, fallback string) (agent string, tier Tier, bound string) {
	for _, tier := range tiers {
		if tier == TierAccount && !s.Direct {
			continue
		}
		for i := range bindings {
			b := &bindings[i]
			if b.tier(s) != tier || !b.fits(s) {
				continue
			}
			if bound = strings.ToLower(b.Agent); usable(bound) {
				return bound, tier, bound
			}
			return fallback, TierDefault, bound
		}
	}
	return fallback, TierDefault, ""
}

// Recipient returns the agent that a direct message to a bot of a channel belongs to: Resolve's answer with the bot's own agent as the fallback.
func Recipient(bindings []Binding, channel, account, userID string, usable func(agent string) bool, own string) (agent string, tier Tier, bound string) {
	spot := Spot{Channel: channel, Accounts: []string{account}, Peer: Peer{"direct", userID}, Direct: true}
	return Resolve(bindings, &spot, usable, own)
}

// tier returns the tier in which the binding matches a spot.
func (b *Binding) tier(s *Spot) Tier {
	switch {
	case b.Peer.ID != "" && b.Peer.is(s.Peer):
		return TierPeer
	case b.Peer.ID != "":
		return TierParent
	case b.Guild != "" && len(b.Roles) > 0:
		return TierRoles
	case b.Guild != "":
		return TierGuild
	case b.Team != "":
		return TierTeam
	case b.Account != AnyAccount:
		return TierAccount
	}
	return TierChannel
}

// fits reports whether every named field matches.
func (b *Binding) fits(s *Spot) bool {
	account := b.Account
	if account == "" {
		account = DefaultAccount
	}
	return strings.EqualFold(b.Channel, s.Channel) &&
		(account == AnyAccount || slices.Contains(s.Accounts, account)) &&
		(b.Peer.ID == "" || b.Peer.is(s.Peer) || b.Peer.is(s.Parent)) &&
		(b.Guild == "" || b.Guild == s.Guild) &&
		(len(b.Roles) == 0 || slices.ContainsFunc(b.Roles, func(r string) bool { return slices.Contains(s.Roles, r) })) &&
		(b.Team == "" || b.Team == s.Team)
}

func (p Peer) is(other Peer) bool {
	return p.ID != "" && p.ID == other.ID && (p.Kind == "" || other.Kind == "" || strings.EqualFold(p.Kind, other.Kind))
}
