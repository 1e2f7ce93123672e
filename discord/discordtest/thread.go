package discordtest

import (
	"slices"
	"strings"
	"time"
)

func (s *Server) threadRoutes() []route {
	public := func(t *channel) bool { return t.Type != PrivateThread }
	archived := func(c *call, of func(*channel) bool, p Permission) (any, *Error) {
		ch, refusal := s.channelIn(c, ReadMessageHistory|p)
		if refusal != nil {
			return nil, refusal
		}
		return s.archivedThreads(c, func(t *channel) bool { return t.parent() == ch.ID && t.Thread.Archived && of(t) })
	}
	return []route{
		{name: "POST /channels/{channel}/messages/{message}/threads", do: s.startFromMessage},
		{name: "POST /channels/{channel}/threads", do: s.startThread},
		{name: "GET /channels/{channel}/threads/active", do: func(c *call) (any, *Error) { // version 9; still used by discordgo
			ch, refusal := s.channelIn(c, 0)
			if refusal != nil {
				return nil, refusal
			}
			return s.threadList(c.by, func(t *channel) bool { return t.parent() == ch.ID && !t.Thread.Archived }, 0), nil
		}},
		{name: "GET /channels/{channel}/threads/archived/public", do: func(c *call) (any, *Error) { return archived(c, public, 0) }},
		{name: "GET /channels/{channel}/threads/archived/private", do: func(c *call) (any, *Error) {
			return archived(c, func(t *channel) bool { return !public(t) }, ManageThreads)
		}},
		{name: "GET /channels/{channel}/users/@me/threads/archived/private", do: func(c *call) (any, *Error) {
			return archived(c, func(t *channel) bool { return !public(t) && t.follower(c.by.ID) != nil }, 0)
		}},
		{name: "GET /channels/{channel}/thread-members", do: func(c *call) (any, *Error) {
			t, refusal := s.threadIn(c)
			if refusal != nil {
				return nil, refusal
			}
			return slices.Concat([]ThreadMember{}, t.follows), nil
		}},
		{name: "GET /channels/{channel}/thread-members/{user}", do: func(c *call) (any, *Error) {
			t, refusal := s.threadIn(c)
			if refusal != nil {
				return nil, refusal
			}
			if m := t.follower(userIn(c)); m != nil {
				return *m, nil
			}
			return nil, notFound(CodeUnknownMember, "Member")
		}},
		{name: "PUT /channels/{channel}/thread-members/{user}", do: s.joinThread},
		{name: "DELETE /channels/{channel}/thread-members/{user}", do: s.leaveThread},
	}
}

type threadForm struct {
	Name             *string `json:"name"`
	AutoArchive      *int    `json:"auto_archive_duration"`
	Type             *int    `json:"type"`
	Invitable        *bool   `json:"invitable"`
	RateLimitPerUser *int    `json:"rate_limit_per_user"`
	Message          *draft  `json:"message"` // forums only
}

func (f *threadForm) check() *Error {
	if refusal := checkName(f.Name); refusal != nil {
		return refusal
	}
	if f.AutoArchive != nil && *f.AutoArchive == 0 { // discordgo sends 0 for none
		f.AutoArchive = nil
	}
	return checkDuration(f.AutoArchive)
}

func checkDuration(minutes *int) *Error {
	if minutes != nil && !slices.Contains([]int{60, 1440, 4320, 10080}, *minutes) {
		return badChoice("auto_archive_duration", "60, 1440, 4320, 10080")
	}
	return nil
}

func (s *Server) threadIn(c *call) (*channel, *Error) {
	t, refusal := s.channelIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	if !t.IsThread() {
		return nil, badRequest(CodeWrongChannelType, "Cannot execute action on this channel type")
	}
	return t, nil
}

func (s *Server) startFromMessage(c *call) (any, *Error) {
	m, refusal := s.messageIn(c, CreatePublicThreads|ReadMessageHistory)
	if refusal != nil {
		return nil, refusal
	}
	var form threadForm
	if refusal := c.decode(&form); refusal != nil {
		return nil, refusal
	}
	if refusal := form.check(); refusal != nil {
		return nil, refusal
	}
	t, refusal := s.threadFrom(c.by, m, form)
	if refusal != nil {
		return nil, refusal
	}
	return created{t.visibleTo(c.by)}, nil
}

