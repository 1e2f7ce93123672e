package discordtest

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

type channel struct {
	Channel
	guild    *guild     // nil for conversations
	pair     []*account // conversations only
	messages []*message // oldest first
	follows  []ThreadMember
	active   int64 // time of a thread's last message, ms since 1970
}

func (c *channel) parent() string {
	if c.ParentID == nil {
		return ""
	}
	return *c.ParentID
}

func (c *channel) follower(userID string) *ThreadMember {
	i := slices.IndexFunc(c.follows, func(m ThreadMember) bool { return m.UserID == userID })
	if i < 0 {
		return nil
	}
	return &c.follows[i]
}

func (c *channel) message(id string) *message {
	i := slices.IndexFunc(c.messages, func(m *message) bool { return m.ID == id })
	if i < 0 {
		return nil
	}
	return c.messages[i]
}

// public is the channel as sent to everyone.
func (c *channel) public() Channel {
	told := c.Channel
	told.Overwrites = slices.Clone(c.Overwrites)
	if c.Thread != nil {
		thread := *c.Thread
		told.Thread, told.MemberCount = &thread, min(len(c.follows), 50)
	}
	return told
}

// visibleTo adds a conversation's other participant, and whether a thread is followed.
func (c *channel) visibleTo(a *account) Channel {
	told := c.public()
	for _, u := range c.pair {
		if u != a {
			told.Recipients = append(told.Recipients, u.User)
		}
	}
	if m := c.follower(a.ID); m != nil {
		member := *m
		told.Member = &member
	}
	return told
}

func (s *Server) guildsOf(a *account) []*guild {
	return slices.DeleteFunc(sorted(s.guilds), func(g *guild) bool { return g.member(a.ID) == nil })
}

// channelsOf returns a guild's channels and threads in order of creation.
func (s *Server) channelsOf(g *guild) []*channel {
	return slices.DeleteFunc(sorted(s.channels), func(c *channel) bool { return c.guild != g })
}

func sorted[T any](all map[string]T) []T {
	ids := slices.SortedFunc(maps.Keys(all), func(a, b string) int {
		if older(a, b) {
			return -1
		}
		return 1
	})
	values := make([]T, len(ids))
	for i, id := range ids {
		values[i] = all[id]
	}
	return values
}

// ChannelOptions are the options of a new channel.
type ChannelOptions struct {
	Type     int    // default: TextChannel
	ParentID string // a category
	Topic    string
	HiddenTo []string // users who may not view it
}

// AddChannel creates a channel. Bots that may view it receive CHANNEL_CREATE.
func (g *Guild) AddChannel(name string, options ChannelOptions) Channel {
	g.s.mu.Lock()
	defer g.s.mu.Unlock()
	var overwrites []Overwrite
	for _, id := range options.HiddenTo {
		overwrites = append(overwrites, Overwrite{ID: id, Type: 1, Deny: ViewChannel})
	}
	c := g.s.addChannel(g.own, Channel{
		Type: options.Type, Name: name, ParentID: optional(options.ParentID), Topic: optional(options.Topic), Overwrites: overwrites,
	})
	return c.public()
}

// Permit sets the overwrite of a member or role in a channel. Bots that may still view the channel receive
// CHANNEL_UPDATE. An unknown channel is ignored.
func (s *Server) Permit(channelID, id string, allow, deny Permission) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil {
		return
	}
	kind := 1
	if c.guild != nil && slices.ContainsFunc(c.guild.info.Roles, func(r Role) bool { return r.ID == id }) {
		kind = 0
	}
	c.Overwrites = slices.DeleteFunc(c.Overwrites, func(o Overwrite) bool { return o.ID == id })
	if allow|deny != 0 {
		c.Overwrites = append(c.Overwrites, Overwrite{ID: id, Type: kind, Allow: allow, Deny: deny})
	}
	s.sendChannel("CHANNEL_UPDATE", c)
}

// DeleteChannel deletes a channel with its threads, or a thread.
func (s *Server) DeleteChannel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c := s.channels[id]; c != nil {
		s.removeChannel(c)
	}
}

func (s *Server) addChannel(g *guild, made Channel) *channel {
	made.ID, made.GuildID = s.next(), g.info.ID
	made.Position = len(s.channelsOf(g))
	c := &channel{Channel: made, guild: g}
	s.channels[c.ID] = c
	s.sendChannel("CHANNEL_CREATE", c)
	return c
}

