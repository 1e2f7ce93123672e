package discord

import (
	"cmp"
	"slices"
)

// memory is what a bot has received. It outlives the bot, so that another token for the same account continues with
// it.
type memory struct {
	marks  map[string]mark // by channel
	newest uint64          // the newest of all messages
	guilds map[string]bool // facts already delivered

	// Gaps: by channel, the message after which messages may be missing, and by guild for channels without a mark.
	// Cleared when fetched.
	gaps     map[string]mark
	horizons map[string]uint64

	seen  map[fact]bool
	order []fact // of seen, oldest first
}

// mark is the last message the bot has received in a channel.
type mark struct {
	guild string
	last  uint64
}

// fact identifies a delivered fact.
type fact struct {
	message uint64
	edited  int64 // ms since 1970; 0: created, -1: deleted
}

// Limits of a memory.
const (
	maxMarks = 2000 // channels, those with the newest messages
	maxSeen  = 8192 // facts
)

func newMemory() *memory {
	return &memory{marks: map[string]mark{}, guilds: map[string]bool{}, gaps: map[string]mark{}, horizons: map[string]uint64{}, seen: map[fact]bool{}}
}

// recordDelivered records a delivered fact.
func (m *memory) recordDelivered(f fact) {
	if m.seen[f] {
		return
	}
	if len(m.order) >= maxSeen {
		delete(m.seen, m.order[0])
		m.order = m.order[1:]
	}
	m.seen[f] = true
	m.order = append(m.order, f)
}

// recordMessage records a message.
func (m *memory) recordMessage(guild, channel string, id uint64) {
	if id == 0 {
		return
	}
	m.newest = max(m.newest, id)
	if m.marks[channel].last >= id {
		return
	}
	m.marks[channel] = mark{guild, id}
	if len(m.marks) > maxMarks {
		m.halve()
	}
}

// halve drops the marks of the longest silent channels.
func (m *memory) halve() {
	var all []uint64
	for _, k := range m.marks {
		all = append(all, k.last)
	}
	slices.SortFunc(all, cmp.Compare)
	for channel, k := range m.marks {
		if k.last < all[len(all)/2] {
			delete(m.marks, channel)
		}
	}
}

// away starts a new Discord session: everything after the marks may be missing. guilds are the bot's guilds.
func (m *memory) away(guilds []string) {
	if m.newest == 0 {
		return
	}
	for channel, k := range m.marks {
		if _, open := m.gaps[channel]; !open {
			m.gaps[channel] = k
		}
	}
	fresh := len(m.guilds) == 0
	for _, g := range guilds {
		if _, open := m.horizons[g]; !open && (fresh || m.guilds[g]) {
			m.horizons[g] = m.newest
		}
	}
}

// missed is a channel with possibly missing messages.
type missed struct {
	channel string
	guild   string
	after   uint64
	last    uint64 // the channel's last message, 0 if unknown
}

// missedIn returns the gaps of a guild from its GUILD_CREATE, once per gap: channels not listed were silent, except
// archived threads.
func (m *memory) missedIn(g *guildShape) (all []missed) {
	m.guilds[g.ID] = true
	horizon, away := m.horizons[g.ID]
	delete(m.horizons, g.ID)
	listed := map[string]bool{}
	for _, some := range [][]channelShape{g.Channels, g.Threads} {
		for i := range some {
			c := &some[i]
			listed[c.ID] = true
			after, last := horizon, snowflake(c.LastMessageID)
			k, open := m.gaps[c.ID]
			if open {
				after = k.last
			}
			if !open && !away || !c.holdsMessages() {
				continue
			}
			if last > after {
				all = append(all, missed{channel: c.ID, guild: g.ID, after: after, last: last})
				m.gaps[c.ID] = mark{g.ID, after} // until fetched
			} else {
				delete(m.gaps, c.ID)
			}
		}
	}
	// Without any messages, the guild's newest id is the start.
	for _, some := range [][]channelShape{g.Channels, g.Threads} {
		for i := range some {
			m.newest = max(m.newest, snowflake(some[i].ID), snowflake(some[i].LastMessageID))
		}
	}
	const archivedLately = int64(24 * 60 * 60 * 1000)
	for channel, k := range m.gaps {
		switch {
		case k.guild != g.ID || listed[channel]:
		case madeAt(m.newest)-madeAt(k.last) < archivedLately:
			all = append(all, missed{channel: channel, guild: g.ID, after: k.last})
		default:
			delete(m.gaps, channel)
		}
	}
	return all
}

// missedDirectly returns the gaps in conversations.
func (m *memory) missedDirectly() (all []missed) {
	for channel, k := range m.gaps {
		if k.guild == "" {
			all = append(all, missed{channel: channel, after: k.last})
		}
	}
	return all
}