func (s *Server) threadFrom(a *account, m *message, form threadForm) (*channel, *Error) {
	parent := m.channel
	switch {
	case parent.Type != TextChannel && parent.Type != Announcements:
		return nil, badRequest(CodeWrongChannelType, "Cannot execute action on this channel type")
	case s.channels[m.ID] != nil:
		return nil, badRequest(CodeThreadExists, "A thread has already been created for this message")
	case m.Type != PlainMessage && m.Type != ReplyMessage && m.Type != SlashCommandMessage:
		return nil, forbidden(CodeSystemMessage, "Cannot execute action on a system message")
	}
	kind := PublicThread
	if parent.Type == Announcements {
		kind = AnnouncementsThread
	}
	t := s.addThread(a, parent, m.ID, kind, form)
	m.Flags |= FlagHasThread
	s.sendMessage("MESSAGE_UPDATE", m)
	starter := s.compose(m.author, t, draft{})
	starter.Author, starter.WebhookID = m.Author, m.WebhookID
	starter.Type, starter.Reference = ThreadStarterMessage, &Reference{MessageID: m.ID, ChannelID: parent.ID, GuildID: parent.GuildID}
	copied := s.messageFor(m, nil)
	starter.ReferencedMessage = &copied
	s.post(starter)
	return t, nil
}

func (s *Server) startThread(c *call) (any, *Error) {
	parent, refusal := s.channelIn(c, 0)
	if refusal != nil {
		return nil, refusal
	}
	var form threadForm
	if refusal := c.decode(&form); refusal != nil {
		return nil, refusal
	}
	if refusal := form.check(); refusal != nil {
		return nil, refusal
	}
	if form.Message != nil {
		form.Message.files = c.files
	}
	t, first, refusal := s.threadWithout(c.by, parent, form)
	if refusal != nil {
		return nil, refusal
	}
	told := t.visibleTo(c.by)
	if first != nil {
		message := s.messageFor(first, c.by)
		told.Message = &message
	}
	return created{told}, nil
}

// threadWithout starts a thread without a message. In a forum it creates the first message.
func (s *Server) threadWithout(a *account, parent *channel, form threadForm) (*channel, *message, *Error) {
	kind := PrivateThread // Discord's default
	set(&kind, form.Type)
	switch parent.Type {
	case Forum:
		kind = PublicThread
		if form.Message == nil {
			return nil, nil, invalidForm("message", "BASE_TYPE_REQUIRED", "This field is required")
		}
		if refusal := s.need(a, parent, SendMessages); refusal != nil {
			return nil, nil, refusal
		}
		if refusal := form.Message.check(); refusal != nil {
			return nil, nil, refusal
		}
		t := s.addThread(a, parent, s.next(), kind, form)
		m := s.compose(a, t, *form.Message)
		m.ID = t.ID
		s.post(m)
		return t, m, nil
	case TextChannel, Announcements:
	default:
		return nil, nil, badRequest(CodeWrongChannelType, "Cannot execute action on this channel type")
	}
	need := CreatePublicThreads
	switch kind {
	case PublicThread, AnnouncementsThread:
	case PrivateThread:
		need = CreatePrivateThreads
	default:
		return nil, nil, badChoice("type", "10, 11, 12")
	}
	if refusal := s.need(a, parent, need); refusal != nil {
		return nil, nil, refusal
	}
	t := s.addThread(a, parent, s.next(), kind, form)
	if kind != PrivateThread {
		notice := s.compose(a, parent, draft{Content: t.Name})
		notice.Type, notice.Reference = ThreadCreatedMessage, &Reference{ChannelID: t.ID, GuildID: t.GuildID}
		notice.Mentions = []User{}
		s.post(notice)
	}
	return t, nil, nil
}

func (s *Server) addThread(a *account, parent *channel, id string, kind int, form threadForm) *channel {
	now := stamp(s.now())
	t := &channel{guild: parent.guild, active: s.now().UnixMilli(), Channel: Channel{
		ID: id, Type: kind, GuildID: parent.GuildID, Name: strings.TrimSpace(*form.Name), ParentID: &parent.ID, OwnerID: a.ID,
		Thread: &ThreadMetadata{AutoArchiveDuration: 4320, ArchiveTimestamp: now, CreateTimestamp: now, Invitable: true},
	}}
	set(&t.Thread.AutoArchiveDuration, form.AutoArchive)
	set(&t.Thread.Invitable, form.Invitable)
	set(&t.RateLimitPerUser, form.RateLimitPerUser)
	s.channels[id] = t
	t.follows = append(t.follows, ThreadMember{ID: t.ID, UserID: a.ID, JoinTimestamp: now})
	s.publish(event{"THREAD_CREATE", intentGuilds, t}, func(to *gatewaySession) any {
		told := t.visibleTo(to.bot)
		told.NewlyCreated = true
		return told
	})
	s.happened()
	return t
}

