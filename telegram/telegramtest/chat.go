package telegramtest

import (
	"slices"
	"strings"
)

// Types of chats.
const (
	typePrivate    = "private"
	typeGroup      = "group"
	typeSupergroup = "supergroup"
)

// chat is a private chat of a bot and a person, a group or a supergroup.
type chat struct {
	ChatShape
	person, bot *account // of a private chat
	members     []*membership
	messages    []*message
	count       int // last number of a message
	topics      []*topic
	migratedTo  int64
	lastBot     *account // the bot that wrote last
	blocked     bool     // the person has blocked the bot
}

// shape is the chat as messages name it.
func (ch *chat) shape() ChatShape { return ch.ChatShape }

func (ch *chat) member(id int64) *membership {
	for _, m := range ch.members {
		if m.who.ID == id {
			return m
		}
	}
	return nil
}

// present reports whether a user is in the chat now.
func (ch *chat) present(a *account) bool {
	if ch.Type == typePrivate {
		return a == ch.person || a == ch.bot
	}
	m := ch.member(a.ID)
	return m != nil && m.present()
}

// bots are the bots in the chat now.
func (ch *chat) bots() (all []*account) {
	if ch.Type == typePrivate {
		return []*account{ch.bot}
	}
	for _, m := range ch.members {
		if m.who.IsBot && m.present() {
			all = append(all, m.who)
		}
	}
	return all
}

// chatOf returns the chat of a request, if the bot may act in it.
func (s *Server) chatOf(c *call) (*chat, *Error) {
	id := strings.TrimSpace(c.text("chat_id"))
	if id == "" {
		return nil, badRequest("chat_id is empty")
	}
	n := c.number("chat_id")
	if n > 0 {
		return s.privateChat(c.by, n)
	}
	ch := s.chats[n]
	if ch == nil || ch.member(c.by.ID) == nil {
		return nil, chatNotFound()
	}
	if ch.migratedTo != 0 {
		refusal := badRequest("group chat was upgraded to a supergroup chat")
		refusal.Parameters = &Parameters{MigrateToChatID: ch.migratedTo}
		return nil, refusal
	}
	switch ch.member(c.by.ID).status {
	case statusLeft:
		return nil, forbidden("bot is not a member of the " + ch.Type + " chat")
	case statusKicked:
		return nil, forbidden("bot was kicked from the " + ch.Type + " chat")
	}
	return ch, nil
}

func (s *Server) privateChat(bot *account, userID int64) (*chat, *Error) {
	with := s.accounts[userID]
	switch {
	case with == nil:
		return nil, chatNotFound()
	case with.IsBot:
		return nil, forbidden("bots can't send messages to bots")
	}
	ch := bot.private[userID]
	switch {
	case ch == nil:
		return nil, forbidden("bot can't initiate conversation with a user")
	case ch.blocked:
		return nil, forbidden("bot was blocked by the user")
	}
	return ch, nil
}

func (s *Server) getChat(c *call) (any, *Error) {
	ch, refusal := s.chatOf(c)
	if refusal != nil {
		return nil, refusal
	}
	full := fullChat{ChatShape: ch.shape(), MaxReactionCount: 11, AcceptedGifts: map[string]bool{"unlimited_gifts": false, "limited_gifts": false,
		"unique_gifts": false, "premium_subscription": false, "gifts_from_channels": false}}
	if ch.Type != typePrivate {
		full.Permissions = &chatPermissions{CanSendMessages: true, CanSendPhotos: true, CanSendDocuments: true, CanManageTopics: false}
	}
	return full, nil
}

func (s *Server) getChatMember(c *call) (any, *Error) {
	ch, refusal := s.groupOf(c)
	if refusal != nil {
		return nil, refusal
	}
	who := s.accounts[c.number("user_id")]
	if who == nil {
		return nil, badRequest("invalid user_id specified")
	}
	m := ch.member(who.ID)
	if m == nil {
		return nil, badRequest("member not found")
	}
	return m.shape(), nil
}