func (s *Server) sendChannel(kind string, c *channel) {
	s.publish(event{kind, intentGuilds, c}, func(*gatewaySession) any { return c.public() })
	s.happened()
}

func (s *Server) removeChannel(c *channel) {
	for _, t := range s.threadsOf(func(t *channel) bool { return t.parent() == c.ID }) {
		s.removeChannel(t)
	}
	kind := "CHANNEL_DELETE"
	if c.IsThread() {
		kind = "THREAD_DELETE"
	}
	s.publish(event{kind, intentGuilds, c}, func(*gatewaySession) any {
		if c.IsThread() {
			return gone{ID: c.ID, GuildID: c.GuildID, ParentID: c.parent(), Type: c.Type}
		}
		return c.public()
	})
	delete(s.channels, c.ID)
	s.happened()
}

func optional(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *Server) channelRoutes() []route {
	return []route{
		{name: "GET /channels/{channel}", do: func(c *call) (any, *Error) {
			ch, refusal := s.channelIn(c, 0)
			if refusal != nil {
				return nil, refusal
			}
			return ch.visibleTo(c.by), nil
		}},
		{name: "PATCH /channels/{channel}", do: s.editChannel},
		{name: "DELETE /channels/{channel}", do: s.deleteChannel},
		{name: "POST /channels/{channel}/typing", do: s.startTyping},
		{name: "PUT /channels/{channel}/permissions/{user}", do: s.setOverwrite},
	}
}

// channelIn returns the channel in the path, if the bot may view it and has the permissions.
func (s *Server) channelIn(c *call, p Permission) (*channel, *Error) {
	ch := s.channels[c.path("channel")]
	if ch == nil {
		return nil, notFound(CodeUnknownChannel, "Channel")
	}
	return ch, s.need(c.by, ch, p)
}

func (s *Server) listChannels(c *call) (any, *Error) {
	g, refusal := s.guildOf(c)
	if refusal != nil {
		return nil, refusal
	}
	all := []Channel{}
	for _, ch := range s.channelsOf(g) {
		if !ch.IsThread() && s.may(c.by, ch).has(ViewChannel) {
			all = append(all, ch.public())
		}
	}
	return all, nil
}

type channelForm struct {
	Name             *string      `json:"name"`
	Type             *int         `json:"type"`
	Topic            *string      `json:"topic"`
	ParentID         *string      `json:"parent_id"`
	Position         *int         `json:"position"`
	NSFW             *bool        `json:"nsfw"`
	Overwrites       *[]Overwrite `json:"permission_overwrites"`
	RateLimitPerUser *int         `json:"rate_limit_per_user"`
	Archived         *bool        `json:"archived"`
	Locked           *bool        `json:"locked"`
	Invitable        *bool        `json:"invitable"`
	AutoArchive      *int         `json:"auto_archive_duration"`
}

// checkName requires 1 to 100 characters.
func checkName(name *string) *Error {
	if name == nil {
		return invalidForm("name", "BASE_TYPE_REQUIRED", "This field is required")
	}
	if n := utf8.RuneCountInString(strings.TrimSpace(*name)); n < 1 || n > 100 {
		return badLength("name", 1, 100)
	}
	return nil
}

func (s *Server) createChannel(c *call) (any, *Error) {
	g, refusal := s.guildOf(c)
	if refusal != nil {
		return nil, refusal
	}
	if !g.permissions(g.member(c.by.ID)).has(ManageChannels) {
		return nil, missingPermissions()
	}
	var form channelForm
	if refusal := c.decode(&form); refusal != nil {
		return nil, refusal
	}
	if refusal := checkName(form.Name); refusal != nil {
		return nil, refusal
	}
	made := Channel{Name: strings.TrimSpace(*form.Name), Topic: form.Topic, ParentID: form.ParentID}
	if form.Type != nil {
		made.Type = *form.Type
	}
	if form.Overwrites != nil {
		made.Overwrites = *form.Overwrites
	}
	return created{s.addChannel(g, made).public()}, nil
}

