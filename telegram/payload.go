package telegram

import "encoding/json"

// envelope is around every answer of Telegram.
type envelope struct {
	OK          bool            `json:"ok"`
	Result      json.RawMessage `json:"result"`
	Code        int             `json:"error_code"`
	Description string          `json:"description"`
	Parameters  struct {
		RetryAfter int   `json:"retry_after"` // seconds
		MigrateTo  int64 `json:"migrate_to_chat_id"`
	} `json:"parameters"`
}

type userShape struct {
	ID        int64  `json:"id"`
	Bot       bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
	SeesAll   bool   `json:"can_read_all_group_messages"` // of getMe
}

func (u *userShape) name() string {
	switch {
	case u.LastName != "":
		return u.FirstName + " " + u.LastName
	case u.FirstName != "":
		return u.FirstName
	}
	return u.Username
}

// Types of chats.
const (
	typePrivate    = "private"
	typeGroup      = "group"
	typeSupergroup = "supergroup"
)

type chatShape struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Title     string `json:"title"`
	FirstName string `json:"first_name"`
	Username  string `json:"username"`
	IsForum   bool   `json:"is_forum"`
}

func (c *chatShape) name() string {
	switch {
	case c.Title != "":
		return c.Title
	case c.FirstName != "":
		return c.FirstName
	}
	return c.Username
}

type entityShape struct {
	Type   string     `json:"type"`
	Offset int        `json:"offset"` // in UTF-16 units, like Length
	Length int        `json:"length"`
	URL    string     `json:"url"`
	User   *userShape `json:"user"`
}

type fileShape struct {
	ID       string `json:"file_id"`
	Path     string `json:"file_path"` // of getFile
	UniqueID string `json:"file_unique_id"`
	Name     string `json:"file_name"`
	Type     string `json:"mime_type"`
	Size     int64  `json:"file_size"`
	Emoji    string `json:"emoji"` // of a sticker
}

type topicShape struct {
	ID   int    `json:"message_thread_id"`
	Name string `json:"name"`
}

type messageShape struct {
	ID         int           `json:"message_id"`
	Thread     int           `json:"message_thread_id"`
	InTopic    bool          `json:"is_topic_message"`
	From       *userShape    `json:"from"`
	SenderChat *chatShape    `json:"sender_chat"`
	Chat       chatShape     `json:"chat"`
	Date       int64         `json:"date"`
	Edited     int64         `json:"edit_date"`
	ReplyTo    *messageShape `json:"reply_to_message"`
	Text       string        `json:"text"`
	Entities   []entityShape `json:"entities"`
	Caption    string        `json:"caption"`
	CaptionEnt []entityShape `json:"caption_entities"`

	Group string `json:"media_group_id"` // of an album; "" is none
	album []file // of all parts, of a message that stands for an album

	Photo     []fileShape `json:"photo"`
	Document  *fileShape  `json:"document"`
	Voice     *fileShape  `json:"voice"`
	Audio     *fileShape  `json:"audio"`
	Video     *fileShape  `json:"video"`
	VideoNote *fileShape  `json:"video_note"`
	Sticker   *fileShape  `json:"sticker"`

	kinds

	TopicCreated *topicShape     `json:"forum_topic_created"`
	TopicEdited  *topicShape     `json:"forum_topic_edited"`
	TopicClosed  json.RawMessage `json:"forum_topic_closed"`
	TopicOpened  json.RawMessage `json:"forum_topic_reopened"`
	MigrateTo    int64           `json:"migrate_to_chat_id"`
}

// said is the text or caption, with its entities.
func (m *messageShape) said() (string, []entityShape) {
	if m.Text != "" {
		return m.Text, m.Entities
	}
	return m.Caption, m.CaptionEnt
}

// webhookShape says who receives the bot's updates: URL is "" if it asks for them.
type webhookShape struct {
	URL       string `json:"url"`
	LastError string `json:"last_error_message"`
	FailedAt  int64  `json:"last_error_date"` // seconds since 1970
}

type pressShape struct {
	ID      string        `json:"id"`
	From    userShape     `json:"from"`
	Message *messageShape `json:"message"`
	Data    string        `json:"data"`
}

type memberShape struct {
	Status    string    `json:"status"`
	User      userShape `json:"user"`
	CanTopics bool      `json:"can_manage_topics"`
	IsMember  *bool     `json:"is_member"` // of a restricted user
}

const statusLeft = "left"

// gone reports whether the user is not in the chat.
func (m *memberShape) gone() bool {
	return m.Status == statusLeft || m.Status == "kicked" || m.IsMember != nil && !*m.IsMember
}

func (m *memberShape) admin() bool { return m.Status == "administrator" || m.Status == "creator" }

type memberChangeShape struct {
	Chat chatShape   `json:"chat"`
	New  memberShape `json:"new_chat_member"`
}

// readUpdate reads an update. With an error the id is known at least, if it is a number.
func readUpdate(raw json.RawMessage) (u updateShape, err error) {
	if err = json.Unmarshal(raw, &u); err != nil {
		id := struct {
			ID int64 `json:"update_id"`
		}{}
		_ = json.Unmarshal(raw, &id) // 0
		u = updateShape{ID: id.ID}
	}
	return u, err
}

// allowedUpdates are the kinds of updates that bots ask for.
var allowedUpdates = []string{"message", "edited_message", "callback_query", "my_chat_member", "message_reaction"}

type updateShape struct {
	ID      int64              `json:"update_id"`
	Message *messageShape      `json:"message"`
	Edited  *messageShape      `json:"edited_message"`
	Pressed *pressShape        `json:"callback_query"`
	Member  *memberChangeShape `json:"my_chat_member"`
	Reacted *reactedShape      `json:"message_reaction"`
}
