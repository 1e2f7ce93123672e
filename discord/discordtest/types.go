package discordtest

import "encoding/json"

// Types of Discord's API. Nullable members are pointers.

// User is a bot or a person.
type User struct {
	ID            string  `json:"id"`
	Username      string  `json:"username"`
	Discriminator string  `json:"discriminator"`
	GlobalName    *string `json:"global_name"`
	Avatar        *string `json:"avatar"`
	Bot           bool    `json:"bot,omitempty"`
	PublicFlags   int     `json:"public_flags"`
}

// Mention is the text that mentions the user.
func (u User) Mention() string { return "<@" + u.ID + ">" }

// Member is a user's membership in a guild.
type Member struct {
	User        *User    `json:"user,omitempty"`
	Nick        *string  `json:"nick"`
	Roles       []string `json:"roles"`
	JoinedAt    string   `json:"joined_at"`
	Deaf        bool     `json:"deaf"`
	Mute        bool     `json:"mute"`
	Flags       int      `json:"flags"`
	Permissions string   `json:"permissions,omitempty"` // interactions only
}

// Role is a role of a guild. The one with the guild's id is everyone's.
type Role struct {
	ID          string     `json:"id"`
	Name        string     `json:"name"`
	Permissions Permission `json:"permissions,string"`
	Position    int        `json:"position"`
	Color       int        `json:"color"` // the older form of Colors
	Colors      RoleColors `json:"colors"`
	Hoist       bool       `json:"hoist"`
	Managed     bool       `json:"managed"`
	Mentionable bool       `json:"mentionable"`
	Icon        *string    `json:"icon"`
	Emoji       *string    `json:"unicode_emoji"`
	Flags       int        `json:"flags"`
}

// RoleColors are the colors of a role's name, which may be a gradient.
type RoleColors struct {
	Primary   int  `json:"primary_color"`
	Secondary *int `json:"secondary_color"`
	Tertiary  *int `json:"tertiary_color"`
}

// Overwrite changes a role's (type 0) or member's (type 1) permissions in one channel.
type Overwrite struct {
	ID    string     `json:"id"`
	Type  int        `json:"type"`
	Allow Permission `json:"allow,string"`
	Deny  Permission `json:"deny,string"`
}

// GuildInfo is a guild in REST and GUILD_CREATE.
type GuildInfo struct {
	ID          string    `json:"id"`
	Name        string    `json:"name"`
	OwnerID     string    `json:"owner_id"`
	Icon        *string   `json:"icon"`
	Roles       []Role    `json:"roles"`
	JoinedAt    string    `json:"joined_at,omitempty"`
	Large       bool      `json:"large"`
	Unavailable bool      `json:"unavailable"`
	MemberCount int       `json:"member_count,omitempty"`
	Members     []Member  `json:"members,omitempty"`
	Channels    []Channel `json:"channels,omitempty"`
	Threads     []Channel `json:"threads,omitempty"`
}

// Types of channels.
const (
	TextChannel         = 0
	DirectMessages      = 1
	VoiceChannel        = 2
	Category            = 4
	Announcements       = 5
	AnnouncementsThread = 10
	PublicThread        = 11
	PrivateThread       = 12
	Forum               = 15
)

// Channel is a channel, a thread or a conversation.
type Channel struct {
	ID               string          `json:"id"`
	Type             int             `json:"type"`
	GuildID          string          `json:"guild_id,omitempty"`
	Name             string          `json:"name,omitempty"`
	Topic            *string         `json:"topic,omitempty"`
	Position         int             `json:"position"`
	ParentID         *string         `json:"parent_id"`
	NSFW             bool            `json:"nsfw"`
	Flags            int             `json:"flags"`
	LastMessageID    *string         `json:"last_message_id"`
	RateLimitPerUser int             `json:"rate_limit_per_user"`
	Overwrites       []Overwrite     `json:"permission_overwrites,omitempty"`
	Recipients       []User          `json:"recipients,omitempty"`
	OwnerID          string          `json:"owner_id,omitempty"`
	Thread           *ThreadMetadata `json:"thread_metadata,omitempty"`
	MessageCount     int             `json:"message_count,omitempty"`
	TotalMessages    int             `json:"total_message_sent,omitempty"`
	MemberCount      int             `json:"member_count,omitempty"`
	Member           *ThreadMember   `json:"member,omitempty"` // membership of the receiver
	NewlyCreated     bool            `json:"newly_created,omitempty"`
	Message          *Message        `json:"message,omitempty"` // the first message of a new forum thread
	Permissions      string          `json:"permissions,omitempty"`
}

// IsThread reports whether the channel is a thread of any kind.
func (c Channel) IsThread() bool { return c.Type >= AnnouncementsThread && c.Type <= PrivateThread }

// ThreadMetadata is a thread's state.
type ThreadMetadata struct {
	Archived            bool   `json:"archived"`
	AutoArchiveDuration int    `json:"auto_archive_duration"` // minutes
	ArchiveTimestamp    string `json:"archive_timestamp"`
	Locked              bool   `json:"locked"`
	Invitable           bool   `json:"invitable"`
	CreateTimestamp     string `json:"create_timestamp"`
}