// wake unarchives a thread, as writing does. Locked ones require ManageThreads.
func (s *Server) wake(a *account, t *channel) *Error {
	manages := s.may(a, t).has(ManageThreads)
	switch {
	case t.Thread.Locked && !manages && t.Thread.Archived:
		return badRequest(CodeThreadArchived, "Thread is archived")
	case t.Thread.Locked && !manages:
		return badRequest(CodeThreadLocked, "Thread is locked")
	case t.Thread.Archived:
		s.setArchived(t, false)
	}
	return nil
}

func (s *Server) setArchived(t *channel, archived bool) {
	t.Thread.Archived, t.Thread.ArchiveTimestamp = archived, stamp(s.now())
	if !archived {
		t.active = s.now().UnixMilli()
	}
	s.sendThread(t)
}

func (s *Server) sendThread(t *channel) {
	s.publish(event{"THREAD_UPDATE", intentGuilds, t}, func(to *gatewaySession) any { return t.visibleTo(to.bot) })
	s.happened()
}

// editThread allows everything with ManageThreads, and the owner everything but locking.
func (s *Server) editThread(a *account, t *channel, form channelForm) (any, *Error) {
	manages, owns := s.may(a, t).has(ManageThreads), t.OwnerID == a.ID
	unarchives := form.Archived != nil && !*form.Archived
	only := form.Name == nil && form.Locked == nil && form.AutoArchive == nil && form.RateLimitPerUser == nil && form.Invitable == nil
	switch {
	case !manages && form.Locked != nil && *form.Locked != t.Thread.Locked:
		return nil, missingPermissions()
	case !manages && t.Thread.Locked:
		return nil, missingPermissions()
	case !manages && !owns && !(unarchives && only):
		return nil, missingPermissions()
	case t.Thread.Archived && form.Archived == nil && !(manages && form.Locked != nil):
		return nil, badRequest(CodeThreadArchived, "Thread is archived")
	}
	if refusal := checkDuration(form.AutoArchive); refusal != nil {
		return nil, refusal
	}
	if form.Name != nil {
		t.Name = strings.TrimSpace(*form.Name)
	}
	set(&t.Thread.Locked, form.Locked)
	set(&t.Thread.AutoArchiveDuration, form.AutoArchive)
	set(&t.Thread.Invitable, form.Invitable)
	set(&t.RateLimitPerUser, form.RateLimitPerUser)
	if form.Archived != nil && *form.Archived != t.Thread.Archived {
		s.setArchived(t, *form.Archived)
	} else {
		s.sendThread(t)
	}
	return t.visibleTo(a), nil
}

// ArchiveIdle archives threads idle for longer than their auto-archive duration, by the server's clock, and returns
// their number.
func (s *Server) ArchiveIdle() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := s.threadsOf(func(t *channel) bool {
		return !t.Thread.Archived && s.now().Sub(time.UnixMilli(t.active)) >= time.Duration(t.Thread.AutoArchiveDuration)*time.Minute
	})
	for _, t := range idle {
		s.setArchived(t, true)
	}
	return len(idle)
}

// threadsOf returns the matching threads in order of creation.
func (s *Server) threadsOf(which func(*channel) bool) []*channel {
	return slices.DeleteFunc(sorted(s.channels), func(c *channel) bool { return !c.IsThread() || !which(c) })
}

type threadListing struct {
	Threads []Channel      `json:"threads"`
	Members []ThreadMember `json:"members"`
	HasMore bool           `json:"has_more"`
}

// threadList returns the threads a bot may view, newest first; limit 0 is none.
func (s *Server) threadList(a *account, which func(*channel) bool, limit int) threadListing {
	list := threadListing{Threads: []Channel{}, Members: []ThreadMember{}}
	all := s.threadsOf(func(t *channel) bool { return s.may(a, t).has(ViewChannel) && which(t) })
	slices.Reverse(all)
	for i, t := range all {
		if limit > 0 && i == limit {
			list.HasMore = true
			break
		}
		list.Threads = append(list.Threads, t.public())
		if m := t.follower(a.ID); m != nil {
			list.Members = append(list.Members, *m)
		}
	}
	return list
}

