package telegram

import (
	"strings"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// maxNames is how many users, and how many places, a directory holds. Beyond that an arbitrary one is evicted.
const maxNames = 20000

// directory collects what the bots have received about users and chats, shared by all bots. It makes no requests.
type directory struct {
	mu        sync.RWMutex
	users     map[string]channel.User // by id
	usernames map[string]string       // ids, by username in lower case
	handles   map[string]string       // usernames, by id
	places    map[string]collaborate.Place
	moved     map[int64]int64         // new ids of groups that have become supergroups
	seats     map[seatKey]memberShape // of our bots
	ids       map[numberKey]string    // of messages of basic groups
	numbers   map[idKey]int           // of messages of basic groups
	asked     map[seatKey]time.Time   // when a membership was requested last
	chains    chains
	inLog     func(id string) bool // whether the log knows a thread; nil: it is not asked
}

// seatKey is a bot in a chat.
type seatKey struct{ chat, bot int64 }

// numberKey is a message of a basic group as a bot numbers it.
type numberKey struct {
	chat, bot int64
	number    int
}

// idKey is a message of a basic group for a bot, by its id in the log.
type idKey struct {
	bot int64
	id  string
}

func newDirectory() *directory {
	return &directory{users: map[string]channel.User{}, usernames: map[string]string{}, handles: map[string]string{}, places: map[string]collaborate.Place{},
		moved: map[int64]int64{}, seats: map[seatKey]memberShape{}, ids: map[numberKey]string{}, numbers: map[idKey]int{},
		asked: map[seatKey]time.Time{}, chains: chains{forum: map[int64]bool{}, first: map[chainKey]int{}, roots: map[chainKey]int{}}}
}

// addMessage records the people and places of a message.
func (d *directory) addMessage(m *messageShape, bot int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if m.From != nil {
		d.addUser(m.From)
	}
	_, entities := m.said()
	for i := range entities {
		if entities[i].User != nil {
			d.addUser(entities[i].User)
		}
	}
	d.addChat(&m.Chat, bot)
	for _, of := range []*messageShape{m, m.ReplyTo} {
		if of == nil {
			continue
		}
		d.addTopic(of, bot)
	}
	if m.MigrateTo != 0 {
		put(d.moved, m.Chat.ID, m.MigrateTo)
	}
}

func (d *directory) addUser(u *userShape) {
	put(d.users, idText(u.ID), u.user())
	if u.Username != "" {
		put(d.usernames, strings.ToLower(u.Username), idText(u.ID))
		put(d.handles, idText(u.ID), u.Username)
	}
}

func (d *directory) addChat(c *chatShape, bot int64) {
	id := placeID(numbered(c, bot))
	put(d.places, id, placeOf(c, id))
	put(d.chains.forum, c.ID, c.IsForum)
}

// placeOf is a chat as decisions know it.
func placeOf(c *chatShape, id string) collaborate.Place {
	p := collaborate.Place{ID: id, Kind: collaborate.Other, Name: c.name(), GuildID: id}
	switch {
	case c.Type == typePrivate:
		p.Kind, p.GuildID = collaborate.Direct, ""
	case c.IsForum || c.Type == typeSupergroup:
		p.Kind = collaborate.Text
	}
	return p
}

// addTopic records a topic by the message that began it, or by one about it.
func (d *directory) addTopic(m *messageShape, bot int64) {
	if m.Thread == 0 || !m.InTopic {
		return
	}
	at := numbered(&m.Chat, bot)
	parent := placeID(at)
	at.topic = m.Thread
	id := placeID(at)
	p := d.places[id]
	p.ID, p.Kind, p.ParentID, p.GuildID = id, collaborate.Thread, parent, parent
	switch {
	case m.TopicCreated != nil:
		p.Name = m.TopicCreated.Name
	case m.TopicEdited != nil && m.TopicEdited.Name != "":
		p.Name = m.TopicEdited.Name
	case m.TopicClosed != nil:
		p.Locked = true
	case m.TopicOpened != nil:
		p.Locked = false
	}
	put(d.places, id, p)
}

// place is what is known of a chat or topic.
func (d *directory) place(id string) (collaborate.Place, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	p, is := d.places[id]
	return p, is
}

func (d *directory) user(id string) channel.User {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.users[id]
}

// named finds a user by username.
func (d *directory) named(username string) (channel.User, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	id, is := d.usernames[strings.ToLower(username)]
	return d.users[id], is
}

// handle is a user's username, "" if unknown.
func (d *directory) handle(id string) string {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.handles[id]
}

// current is the id of a chat, which changes when a group becomes a supergroup.
func (d *directory) current(chat int64) int64 {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if to, is := d.moved[chat]; is {
		return to
	}
	return chat
}

func (d *directory) move(from, to int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.moved, from, to)
}

// sit records a bot's membership in a chat.
func (d *directory) sit(chat, bot int64, m memberShape) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.seats, seatKey{chat, bot}, m)
}

// seat is a bot's membership, as far as known.
func (d *directory) seat(chat, bot int64) (memberShape, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	m, is := d.seats[seatKey{chat, bot}]
	return m, is
}

// isUnseated reports whether a bot's membership has to be requested, and records that it is: not again within a time.
func (d *directory) isUnseated(chat, bot int64, now time.Time, within time.Duration) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := seatKey{chat, bot}
	if _, known := d.seats[key]; known {
		return false
	}
	if at, before := d.asked[key]; before && now.Sub(at) < within {
		return false
	}
	put(d.asked, key, now)
	return true
}

// number records how a bot numbers a message of a basic group.
func (d *directory) number(chat, bot int64, n int, id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	put(d.ids, numberKey{chat, bot, n}, id)
	put(d.numbers, idKey{bot, id}, n)
}

// idOf is the id of a message of a basic group, by a bot's number.
func (d *directory) idOf(chat, bot int64, n int) (string, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	id, is := d.ids[numberKey{chat, bot, n}]
	return id, is
}

// numberOf is a bot's number of a message of a basic group, 0 if unknown.
func (d *directory) numberOf(bot int64, id string) int {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return d.numbers[idKey{bot, id}]
}

func put[K comparable, V any](to map[K]V, key K, v V) {
	if _, is := to[key]; !is && len(to) >= maxNames {
		for victim := range to {
			delete(to, victim)
			break
		}
	}
	to[key] = v
}
