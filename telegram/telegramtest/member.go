package telegramtest

// Statuses of members.
const (
	statusCreator = "creator"
	statusAdmin   = "administrator"
	statusMember  = "member"
	statusLeft    = "left"
	statusKicked  = "kicked"
)

// Rights of an administrator.
type Rights struct {
	DeleteMessages bool `json:"can_delete_messages"`
	ManageTopics   bool `json:"can_manage_topics"`
	PinMessages    bool `json:"can_pin_messages"`
	InviteUsers    bool `json:"can_invite_users"`
}

type membership struct {
	who    *account
	status string
	rights Rights
}

func (m *membership) present() bool { return m.status != statusLeft && m.status != statusKicked }

func (m *membership) admin() bool { return m.status == statusCreator || m.status == statusAdmin }

// member is a membership in Telegram's format.
type member struct {
	User   User   `json:"user"`
	Status string `json:"status"`
	*AdminRights
	UntilDate *int64 `json:"until_date,omitempty"`
}

// AdminRights has all rights that Telegram requires in its format; those the tests do not grant are false.
type AdminRights struct {
	Rights
	CanBeEdited          bool  `json:"can_be_edited"`
	IsAnonymous          bool  `json:"is_anonymous"`
	ManageChat           bool  `json:"can_manage_chat"`
	ManageVideoChats     bool  `json:"can_manage_video_chats"`
	RestrictMembers      bool  `json:"can_restrict_members"`
	PromoteMembers       bool  `json:"can_promote_members"`
	ChangeInfo           bool  `json:"can_change_info"`
	PostStories          bool  `json:"can_post_stories"`
	EditStories          bool  `json:"can_edit_stories"`
	DeleteStories        bool  `json:"can_delete_stories"`
	ManageDirectMessages *bool `json:"can_manage_direct_messages,omitempty"`
}

func (m *membership) shape() member {
	told := member{User: m.who.User, Status: m.status}
	switch m.status {
	case statusAdmin:
		told.AdminRights = &AdminRights{Rights: m.rights, ManageChat: true}
	case statusCreator:
		told.AdminRights = &AdminRights{Rights: Rights{true, true, true, true}, ManageChat: true}
	case statusKicked:
		told.UntilDate = new(int64)
	}
	return told
}

// may reports whether a user has a right in a group; in private chats everyone has all.
func (ch *chat) may(a *account, right func(Rights) bool) bool {
	if ch.Type == typePrivate {
		return true
	}
	m := ch.member(a.ID)
	return m != nil && (m.status == statusCreator || m.status == statusAdmin && right(m.rights))
}

// join adds a user to a group, with a service message. The lock is held.
func (s *Server) join(ch *chat, by, who *account) {
	if who == nil || ch.present(who) {
		return
	}
	m := ch.member(who.ID)
	if m == nil {
		m = &membership{who: who, status: statusLeft}
		ch.members = append(ch.members, m)
	}
	old := m.shape()
	m.status, m.rights = statusMember, Rights{}
	s.tellOfMember(ch, by, m, old)
	s.service(ch, by, func(m *message) { m.joined = []*account{who} })
}

// setStatus removes a user from a group, with a service message.
func (s *Server) setStatus(ch *chat, by, who *account, status string) {
	m := ch.member(who.ID)
	if m == nil || !m.present() {
		return
	}
	s.service(ch, by, func(m *message) { m.left = who })
	old := m.shape()
	m.status, m.rights = status, Rights{}
	s.tellOfMember(ch, by, m, old)
}

// tellOfMember tells the bot about its own membership, and administrators about others'.
func (s *Server) tellOfMember(ch *chat, by *account, m *membership, old member) {
	change := &MemberChange{Chat: ch.shape(), From: by.User, Date: s.now().Unix(), Old: old, New: m.shape()}
	if m.who.IsBot {
		s.queue(m.who, "my_chat_member", Update{MyChatMember: change})
	}
	for _, bot := range ch.bots() {
		if of := ch.member(bot.ID); bot != m.who && of != nil && of.admin() {
			s.queue(bot, "chat_member", Update{ChatMember: change})
		}
	}
}