// ThreadMember is a follower of a thread.
type ThreadMember struct {
	ID            string  `json:"id"` // of the thread
	UserID        string  `json:"user_id"`
	JoinTimestamp string  `json:"join_timestamp"`
	Flags         int     `json:"flags"`
	Member        *Member `json:"member,omitempty"`
}

// Types of messages.
const (
	PlainMessage         = 0
	ThreadCreatedMessage = 18
	ReplyMessage         = 19
	SlashCommandMessage  = 20
	ThreadStarterMessage = 21
)

// Flags of messages.
const (
	FlagHasThread = 1 << 5
	FlagEphemeral = 1 << 6
	FlagLoading   = 1 << 7
)

// Message is a message in a channel. GuildID and Member are set in gateway events.
type Message struct {
	ID                string            `json:"id"`
	ChannelID         string            `json:"channel_id"`
	GuildID           string            `json:"guild_id,omitempty"`
	Author            User              `json:"author"`
	Member            *Member           `json:"member,omitempty"`
	Content           string            `json:"content"`
	Timestamp         string            `json:"timestamp"`
	EditedTimestamp   *string           `json:"edited_timestamp"`
	TTS               bool              `json:"tts"`
	MentionEveryone   bool              `json:"mention_everyone"`
	Mentions          []User            `json:"mentions"`
	MentionRoles      []string          `json:"mention_roles"`
	Attachments       []Attachment      `json:"attachments"`
	Embeds            []json.RawMessage `json:"embeds"`
	Components        []json.RawMessage `json:"components"`
	Reactions         []Reaction        `json:"reactions,omitempty"`
	Nonce             json.RawMessage   `json:"nonce,omitempty"` // text or number, as received
	Pinned            bool              `json:"pinned"`
	Type              int               `json:"type"`
	Flags             int               `json:"flags"`
	WebhookID         string            `json:"webhook_id,omitempty"`
	ApplicationID     string            `json:"application_id,omitempty"`
	Reference         *Reference        `json:"message_reference,omitempty"`
	ReferencedMessage *Message          `json:"referenced_message,omitempty"`
	Interaction       *InteractionInfo  `json:"interaction_metadata,omitempty"`
	Thread            *Channel          `json:"thread,omitempty"`
}

// Reference points to another message or thread.
type Reference struct {
	MessageID       string `json:"message_id,omitempty"`
	ChannelID       string `json:"channel_id,omitempty"`
	GuildID         string `json:"guild_id,omitempty"`
	FailIfNotExists *bool  `json:"fail_if_not_exists,omitempty"`
}

// Attachment is a file. URL is signed, and valid for a day.
type Attachment struct {
	Content []byte `json:"-"` // of a file to post; others are requested at URL

	ID          string `json:"id"`
	Filename    string `json:"filename"`
	ContentType string `json:"content_type,omitempty"`
	Size        int    `json:"size"`
	URL         string `json:"url"`
	ProxyURL    string `json:"proxy_url"`
}

// Emoji is a reaction's emoji; ID is nil for Unicode.
type Emoji struct {
	ID   *string `json:"id"`
	Name string  `json:"name"`
}

// Reaction counts equal reactions.
type Reaction struct {
	Count int   `json:"count"`
	Me    bool  `json:"me"`
	Emoji Emoji `json:"emoji"`
}

// InteractionInfo is the interaction a message answers.
type InteractionInfo struct {
	ID   string `json:"id"`
	Type int    `json:"type"`
	User User   `json:"user"`
	// Owners are where the application is installed: in which guild (0), for which user (1).
	Owners map[string]string `json:"authorizing_integration_owners"`
}

// Webhook posts into a channel without a bot.
type Webhook struct {
	ID            string  `json:"id"`
	Type          int     `json:"type"`
	GuildID       string  `json:"guild_id"`
	ChannelID     string  `json:"channel_id"`
	User          *User   `json:"user,omitempty"`
	Name          string  `json:"name"`
	Avatar        *string `json:"avatar"`
	Token         string  `json:"token,omitempty"`
	ApplicationID *string `json:"application_id"`
}

// Command is a registered command.
type Command struct {
	ID            string            `json:"id"`
	ApplicationID string            `json:"application_id"`
	GuildID       string            `json:"guild_id,omitempty"`
	Type          int               `json:"type"`
	Name          string            `json:"name"`
	Description   string            `json:"description"`
	Options       []CommandOption   `json:"options,omitempty"`
	Version       string            `json:"version"`
	Permissions   *string           `json:"default_member_permissions"`
	NSFW          bool              `json:"nsfw"`
	Names         map[string]string `json:"name_localizations,omitempty"`
	Descriptions  map[string]string `json:"description_localizations,omitempty"`
}

// CommandOption is an option of a command.
type CommandOption struct {
	Type         int               `json:"type"`
	Name         string            `json:"name"`
	Description  string            `json:"description"`
	Required     bool              `json:"required,omitempty"`
	Choices      []json.RawMessage `json:"choices,omitempty"`
	Options      []CommandOption   `json:"options,omitempty"`
	Autocomplete bool              `json:"autocomplete,omitempty"`
}