func (s *Server) archivedThreads(c *call, which func(*channel) bool) (any, *Error) {
	limit, refusal := limitIn(c, 1, 100, 50)
	if refusal != nil {
		return nil, refusal
	}
	before := c.query("before")
	var bound time.Time
	if before != "" {
		var err error
		if bound, err = time.Parse(time.RFC3339, before); err != nil {
			return nil, invalidForm("before", "DATE_TIME_TYPE_PARSE", "Could not parse "+before+". Should be ISO8601.")
		}
	}
	return s.threadList(c.by, func(t *channel) bool {
		at, err := time.Parse(time.RFC3339, t.Thread.ArchiveTimestamp)
		return which(t) && (before == "" || err == nil && at.Before(bound))
	}, limit), nil
}

func (s *Server) joinThread(c *call) (any, *Error) {
	t, refusal := s.threadIn(c)
	if refusal != nil {
		return nil, refusal
	}
	a := s.accounts[userIn(c)]
	switch {
	case t.Thread.Archived:
		return nil, badRequest(CodeThreadArchived, "Thread is archived")
	case a == nil || t.guild.member(a.ID) == nil:
		return nil, notFound(CodeUnknownMember, "Member")
	case a != c.by && s.need(c.by, t, SendInThreads) != nil:
		return nil, missingPermissions()
	case t.follower(a.ID) == nil:
		s.follow(t, a)
	}
	return nil, nil
}

func (s *Server) leaveThread(c *call) (any, *Error) {
	t, refusal := s.threadIn(c)
	if refusal != nil {
		return nil, refusal
	}
	id := userIn(c)
	switch {
	case t.Thread.Archived:
		return nil, badRequest(CodeThreadArchived, "Thread is archived")
	case id != c.by.ID && !s.may(c.by, t).has(ManageThreads) && !(t.Type == PrivateThread && t.OwnerID == c.by.ID):
		return nil, missingPermissions()
	case t.follower(id) == nil:
		return nil, notFound(CodeUnknownMember, "Member")
	}
	t.follows = slices.DeleteFunc(t.follows, func(m ThreadMember) bool { return m.UserID == id })
	s.sendThreadMembers(t, nil, []string{id})
	return nil, nil
}

type threadMembers struct {
	ID          string         `json:"id"`
	GuildID     string         `json:"guild_id"`
	MemberCount int            `json:"member_count"`
	Added       []ThreadMember `json:"added_members,omitempty"`
	RemovedIDs  []string       `json:"removed_member_ids,omitempty"`
}

// follow adds a member. A bot that now sees a private thread for the first time receives it.
func (s *Server) follow(t *channel, a *account) {
	saw := s.may(a, t).has(ViewChannel)
	m := ThreadMember{ID: t.ID, UserID: a.ID, JoinTimestamp: stamp(s.now())}
	t.follows = append(t.follows, m)
	if !saw {
		s.publish(event{"THREAD_CREATE", intentGuilds, t}, func(to *gatewaySession) any {
			if to.bot != a {
				return nil
			}
			return t.visibleTo(a)
		})
	}
	s.sendThreadMembers(t, []ThreadMember{m}, nil)
}

// followAll adds the author and everyone mentioned, if they may view the parent.
func (s *Server) followAll(t *channel, users []User) {
	parent := s.channels[t.parent()]
	for _, u := range users {
		a := s.accounts[u.ID]
		if a != nil && parent != nil && t.follower(a.ID) == nil && s.may(a, parent).has(ViewChannel) {
			s.follow(t, a)
		}
	}
}

// sendThreadMembers sends the event to those with the members intent and to the user concerned.
func (s *Server) sendThreadMembers(t *channel, added []ThreadMember, removed []string) {
	s.publish(event{"THREAD_MEMBERS_UPDATE", intentGuilds, nil}, func(to *gatewaySession) any {
		about := slices.Contains(removed, to.bot.ID) || slices.ContainsFunc(added, func(m ThreadMember) bool { return m.UserID == to.bot.ID })
		if !about && (to.intents&intentMembers == 0 || !s.may(to.bot, t).has(ViewChannel)) {
			return nil // a user removed from a private thread receives this last event
		}
		return threadMembers{ID: t.ID, GuildID: t.GuildID, MemberCount: len(t.follows), Added: added, RemovedIDs: removed}
	})
	s.happened()
}
