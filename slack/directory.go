package slack

import (
	"strings"
	"sync"
	"time"

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
	asked  map[string]time.Time         // requests about what was not found, by what they ask for
	barred map[string]bool              // likewise: those that were refused for good
}

func newDirectory() *directory {
	return &directory{users: map[string]userShape{}, places: map[string]collaborate.Place{}, groups: map[string]bool{}, roots: map[string]string{},
		asked: map[string]time.Time{}, barred: map[string]bool{}}
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

// addChannel records a conversation of a workspace, and returns it as a place. Before the workspace is known, it is not
// recorded: it would be one of none.
func (d *directory) addChannel(c channelShape, team string) collaborate.Place {
	p := c.place(team)
	if team == "" {
		return p
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.places, p.ID, p)
	put(d.groups, p.ID, c.IsMPIM)
	return p
}

// place is a conversation of a workspace as decisions know it.
func (c *channelShape) place(team string) collaborate.Place {
	p := collaborate.Place{ID: place{chat: c.ID}.id(), Kind: collaborate.Text, Name: c.Name, GuildID: guildID(team), Archived: c.IsArchived, Locked: c.IsArchived}
	if c.IsIM {
		p.Kind, p.GuildID = collaborate.Direct, ""
	}
	return p
}

// isGroup reports whether a place is a conversation of several people.
func (d *directory) isGroup(id string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.groups[id]
}

// mayAsk reports whether something unknown may be requested, and records that it is: not again within a time.
func (d *directory) mayAsk(what string, now time.Time, within time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if at, before := d.asked[what]; before && now.Sub(at) < within {
		return false
	}
	put(d.asked, what, now)
	return true
}

// refuse records whether a request was refused for good.
func (d *directory) refuse(what string, lasting bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.barred, what, lasting)
}

func (d *directory) isRefused(what string) bool {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.barred[what]
}

// addThread records a thread of a conversation. Its name is that with which it was started; "" keeps the known one.
func (d *directory) addThread(in place, parent *collaborate.Place, name string) collaborate.Place {
	id := in.id()
	d.mu.Lock()
	defer d.mu.Unlock()
	p := collaborate.Place{ID: id, Kind: collaborate.Thread, Name: firstOf(name, d.places[id].Name), ParentID: parent.ID,
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

// isDirect reports whether a conversation is one with a single person.
func (d *directory) isDirect(chat string) bool {
	p, known := d.place(place{chat: chat}.id())
	return known && p.Kind == collaborate.Direct || !known && strings.HasPrefix(chat, "D")
}

// addRoot records the thread of a message in a direct conversation; "" is none.
func (d *directory) addRoot(message, root string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.roots, message, root)
}

// root is the thread of a message in a direct conversation; "" if it is in none.
func (d *directory) root(message string) (root string, known bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	root, known = d.roots[message]
	return root, known
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
