package discord

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// The parts of Discord's shapes that are read.

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
	Type  int    `json:"type"` // 0: of a role, 1: of a member
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
		ArchivedAt string `json:"archive_timestamp"` // when it was, or was not any more
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

// holdsMessages says whether somebody can write in it.
func (c *channelShape) holdsMessages() bool {
	return c.Type != typeCategory && c.kind() != collaborate.Forum
}

// place is the channel in the words of decisions. The channel that a channel hangs below, a category, is nobody's parent.
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
	RoleID  string    `json:"role_id"` // of one that is deleted
}

type guildMemberShape struct {
	GuildID string `json:"guild_id"`
	memberShape
}

// threadMembersShape tells who has come into a thread and who has left it: of others than the bot only with an intent that is not asked for.
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

// lastArchived is when the last of archived threads was; the zero time where that is not told.
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
		Type      int    `json:"type"` // 0: what it replies to; 1: what it forwards
		MessageID string `json:"message_id"`
	} `json:"message_reference"`
	Referenced *struct {
		Author *userShape `json:"author"`
	} `json:"referenced_message"`
}

// nonce is what the author has called the message; "" if that is not told.
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

// Types of messages that somebody has written. All others Discord writes by itself.
const (
	typePlain   = 0
	typeReply   = 19
	typeSlash   = 20
	typeContext = 23
)

// written says whether somebody has written the message.
func (m *messageShape) written() bool {
	return slices.Contains([]int{typePlain, typeReply, typeSlash, typeContext}, m.Type)
}

// snowflake is an id as a number, which ascends with time; 0 for what is none.
func snowflake(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// discordEpoch is when ids begin, ms since 1970, and timeShift the bits of an id below its time.
const (
	discordEpoch = 1420070400000
	timeShift    = 22
)

// madeAt is when an id was made, ms since 1970.
func madeAt(id uint64) int64 { return int64(id>>timeShift) + discordEpoch }

// firstAt is the smallest id of a time, ms since 1970.
func firstAt(ms int64) uint64 { return uint64(max(ms-discordEpoch, 0)) << timeShift }
