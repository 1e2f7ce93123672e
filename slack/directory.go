package slack

import (
	"sync"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// maxNames is how many users, and how many places, a directory holds. Beyond that an arbitrary one is evicted.
const maxNames = 20000

// directory collects what is known of users and places, shared by all accounts. It makes no requests.
type directory struct {
	mu     sync.RWMutex
	users  map[string]userShape
	places map[string]collaborate.Place // conversations and threads, by id
	groups map[string]bool              // conversations of several people
	roots  map[string]string            // threads in direct conversations, by message id
}

func newDirectory() *directory {
	return &directory{users: map[string]userShape{}, places: map[string]collaborate.Place{}, groups: map[string]bool{}, roots: map[string]string{}}
}

func (d *directory) addUser(u userShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.users, u.ID, u)
}

func (d *directory) user(id string) (userShape, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	u, known := d.users[id]
	return u, known
}

// addChannel records a conversation of a workspace, and returns it as a place.
func (d *directory) addChannel(c channelShape, team string) collaborate.Place {
	p := collaborate.Place{ID: place{chat: c.ID}.id(), Kind: collaborate.Text, Name: c.Name, GuildID: guildID(team), Archived: c.IsArchived, Locked: c.IsArchived}
	if c.IsIM {
		p.Kind, p.GuildID = collaborate.Direct, ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.places, p.ID, p)
	put(d.groups, p.ID, c.IsMPIM)
	return p
}

// addThread records a thread. Its name is that with which it was started; "" keeps the known one.
func (d *directory) addThread(in place, name string) collaborate.Place {
	id := in.id()
	d.mu.Lock()
	defer d.mu.Unlock()
	parent := d.places[place{chat: in.chat}.id()]
	p := collaborate.Place{ID: id, Kind: collaborate.Thread, Name: firstOf(name, d.places[id].Name), ParentID: place{chat: in.chat}.id(),
		GuildID: parent.GuildID, Locked: parent.Locked}
	put(d.places, id, p)
	return p
}

func (d *directory) place(id string) (collaborate.Place, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, known := d.places[id]
	return p, known
}

// addRoot records the thread of a message in a direct conversation.
func (d *directory) addRoot(message, root string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.roots, message, root)
}

// root is the thread of a message in a direct conversation; "" if it is in none, or unknown.
func (d *directory) root(message string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.roots[message]
}

func (u *userShape) name() string { return firstOf(u.Profile.DisplayName, u.RealName, u.Name) }

func firstOf(names ...string) string {
	for _, name := range names {
		if name != "" {
			return coordination.Head(name, maxName)
		}
	}
	return ""
}

// maxName is how many characters of a name are kept.
const maxName = 200

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
