package slacktest

import "encoding/json"

// Types of Slack's API.

// User is a person or an app's bot user.
type User struct {
	ID       string  `json:"id"`
	TeamID   string  `json:"team_id"`
	Name     string  `json:"name"`
	RealName string  `json:"real_name"`
	Deleted  bool    `json:"deleted"`
	IsBot    bool    `json:"is_bot"`
	IsAdmin  bool    `json:"is_admin"`
	Updated  int64   `json:"updated"`
	TZ       string  `json:"tz,omitempty"`
	Profile  Profile `json:"profile"`
}

// Mention is the text that mentions the user.
func (u User) Mention() string { return "<@" + u.ID + ">" }

// Profile is what a user shows.
type Profile struct {
	RealName    string `json:"real_name"`
	DisplayName string `json:"display_name"`
	BotID       string `json:"bot_id,omitempty"`
	APIAppID    string `json:"api_app_id,omitempty"`
	Team        string `json:"team"`
}

// Kinds of conversations, as channel_type in events.
const (
	Public  = "channel"
	Private = "group"
	Direct  = "im"
	Group   = "mpim"
)

// Channel is a conversation of any kind.
type Channel struct {
	ID            string `json:"id"`
	Name          string `json:"name,omitempty"`
	NameNorm      string `json:"name_normalized,omitempty"`
	User          string `json:"user,omitempty"` // the other one of a direct conversation
	Created       int64  `json:"created"`
	IsChannel     bool   `json:"is_channel"`
	IsGroup       bool   `json:"is_group"`
	IsIM          bool   `json:"is_im"`
	IsMPIM        bool   `json:"is_mpim"`
	IsPrivate     bool   `json:"is_private"`
	IsArchived    bool   `json:"is_archived"`
	IsMember      bool   `json:"is_member"`
	IsGeneral     bool   `json:"is_general"`
	ContextTeamID string `json:"context_team_id"`
	NumMembers    int    `json:"num_members,omitempty"`
	Topic         Topic  `json:"topic"`
	Purpose       Topic  `json:"purpose"`
}

// Topic is a channel's topic or purpose.
type Topic struct {
	Value   string `json:"value"`
	Creator string `json:"creator"`
	LastSet int64  `json:"last_set"`
}

// Message is a message in a conversation.
type Message struct {
	Type        string            `json:"type"`
	Subtype     string            `json:"subtype,omitempty"`
	ClientMsgID string            `json:"client_msg_id,omitempty"`
	User        string            `json:"user,omitempty"`
	Username    string            `json:"username,omitempty"`
	BotID       string            `json:"bot_id,omitempty"`
	AppID       string            `json:"app_id,omitempty"`
	BotProfile  *BotProfile       `json:"bot_profile,omitempty"`
	Team        string            `json:"team,omitempty"`
	Text        string            `json:"text"`
	TS          string            `json:"ts"`
	ThreadTS    string            `json:"thread_ts,omitempty"`
	ParentUser  string            `json:"parent_user_id,omitempty"`
	Inviter     string            `json:"inviter,omitempty"`
	ReplyCount  int               `json:"reply_count,omitempty"`
	ReplyUsers  []string          `json:"reply_users,omitempty"`
	LatestReply string            `json:"latest_reply,omitempty"`
	Blocks      []json.RawMessage `json:"blocks,omitempty"`
	Attachments []json.RawMessage `json:"attachments,omitempty"`
	Files       []File            `json:"files,omitempty"`
	Edited      *Edited           `json:"edited,omitempty"`
	Reactions   []Reaction        `json:"reactions,omitempty"`
	Metadata    *Metadata         `json:"metadata,omitempty"`
	Root        *Message          `json:"root,omitempty"` // of a broadcast
}

// BotProfile is the app of a message.
type BotProfile struct {
	ID      string `json:"id"`
	AppID   string `json:"app_id"`
	Name    string `json:"name"`
	Deleted bool   `json:"deleted"`
	Updated int64  `json:"updated"`
	TeamID  string `json:"team_id"`
}

// Edited says by whom and when a message was edited.
type Edited struct {
	User string `json:"user"`
	TS   string `json:"ts"`
}

// Reaction is one emoji below a message.
type Reaction struct {
	Name  string   `json:"name"`
	Users []string `json:"users"`
	Count int      `json:"count"`
}

// Metadata is an app's data at a message.
type Metadata struct {
	EventType string          `json:"event_type"`
	Payload   json.RawMessage `json:"event_payload"`
}

// File is a file of a message.
type File struct {
	ID       string `json:"id"`
	Created  int64  `json:"created"`
	Name     string `json:"name"`
	Title    string `json:"title"`
	Mimetype string `json:"mimetype"`
	Filetype string `json:"filetype"`
	Mode     string `json:"mode"`
	User     string `json:"user"`
	Size     int    `json:"size"`
	Private  string `json:"url_private"`
	Download string `json:"url_private_download"`
}
