package slack

import "encoding/json"

// Shapes of Slack's API, as far as they are used.

// messageShape is a message, or an event about one.
type messageShape struct {
	Type        string         `json:"type"`
	Subtype     string         `json:"subtype"`
	Channel     string         `json:"channel"`
	ChannelType string         `json:"channel_type"`
	User        string         `json:"user"`
	Username    string         `json:"username"`
	BotID       string         `json:"bot_id"`
	BotProfile  *profileShape  `json:"bot_profile"`
	Text        string         `json:"text"`
	TS          string         `json:"ts"`
	ThreadTS    string         `json:"thread_ts"`
	ParentUser  string         `json:"parent_user_id"`
	LatestReply string         `json:"latest_reply"`
	Edited      *editedShape   `json:"edited"`
	Files       []fileShape    `json:"files"`
	Attachments []attachShape  `json:"attachments"`
	Metadata    *metadataShape `json:"metadata"`

	DeletedTS string        `json:"deleted_ts"`       // of a deletion
	Message   *messageShape `json:"message"`          // of an edit
	Previous  *messageShape `json:"previous_message"` // of both
}

type profileShape struct {
	Name string `json:"name"`
}

type editedShape struct {
	TS string `json:"ts"`
}

type fileShape struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Mimetype string `json:"mimetype"`
	Size     int64  `json:"size"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
}

// attachShape is a preview, or what an app shows besides a text.
type attachShape struct {
	Fallback string `json:"fallback"`
	Title    string `json:"title"`
	Text     string `json:"text"`
}

type metadataShape struct {
	Type    string          `json:"event_type"`
	Payload json.RawMessage `json:"event_payload"`
}

// written reports whether a message is one of a person, app or webhook, not of Slack itself.
func (m *messageShape) written() bool {
	switch m.Subtype {
	case "", "file_share", "thread_broadcast", "bot_message", "me_message":
		return stamp(m.TS) != 0 && (m.User != "" || m.BotID != "")
	}
	return false
}

// inThread is the thread that a message belongs to; "" if it is in none, or the first one of it.
func (m *messageShape) inThread() string {
	if m.ThreadTS == m.TS {
		return ""
	}
	return m.ThreadTS
}

type eventShape struct {
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event"`
}

type memberShape struct {
	User    string `json:"user"`
	Channel string `json:"channel"`
}

type channelShape struct {
	ID         string `json:"id"`
	Name       string `json:"name"`
	IsIM       bool   `json:"is_im"`
	IsMPIM     bool   `json:"is_mpim"`
	IsArchived bool   `json:"is_archived"`
	IsMember   bool   `json:"is_member"`
}

type userShape struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	RealName string `json:"real_name"`
	IsBot    bool   `json:"is_bot"`
	Profile  struct {
		DisplayName string `json:"display_name"`
	} `json:"profile"`
}

type authShape struct {
	UserID string `json:"user_id"`
	User   string `json:"user"`
	BotID  string `json:"bot_id"`
	TeamID string `json:"team_id"`
	URL    string `json:"url"` // of the workspace
}

type pageShape struct {
	Messages []messageShape `json:"messages"`
	Channels []channelShape `json:"channels"`
	Next     struct {
		Cursor string `json:"next_cursor"`
	} `json:"response_metadata"`
}

// postedShape is the answer to a post.
type postedShape struct {
	Channel string `json:"channel"`
	TS      string `json:"ts"`
}

// interactionShape is a use of a button.
type interactionShape struct {
	Type    string       `json:"type"`
	AppID   string       `json:"api_app_id"`
	Trigger string       `json:"trigger_id"`
	URL     string       `json:"response_url"`
	User    userShape    `json:"user"`
	Channel channelShape `json:"channel"`
	Message messageShape `json:"message"`
	Actions []struct {
		ID string `json:"action_id"`
		TS string `json:"action_ts"`
	} `json:"actions"`
}

// commandShape is a use of a slash command.
type commandShape struct {
	AppID    string `json:"api_app_id"`
	Trigger  string `json:"trigger_id"`
	URL      string `json:"response_url"`
	Command  string `json:"command"`
	Text     string `json:"text"`
	UserID   string `json:"user_id"`
	UserName string `json:"user_name"`
	Channel  string `json:"channel_id"`
	Named    string `json:"channel_name"`
}

type blockShape struct {
	Type     string         `json:"type"`
	Text     *textShape     `json:"text,omitempty"`
	Elements []elementShape `json:"elements,omitempty"`
}

type textShape struct {
	Type     string `json:"type"`
	Text     string `json:"text"`
	Verbatim bool   `json:"verbatim,omitempty"` // Slack makes no links and mentions of its own; not of plain text
}

type elementShape struct {
	Type  string    `json:"type"`
	ID    string    `json:"action_id"`
	Text  textShape `json:"text"`
	Style string    `json:"style,omitempty"`
}
