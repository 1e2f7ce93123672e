package discord

import (
	"cmp"
	"maps"
	"slices"
	"sync"

	"github.com/pronto-lab/openclawd/coordination/route"
)

// Sight are the bots that speak for agents, as coordination/route asks for them. Blind are those that are switched off or refused by Discord, are not
// in the guild, or may not view the channel by its permissions, as far as the bots have been told of these; what is not known does not make them
// blind. One that is connecting, or has lost its connection, is not blind: what is written meanwhile it reads later, and it can post without being
// connected. A thread is seen by those who see its channel, a private one only by bots that were told of it, or manage threads.
//
// What is known comes from the events of the intent Guilds, of all bots together: guilds with their roles and owners, channels with their overwrites,
// and of each bot its own roles, whose changes Discord tells every bot of itself without the intent Guild Members. A bot that is shut out of a
// channel need not be told of that; another one that still views it is.
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
			guildID != "" && own.seat.blind(b.directory, all[i].UserID, guildID, channelID, threadID) // a conversation belongs to one bot, which route knows
	}
	return all
}

// reads says whether a bot is known to be told of a message in a guild: one that has a session, sees the place, and may read what is written there.
func (b *Bots) reads(f *Message) bool {
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
		return sees && known && s.Missing == "" && (s.State == StateReady || s.State == StateResuming)
	})
}

// seat is what one bot was told of itself: in which guilds it is, and as what.
type seat struct {
	mu      sync.Mutex
	begun   bool                // Discord has said in which guilds it is
	guilds  map[string][]string // its roles by guild; nil where they are not known yet
	threads map[string]bool     // private ones that it was told of
}

// begin takes up the guilds of a new session. Roles of the one before hold until they are told anew.
func (s *seat) begin(guilds []guildShape) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.guilds
	s.begun, s.guilds, s.threads = true, map[string][]string{}, map[string]bool{}
	for i := range guilds {
		s.guilds[guilds[i].ID] = before[guilds[i].ID]
	}
}

// join takes up a guild that says how it stands.
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

// leave takes up that the bot is in a guild no more.
func (s *seat) leave(guild string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.guilds, guild)
}

// rank takes up the bot's roles.
func (s *seat) rank(guild string, roles []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, in := s.guilds[guild]; in {
		s.guilds[guild] = append([]string{}, roles...)
	}
}

// enter takes up that the bot was told of a thread.
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

// exit takes up that the bot is told of a thread no more.
func (s *seat) exit(thread string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.threads, thread)
}

// blind says whether the bot is known not to see a place.
func (s *seat) blind(d *directory, user, guild, channel, thread string) bool {
	sees, known := s.sees(d, user, guild, channel, thread)
	return known && !sees
}

// sees says whether the bot sees a place, as far as that is known.
func (s *seat) sees(d *directory, user, guild, channel, thread string) (sees, known bool) {
	s.mu.Lock()
	roles, in := s.guilds[guild]
	begun, told := s.begun, s.threads[thread]
	roles = slices.Clone(roles)
	s.mu.Unlock()
	if !in {
		return false, begun
	}
	may, known := d.permissions(guild, user, roles, channel)
	private := thread != "" && d.typeOf(thread) == typePrivateThread && !told && may&manageThreads == 0
	return may&viewChannel != 0 && !private, known
}

// Permissions that are judged, as Discord numbers them.
const (
	administrator = 1 << 3
	viewChannel   = 1 << 10
	manageThreads = 1 << 34
	everything    = 1<<64 - 1
)

// permissions are what a member may do in a channel, as Discord computes it: the owner and administrators everything, others what their roles say
// together, but for what the channel's overwrites deny and allow, those of everyone first, then of roles, then of the member. known is false if
// something of that was not told.
func (d *directory) permissions(guild, user string, roles []string, channel string) (may uint64, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if user != "" && d.owners[guild] == user {
		return everything, true
	}
	if roles == nil {
		return 0, false
	}
	for _, id := range append(roles, guild) { // the role of everyone has the guild's id
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
