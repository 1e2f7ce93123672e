package telegramtest

// User is a bot or a person.
type User struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	Username  string `json:"username,omitempty"`
	Language  string `json:"language_code,omitempty"`
}

// me is the answer of getMe.
type me struct {
	User
	CanJoinGroups           bool `json:"can_join_groups"`
	CanReadAllGroupMessages bool `json:"can_read_all_group_messages"`
	SupportsInlineQueries   bool `json:"supports_inline_queries"`
	CanConnectToBusiness    bool `json:"can_connect_to_business"`
	HasMainWebApp           bool `json:"has_main_web_app"`
}

// ChatShape is a chat as messages name it.
type ChatShape struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"` // private, group or supergroup
	Title     string `json:"title,omitempty"`
	Username  string `json:"username,omitempty"`
	FirstName string `json:"first_name,omitempty"`
	IsForum   bool   `json:"is_forum,omitempty"`
}

// fullChat is the answer of getChat.
type fullChat struct {
	ChatShape
	AccentColorID    int              `json:"accent_color_id"`
	MaxReactionCount int              `json:"max_reaction_count"`
	AcceptedGifts    map[string]bool  `json:"accepted_gift_types"`
	Permissions      *chatPermissions `json:"permissions,omitempty"`
}

type chatPermissions struct {
	CanSendMessages  bool `json:"can_send_messages"`
	CanSendPhotos    bool `json:"can_send_photos"`
	CanSendDocuments bool `json:"can_send_documents"`
	CanManageTopics  bool `json:"can_manage_topics"`
}

// Entity is a special part of a text; its offset and length are in UTF-16 units.
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	User     *User  `json:"user,omitempty"`
	Language string `json:"language,omitempty"`
}

// Message is a message as a bot, or a person, sees it.
type Message struct {
	MessageID      int             `json:"message_id"`
	ThreadID       int             `json:"message_thread_id,omitempty"`
	From           *User           `json:"from,omitempty"`
	Chat           ChatShape       `json:"chat"`
	Date           int64           `json:"date"`
	EditDate       int64           `json:"edit_date,omitempty"`
	IsTopicMessage bool            `json:"is_topic_message,omitempty"`
	ReplyTo        *Message        `json:"reply_to_message,omitempty"`
	Text           string          `json:"text,omitempty"`
	Entities       []Entity        `json:"entities,omitempty"`
	MediaGroup     string          `json:"media_group_id,omitempty"`
	Photo          []PhotoSize     `json:"photo,omitempty"`
	Document       *Document       `json:"document,omitempty"`
	Caption        string          `json:"caption,omitempty"`
	CaptionEnts    []Entity        `json:"caption_entities,omitempty"`
	ReplyMarkup    *Keyboard       `json:"reply_markup,omitempty"`
	NewMembers     []User          `json:"new_chat_members,omitempty"`
	LeftMember     *User           `json:"left_chat_member,omitempty"`
	MigrateTo      int64           `json:"migrate_to_chat_id,omitempty"`
	MigrateFrom    int64           `json:"migrate_from_chat_id,omitempty"`
	TopicCreated   *TopicCreated   `json:"forum_topic_created,omitempty"`
	TopicClosed    *struct{}       `json:"forum_topic_closed,omitempty"`
	TopicReopened  *struct{}       `json:"forum_topic_reopened,omitempty"`
	Reactions      map[int64]Emoji `json:"-"` // by user id; for inspection

	own *message
}

// Emoji are the reactions of one user.
type Emoji []string

// PhotoSize is a picture in one size.
type PhotoSize struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	Width        int    `json:"width"`
	Height       int    `json:"height"`
	FileSize     int    `json:"file_size,omitempty"`
}

// Document is a file of a message.
type Document struct {
	FileID       string `json:"file_id"`
	FileUniqueID string `json:"file_unique_id"`
	FileName     string `json:"file_name,omitempty"`
	MimeType     string `json:"mime_type,omitempty"`
	FileSize     int    `json:"file_size,omitempty"`
}

// Keyboard is an inline keyboard: rows of buttons.
type Keyboard struct {
	Rows [][]Button `json:"inline_keyboard"`
}

// Button is a button below a message.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data,omitempty"`
	URL  string `json:"url,omitempty"`
}

// TopicCreated is in the service message that begins a topic.
type TopicCreated struct {
	Name      string `json:"name"`
	IconColor int    `json:"icon_color"`
}

// Update is something that a bot receives. Exactly one of its members is set.
type Update struct {
	UpdateID      int64          `json:"update_id"`
	Message       *Message       `json:"message,omitempty"`
	EditedMessage *Message       `json:"edited_message,omitempty"`
	CallbackQuery *CallbackQuery `json:"callback_query,omitempty"`
	MyChatMember  *MemberChange  `json:"my_chat_member,omitempty"`
	ChatMember    *MemberChange  `json:"chat_member,omitempty"`
	Reaction      *Reaction      `json:"message_reaction,omitempty"`
}

// CallbackQuery is a pressed button.
type CallbackQuery struct {
	ID           string   `json:"id"`
	From         User     `json:"from"`
	Message      *Message `json:"message,omitempty"`
	ChatInstance string   `json:"chat_instance"`
	Data         string   `json:"data,omitempty"`
}

// MemberChange is a change of a member's status.
type MemberChange struct {
	Chat ChatShape `json:"chat"`
	From User      `json:"from"`
	Date int64     `json:"date"`
	Old  member    `json:"old_chat_member"`
	New  member    `json:"new_chat_member"`
}

// Reaction is a change of a person's reactions to a message.
type Reaction struct {
	Chat      ChatShape      `json:"chat"`
	MessageID int            `json:"message_id"`
	User      *User          `json:"user,omitempty"`
	Date      int64          `json:"date"`
	Old       []reactionType `json:"old_reaction"`
	New       []reactionType `json:"new_reaction"`
}

type reactionType struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji,omitempty"`
}

// Command is an entry of a bot's command list.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}
