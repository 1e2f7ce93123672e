package discord

import (
	"sync"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// maxNames is how many users, and how many channels, a directory holds. Beyond that an arbitrary one is evicted.
const maxNames = 20000

// directory collects what the bots have received about users, channels and roles, shared by all bots. It makes no
// requests.
type directory struct {
	mu     sync.RWMutex
	users  map[string]string
	member map[string][]string // roles, by guild and user
	places map[string]collaborate.Place
	types  map[string]int // channel types in Discord's API
	roles  map[string]string

	owners     map[string]string           // user ids, by guild
	powers     map[string]uint64           // permissions by role
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
	if c.kind() != collaborate.Thread { // channels with their parent's permissions
		put(d.overwrites, c.ID, c.Overwrites)
	}
}

// remove removes a channel, but keeps its name and overwrites: it may be gone for one bot only.
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

// removeRole removes a role's permissions, which members may still be listed with.
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

// addMessage records the users mentioned in a message, and its author's roles.
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

// place is what is known of an existing channel or thread.
func (d *directory) place(id string) (collaborate.Place, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	_, is := d.types[id]
	return d.places[id], is
}

// typeOf is a channel's type in Discord's API, 0 if unknown.
func (d *directory) typeOf(id string) int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.types[id]
}

func (d *directory) rolesOf(guild, user string) []string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.member[guild+" "+user]
}

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