func (s *Server) editChannel(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	var form channelForm
	if refusal := c.decode(&form); refusal != nil {
		return nil, refusal
	}
	if form.Name != nil {
		if refusal := checkName(form.Name); refusal != nil {
			return nil, refusal
		}
	}
	if ch.IsThread() {
		return s.editThread(c.by, ch, form)
	}
	if refusal := s.need(c.by, ch, ManageChannels); refusal != nil {
		return nil, refusal
	}
	set(&ch.Name, form.Name)
	set(&ch.Position, form.Position)
	set(&ch.NSFW, form.NSFW)
	set(&ch.Overwrites, form.Overwrites)
	set(&ch.RateLimitPerUser, form.RateLimitPerUser)
	if form.Topic != nil {
		ch.Topic = form.Topic
	}
	if form.ParentID != nil {
		ch.ParentID = form.ParentID
	}
	s.sendChannel("CHANNEL_UPDATE", ch)
	return ch.public(), nil
}

func set[T any](to, said *T) {
	if said != nil {
		*to = *said
	}
}

func (s *Server) deleteChannel(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	switch {
	case ch.Type == DirectMessages: // closing a conversation does not delete it
		return ch.public(), nil
	case ch.IsThread():
		refusal = s.need(c.by, ch, ManageThreads)
	default:
		refusal = s.need(c.by, ch, ManageChannels)
	}
	if refusal != nil {
		return nil, refusal
	}
	s.removeChannel(ch)
	return ch.public(), nil
}

func (s *Server) setOverwrite(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, ManageChannels)
	if refusal != nil {
		return nil, refusal
	}
	o := Overwrite{}
	if refusal := c.decode(&o); refusal != nil {
		return nil, refusal
	}
	o.ID = c.path("user")
	ch.Overwrites = append(slices.DeleteFunc(ch.Overwrites, func(old Overwrite) bool { return old.ID == o.ID }), o)
	s.sendChannel("CHANNEL_UPDATE", ch)
	return nil, nil
}

type typing struct {
	ChannelID string  `json:"channel_id"`
	GuildID   string  `json:"guild_id,omitempty"`
	UserID    string  `json:"user_id"`
	Timestamp int64   `json:"timestamp"` // seconds
	Member    *Member `json:"member,omitempty"`
}

func (s *Server) startTyping(c *call) (any, *Error) {
	ch, refusal := s.channelIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	return nil, s.typingOf(c.by, ch)
}

func (s *Server) typingOf(a *account, ch *channel) *Error {
	if refusal := s.need(a, ch, writing(ch)); refusal != nil {
		return refusal
	}
	s.publish(event{"TYPING_START", ch.intent(intentGuildTyping, intentDirectTyping), ch}, func(*gatewaySession) any {
		return typing{ChannelID: ch.ID, GuildID: ch.GuildID, UserID: a.ID, Timestamp: s.now().Unix(), Member: s.memberIn(ch, a)}
	})
	s.happened()
	return nil
}

// intent is that of guilds or of conversations.
func (c *channel) intent(inGuild, inConversation int) int {
	if c.guild == nil {
		return inConversation
	}
	return inGuild
}

// memberIn is the author's membership in a message, without the user.
func (s *Server) memberIn(ch *channel, a *account) *Member {
	if ch.guild == nil {
		return nil
	}
	m := ch.guild.member(a.ID)
	if m == nil {
		return nil
	}
	told := *m
	told.User = nil
	return &told
}

type recipientForm struct {
	RecipientID string `json:"recipient_id"`
}

func (s *Server) openConversation(c *call) (any, *Error) {
	var form recipientForm
	if refusal := c.decode(&form); refusal != nil {
		return nil, refusal
	}
	with := s.accounts[form.RecipientID]
	if with == nil || with == c.by {
		return nil, badRequest(50033, "Invalid Recipient(s)")
	}
	return s.conversation(c.by, with).visibleTo(c.by), nil
}

// conversation returns the conversation between two users, creating it if needed. Bots receive no event for it.
func (s *Server) conversation(a, b *account) *channel {
	for _, c := range sorted(s.channels) {
		if slices.Contains(c.pair, a) && slices.Contains(c.pair, b) {
			return c
		}
	}
	c := &channel{Channel: Channel{ID: s.next(), Type: DirectMessages}, pair: []*account{a, b}}
	s.channels[c.ID] = c
	s.happened()
	return c
}
