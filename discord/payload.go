package discord

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// The parts of Discord's API types that are used.

type userShape struct {
	ID         string `json:"id"`
	Username   string `json:"username"`
	GlobalName string `json:"global_name"`
	Bot        bool   `json:"bot"`
}

func (u *userShape) name() string { return cmp.Or(u.GlobalName, u.Username) }

type memberShape struct {
	User  *userShape `json:"user"`
	Roles []string   `json:"roles"`
}

type roleShape struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Permissions uint64 `json:"permissions,string"`
}

type overwriteShape struct {
	ID    string `json:"id"`
	Type  int    `json:"type"` // 0: role, 1: member
	Allow uint64 `json:"allow,string"`
	Deny  uint64 `json:"deny,string"`
}

type channelShape struct {
	ID            string           `json:"id"`
	Type          int              `json:"type"`
	GuildID       string           `json:"guild_id"`
	Name          string           `json:"name"`
	ParentID      string           `json:"parent_id"`
	OwnerID       string           `json:"owner_id"`
	LastMessageID string           `json:"last_message_id"`
	Overwrites    []overwriteShape `json:"permission_overwrites"`
	Thread        *struct {
		Archived   bool   `json:"archived"`
		ArchivedAt string `json:"archive_timestamp"` // time of archiving or unarchiving
		Locked     bool   `json:"locked"`
	} `json:"thread_metadata"`
	Message *messageShape `json:"message"`
}

// Types of channels.
const (
	typeText          = 0
	typeDirect        = 1
	typeGroup         = 3
	typeCategory      = 4
	typeAnnouncements = 5
	typeNewsThread    = 10
	typePublicThread  = 11
	typePrivateThread = 12
	typeForum         = 15
	typeMedia         = 16
)

func (c *channelShape) kind() collaborate.Kind {
	switch c.Type {
	case typeText, typeAnnouncements:
		return collaborate.Text
	case typeForum, typeMedia:
		return collaborate.Forum
	case typeNewsThread, typePublicThread, typePrivateThread:
		return collaborate.Thread
	case typeDirect, typeGroup:
		return collaborate.Direct
	}
	return collaborate.Other
}

// holdsMessages reports whether a channel can contain messages.
func (c *channelShape) holdsMessages() bool {
	return c.Type != typeCategory && c.kind() != collaborate.Forum
}

// place converts the channel for decisions. A category is not a parent.
func (c *channelShape) place() collaborate.Place {
	p := collaborate.Place{ID: c.ID, Kind: c.kind(), Name: c.Name, GuildID: c.GuildID}
	if p.Kind == collaborate.Thread {
		p.ParentID = c.ParentID
	}
	if c.Thread != nil {
		p.Archived, p.Locked = c.Thread.Archived, c.Thread.Locked
	}
	return p
}

type guildShape struct {
	ID          string         `json:"id"`
	OwnerID     string         `json:"owner_id"`
	Unavailable bool           `json:"unavailable"`
	Roles       []roleShape    `json:"roles"`
	Members     []memberShape  `json:"members"`
	Channels    []channelShape `json:"channels"`
	Threads     []channelShape `json:"threads"`
}

type guildRoleShape struct {
	GuildID string    `json:"guild_id"`
	Role    roleShape `json:"role"`
	RoleID  string    `json:"role_id"` // deleted ones only
}

type guildMemberShape struct {
	GuildID string `json:"guild_id"`
	memberShape
}

// threadMembersShape lists users who joined or left a thread: users other than the bot only with an intent that is not
// used.
type threadMembersShape struct {
	ID    string `json:"id"`
	Added []struct {
		UserID string `json:"user_id"`
	} `json:"added_members"`
	Removed []string `json:"removed_member_ids"`
}

type threadsShape struct {
	GuildID string         `json:"guild_id"`
	Threads []channelShape `json:"threads"`
	More    bool           `json:"has_more"`
}

// lastArchived is the time of the last of archived threads; the zero time if missing.
func (s *threadsShape) lastArchived() (at time.Time) {
	if n := len(s.Threads); n > 0 && s.Threads[n-1].Thread != nil {
		at, _ = time.Parse(time.RFC3339, s.Threads[n-1].Thread.ArchivedAt)
	}
	return at
}

type readyShape struct {
	User        userShape    `json:"user"`
	Guilds      []guildShape `json:"guilds"`
	Application struct {
		ID string `json:"id"`
	} `json:"application"`
}

type messageShape struct {
	ID              string            `json:"id"`
	ChannelID       string            `json:"channel_id"`
	GuildID         string            `json:"guild_id"`
	Author          *userShape        `json:"author"`
	Member          *memberShape      `json:"member"`
	Content         string            `json:"content"`
	Edited          *time.Time        `json:"edited_timestamp"`
	Mentions        []userShape       `json:"mentions"`
	MentionRoles    []string          `json:"mention_roles"`
	MentionEveryone bool              `json:"mention_everyone"`
	Attachments     []attachmentShape `json:"attachments"`
	Nonce           json.RawMessage   `json:"nonce"`
	Type            int               `json:"type"`
	WebhookID       string            `json:"webhook_id"`
	Reference       *struct {
		Type      int    `json:"type"` // 0: the message replied to; 1: forwarded
		MessageID string `json:"message_id"`
	} `json:"message_reference"`
	Referenced *struct {
		Author *userShape `json:"author"`
	} `json:"referenced_message"`
}

// nonce is the author's nonce; "" if missing.
func (m *messageShape) nonce() string {
	var text string
	if json.Unmarshal(m.Nonce, &text) != nil {
		return string(m.Nonce)
	}
	return text
}

type attachmentShape struct {
	Filename    string `json:"filename"`
	ContentType string `json:"content_type"`
	Size        int64  `json:"size"`
	URL         string `json:"url"`
}

type deletedShape struct {
	ID        string   `json:"id"`
	IDs       []string `json:"ids"`
	ChannelID string   `json:"channel_id"`
	GuildID   string   `json:"guild_id"`
}

// Types of messages written by users. All others are system messages.
const (
	typePlain   = 0
	typeReply   = 19
	typeSlash   = 20
	typeContext = 23
)

// written reports whether a user wrote the message.
func (m *messageShape) written() bool {
	return slices.Contains([]int{typePlain, typeReply, typeSlash, typeContext}, m.Type)
}

// snowflake is an id as a number, ascending with time; 0 if invalid.
func snowflake(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// discordEpoch is the epoch of ids in ms since 1970, and timeShift the number of bits below the time.
const (
	discordEpoch = 1420070400000
	timeShift    = 22
)

// madeAt is an id's creation time, ms since 1970.
func madeAt(id uint64) int64 { return int64(id>>timeShift) + discordEpoch }

// firstAt is the smallest id of a time, ms since 1970.
func firstAt(ms int64) uint64 { return uint64(max(ms-discordEpoch, 0)) << timeShift }
