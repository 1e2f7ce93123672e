package discord

import (
	"sync"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// maxNames bounds how many users, and how many channels, a directory knows. One more, and any one is forgotten.
const maxNames = 20000

// directory is what the bots have been told of users, channels and roles, all bots together. It never asks.
type directory struct {
	mu     sync.RWMutex
	users  map[string]string
	member map[string][]string // roles, by guild and user
	places map[string]collaborate.Place
	types  map[string]int // of channels, as Discord numbers them
	roles  map[string]string

	owners     map[string]string           // user ids, by guild
	powers     map[string]uint64           // permissions of roles
	overwrites map[string][]overwriteShape // by channel
}

func newDirectory() *directory {
	return &directory{users: map[string]string{}, member: map[string][]string{}, places: map[string]collaborate.Place{}, types: map[string]int{},
		roles: map[string]string{}, owners: map[string]string{}, powers: map[string]uint64{}, overwrites: map[string][]overwriteShape{}}
}

func (d *directory) addGuild(g *guildShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if g.OwnerID != "" {
		put(d.owners, g.ID, g.OwnerID)
	}
	for _, r := range g.Roles {
		put(d.roles, r.ID, r.Name)
		put(d.powers, r.ID, r.Permissions)
	}
	for i := range g.Members {
		d.addMember(g.ID, &g.Members[i])
	}
	for _, all := range [][]channelShape{g.Channels, g.Threads} {
		for i := range all {
			all[i].GuildID = g.ID
			d.addPlace(&all[i])
		}
	}
}

func (d *directory) addChannel(c *channelShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.addPlace(c)
}

func (d *directory) addPlace(c *channelShape) {
	put(d.places, c.ID, c.place())
	put(d.types, c.ID, c.Type)
	if c.kind() != collaborate.Thread { // these have the permissions of their parent
		put(d.overwrites, c.ID, c.Overwrites)
	}
}

// remove forgets a channel, but not how it was called, and who might view it: it may be gone for one bot alone.
func (d *directory) remove(c *channelShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.types, c.ID)
}

func (d *directory) addRole(r roleShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.roles, r.ID, r.Name)
	put(d.powers, r.ID, r.Permissions)
}

// removeRole takes a role's permissions from everybody who is still said to have it.
func (d *directory) removeRole(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.powers, id, 0)
}

func (d *directory) addUser(u *userShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.users, u.ID, u.name())
}

func (d *directory) addMember(guild string, m *memberShape) {
	if m.User != nil {
		put(d.users, m.User.ID, m.User.name())
		put(d.member, guild+" "+m.User.ID, m.Roles)
	}
}

// addMessage takes up who is named in a message, and the roles of its author.
func (d *directory) addMessage(m *messageShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.Author != nil && m.WebhookID == "" {
		put(d.users, m.Author.ID, m.Author.name())
		if m.Member != nil && m.GuildID != "" {
			put(d.member, m.GuildID+" "+m.Author.ID, m.Member.Roles)
		}
	}
	for i := range m.Mentions {
		put(d.users, m.Mentions[i].ID, m.Mentions[i].name())
	}
}

// place is what is known of a channel or thread that there is.
func (d *directory) place(id string) (collaborate.Place, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, is := d.types[id]
	return d.places[id], is
}

// typeOf is Discord's number of what a channel is, 0 where that is not known.
func (d *directory) typeOf(id string) int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.types[id]
}

// rolesOf a member, nil where they are not known.
func (d *directory) rolesOf(guild, user string) []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.member[guild+" "+user]
}

// put adds to a map that is bounded.
func put[V any](to map[string]V, key string, v V) {
	if key == "" {
		return
	}
	if _, is := to[key]; !is && len(to) >= maxNames {
		for victim := range to {
			delete(to, victim)
			break
		}
	}
	to[key] = v
}
