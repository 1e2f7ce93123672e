package discord

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
)

// Sight returns the agents' bots for coordination/route. Blind are those that are disabled, rejected by Discord, not
// in the guild, or without permission to view the channel, as far as known from events; unknown is not blind. A bot
// that is connecting or disconnected is not blind: it fetches missed messages later, and can post without a
// connection. A thread is visible to those who see its channel, a private one only to bots that have received it or
// have ManageThreads.
//
// The data comes from events of the intent Guilds, of all bots together: guilds with roles and owners, channels with
// overwrites, and each bot's own roles, whose changes Discord sends to the bot itself without the intent Guild
// Members. A bot that loses access to a channel may receive no event; another one that still sees it does.
func (b *Bots) Sight(guildID, channelID, threadID string) []route.Bot {
	all := b.Registry().ForRoute()
	b.mu.Lock()
	bots := maps.Clone(b.bots)
	b.mu.Unlock()
	if threadID != "" {
		p, _ := b.directory.place(threadID)
		channelID = cmp.Or(p.ParentID, channelID)
	}
	for i := range all {
		own := bots[all[i].AccountID]
		all[i].Blind = own == nil || own.refused() ||
			guildID != "" && own.seat.blind(b.directory, all[i].UserID, guildID, channelID, threadID) // a conversation belongs to one bot, known to route
	}
	return all
}

// reads reports whether a bot is known to receive messages of a place with content: it has a session, sees the place,
// and may read it.
func (b *Bots) reads(f *channel.Message) bool {
	b.mu.Lock()
	bots := slices.Collect(maps.Values(b.bots))
	b.mu.Unlock()
	channel, thread := f.ChannelID, ""
	if f.ParentID != "" {
		channel, thread = f.ParentID, f.ChannelID
	}
	return slices.ContainsFunc(bots, func(other *bot) bool {
		s := other.current()
		sees, known := other.seat.sees(b.directory, s.UserID, f.GuildID, channel, thread)
		return sees && known && s.Missing == "" && (s.State == health.BotReady || s.State == health.BotResuming)
	})
}

// seat is what a bot has received about itself: its guilds and roles.
type seat struct {
	mu      sync.Mutex
	known   bool                // Discord has sent its guilds
	guilds  map[string][]string // its roles by guild; nil if unknown
	threads map[string]bool     // private threads it has received
}

// begin records the guilds of a new session. Earlier roles stay until they are received again.
func (s *seat) begin(guilds []guildShape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.guilds
	s.known, s.guilds, s.threads = true, map[string][]string{}, map[string]bool{}
	for i := range guilds {
		s.guilds[guilds[i].ID] = before[guilds[i].ID]
	}
}

// join records a guild's GUILD_CREATE.
func (s *seat) join(g *guildShape, user string) {
	s.mu.Lock()
	if s.guilds == nil {
		s.guilds, s.threads = map[string][]string{}, map[string]bool{}
	}
	roles := s.guilds[g.ID]
	for i := range g.Members {
		if m := &g.Members[i]; m.User != nil && m.User.ID == user {
			roles = append([]string{}, m.Roles...)
		}
	}
	put(s.guilds, g.ID, roles)
	s.mu.Unlock()
	for i := range g.Threads {
		s.enter(&g.Threads[i])
	}
}

// leave records that the bot has left a guild.
func (s *seat) leave(guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guilds, guild)
}

// rank records the bot's roles.
func (s *seat) rank(guild string, roles []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, in := s.guilds[guild]; in {
		s.guilds[guild] = append([]string{}, roles...)
	}
}

// enter records that the bot has received a thread.
func (s *seat) enter(c *channelShape) {
	if c.Type == typePrivateThread {
		s.follow(c.ID)
	}
}

func (s *seat) follow(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.threads == nil {
		s.threads = map[string]bool{}
	}
	put(s.threads, thread, true)
}

// exit records that the bot no longer receives a thread.
func (s *seat) exit(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.threads, thread)
}

// blind reports whether the bot is known not to see a place.
func (s *seat) blind(d *directory, user, guild, channel, thread string) bool {
	sees, known := s.sees(d, user, guild, channel, thread)
	return known && !sees
}

// sees reports whether the bot sees a place, as far as known.
func (s *seat) sees(d *directory, user, guild, channel, thread string) (sees, known bool) {
	s.mu.Lock()
	roles, in := s.guilds[guild]
	known, told := s.known, s.threads[thread]
	roles = slices.Clone(roles)
	s.mu.Unlock()
	if !in {
		return false, known
	}
	may, known := d.permissions(guild, user, roles, channel)
	private := thread != "" && d.typeOf(thread) == typePrivateThread && !told && may&manageThreads == 0
	return may&viewChannel != 0 && !private, known
}

// Permissions used here, with Discord's values.
const (
	administrator = 1 << 3
	viewChannel   = 1 << 10
	manageThreads = 1 << 34
	everything    = 1<<64 - 1
)

// permissions computes a member's permissions in a channel like Discord does: everything for the owner and
// administrators, otherwise the union of the roles, changed by the channel's overwrites of everyone, then of roles,
// then of the member. known is false if any of the inputs is missing.
func (d *directory) permissions(guild, user string, roles []string, channel string) (may uint64, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if user != "" && d.owners[guild] == user {
		return everything, true
	}
	if roles == nil {
		return 0, false
	}
	for _, id := range append(roles, guild) { // everyone's role has the guild's id
		p, told := d.powers[id]
		if !told {
			return 0, false
		}
		may |= p
	}
	if may&administrator != 0 {
		return everything, true
	}
	overwrites, told := d.overwrites[channel]
	if !told {
		return 0, false
	}
	for _, of := range []func(overwriteShape) bool{
		func(o overwriteShape) bool { return o.ID == guild },
		func(o overwriteShape) bool { return o.Type == 0 && o.ID != guild && slices.Contains(roles, o.ID) },
		func(o overwriteShape) bool { return o.Type == 1 && o.ID == user },
	} {
		var allow, deny uint64
		for _, o := range overwrites {
			if of(o) {
				allow, deny = allow|o.Allow, deny|o.Deny
			}
		}
		may = may&^deny | allow
	}
	return may, true
}
