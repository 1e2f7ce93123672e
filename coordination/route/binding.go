package route

import (
	"slices"
	"strings"
)

// DefaultAccount is the account that a binding without one is for.
const DefaultAccount = "default"

// AnyAccount is what a binding names that is for all accounts.
const AnyAccount = "*"

// Binding gives messages to an agent. What it does not name it leaves open, except the account.
type Binding struct {
	Agent   string
	Channel string // discord
	Account string // "" is DefaultAccount
	Peer    Peer
	Guild   string
	Roles   []string // any of them; they count together with Guild
	Team    string
}

// Peer is a channel, a thread, or a person.
type Peer struct {
	Kind string // channel, direct; "" is any
	ID   string
}

// Tier is what a binding is known by: the narrower one counts.
type Tier string

const (
	TierPeer    Tier = "peer"
	TierParent  Tier = "peer.parent" // the channel that a thread hangs below
	TierRoles   Tier = "guild.roles"
	TierGuild   Tier = "guild"
	TierTeam    Tier = "team"
	TierAccount Tier = "account"
	TierChannel Tier = "channel" // any account
	TierDefault Tier = "default" // no binding
)

// tiers lists the tiers of bindings, the narrowest first.
var tiers = [...]Tier{TierPeer, TierParent, TierRoles, TierGuild, TierTeam, TierAccount, TierChannel}

// Spot is where a message stands, as bindings see it.
type Spot struct {
	Channel  string   // discord
	Accounts []string // of the bots that see it
	Peer     Peer
	Parent   Peer
	Guild    string
	Roles    []string // of the author
	Team     string
	// Direct: the message came to one account. Otherwise it came to all of them, and that an agent speaks through one of these says nothing of
	// who answers: TierAccount does not count.
	Direct bool
}

// Resolve finds the agent that messages at a spot belong to: that of the first binding that fits in the narrowest tier. bound is that agent, "" if
// no binding fits; where it is not usable, or there is none, agent is fallback and tier TierDefault.
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

// Recipient is the agent that what a person says to a bot directly belongs to: Resolve's answer, with the bot's own agent where no binding fits.
func Recipient(bindings []Binding, account, userID string, usable func(agent string) bool, own string) (agent string, tier Tier, bound string) {
	spot := Spot{Channel: "discord", Accounts: []string{account}, Peer: Peer{"direct", userID}, Direct: true}
	return Resolve(bindings, &spot, usable, own)
}

// tier is the tier in which the binding would count at a spot.
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

// fits says whether all that the binding names is so.
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