func (s *Server) getChatAdministrators(c *call) (any, *Error) {
	ch, refusal := s.groupOf(c)
	if refusal != nil {
		return nil, refusal
	}
	all := []member{}
	for _, m := range ch.members {
		if m.admin() && (!m.who.IsBot || m.who == c.by) { // Telegram leaves out other bots
			all = append(all, m.shape())
		}
	}
	return all, nil
}

func (s *Server) getChatMemberCount(c *call) (any, *Error) {
	ch, refusal := s.groupOf(c)
	if refusal != nil {
		return nil, refusal
	}
	n := 0
	for _, m := range ch.members {
		if m.present() {
			n++
		}
	}
	return n, nil
}

func (s *Server) groupOf(c *call) (*chat, *Error) {
	ch, refusal := s.chatOf(c)
	if refusal == nil && ch.Type == typePrivate {
		return nil, badRequest("there are no members in the private chat")
	}
	return ch, refusal
}

func (s *Server) leaveChat(c *call) (any, *Error) {
	ch, refusal := s.groupOf(c)
	if refusal != nil {
		return nil, refusal
	}
	s.setStatus(ch, c.by, c.by, statusLeft)
	return true, nil
}

// Chat is a chat, controlled by the test.
type Chat struct {
	ChatShape
	s   *Server
	own *chat
}

// GroupOptions of a new group.
type GroupOptions struct {
	Basic  bool // a basic group instead of a supergroup
	Topics bool // a forum; only for supergroups
}

// AddGroup creates a group of its creator and others.
func (s *Server) AddGroup(title string, options GroupOptions, creator *Person, others ...User) *Chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastID++
	ch := &chat{ChatShape: ChatShape{ID: -1_001_000_000_000 - s.lastID, Type: typeSupergroup, Title: title, IsForum: options.Topics}}
	if options.Basic {
		ch.ID, ch.Type, ch.IsForum = -4_000_000_000-s.lastID, typeGroup, false
	}
	s.chats[ch.ID] = ch
	ch.members = append(ch.members, &membership{who: creator.own, status: statusCreator})
	for _, u := range others {
		s.join(ch, creator.own, s.accounts[u.ID])
	}
	return &Chat{ChatShape: ch.shape(), s: s, own: ch}
}

// Add adds users to a group, as its creator.
func (ch *Chat) Add(users ...User) {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	for _, u := range users {
		ch.s.join(ch.own, ch.own.members[0].who, ch.s.accounts[u.ID])
	}
	ch.s.happened()
}

// Promote makes a user an administrator of the group.
func (ch *Chat) Promote(user User, rights Rights) {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	if m := ch.own.member(user.ID); m != nil {
		old := m.shape()
		m.status, m.rights = statusAdmin, rights
		ch.s.tellOfMember(ch.own, ch.own.members[0].who, m, old)
	}
	ch.s.happened()
}

// Remove removes a user, who cannot return without being added.
func (ch *Chat) Remove(user User) {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	ch.s.setStatus(ch.own, ch.own.members[0].who, ch.s.accounts[user.ID], statusKicked)
	ch.s.happened()
}

// Upgrade turns a basic group into a supergroup with another id, as Telegram does when it is made public, for example.
func (ch *Chat) Upgrade() *Chat {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	s, old := ch.s, ch.own
	s.lastID++
	now := &chat{ChatShape: ChatShape{ID: -1_001_000_000_000 - s.lastID, Type: typeSupergroup, Title: old.Title}, members: slices.Clone(old.members)}
	s.chats[now.ID] = now
	creator := old.members[0].who
	s.service(old, creator, func(m *message) { m.migrateTo = now.ID })
	old.migratedTo = now.ID
	s.service(now, creator, func(m *message) { m.migrateFrom = old.ID })
	s.happened()
	return &Chat{ChatShape: now.shape(), s: s, own: now}
}
