package collaborate

import "github.com/pronto-lab/openclawd/coordination"

// Event is an event to append. Data has one of the types below.
type Event struct {
	Type    string
	AgentID string // the agent who asks
	Data    any
}

// Requested is the data of a2a.collaborate.requested: a request was accepted. It counts for the pair from then on.
type Requested struct {
	coordination.Context
	RequestID   string `json:"collabId"`
	Key         string `json:"key"`
	Content     string `json:"content"`
	Base        int64  `json:"base"`
	FromAgent   string `json:"fromAgent"`
	TargetAgent string `json:"toAgent"`
	Route       Route  `json:"mode"`
	ThreadID    string `json:"threadId,omitempty"`
	ThreadName  string `json:"threadName,omitempty"` // also of one that is going to be opened
	ChannelID   string `json:"parentChannelId,omitempty"`
	GuildID     string `json:"guildId,omitempty"`
	SessionKey  string `json:"sessionKey,omitempty"` // the session that has asked
	RunID       string `json:"runId,omitempty"`      // the run in it
	Original    string `json:"message,omitempty"`
	Forgets     string `json:"forgets,omitempty"` // the reuse key whose thread no longer exists
	Again       bool   `json:"again,omitempty"`   // counted before
}

// Opened is the data of thread.created. The thread is kept from then on, even if nothing can be posted in it at first.
type Opened struct {
	RequestID  string `json:"collabId"`
	ReuseKey   string `json:"reuseKey,omitempty"`
	ThreadID   string `json:"threadId"`
	ThreadName string `json:"name,omitempty"`
	ChannelID  string `json:"channelId,omitempty"`
	GuildID    string `json:"guildId,omitempty"`
}

// Sent is the data of a2a.collaborate.sent: the request was posted in the thread.
type Sent struct {
	coordination.Context
	RequestID   string   `json:"collabId"`
	ReuseKey    string   `json:"reuseKey,omitempty"`
	ThreadID    string   `json:"threadId"`
	ThreadName  string   `json:"threadName,omitempty"`
	ChannelID   string   `json:"parentChannelId,omitempty"`
	GuildID     string   `json:"guildId,omitempty"`
	FromAgent   string   `json:"fromAgent"`
	FromAccount string   `json:"fromAccountId"`
	TargetAgent string   `json:"toAgent"`
	TargetBot   string   `json:"targetBotId"`
	MessageIDs  []string `json:"messageIds"`
	Original    string   `json:"message,omitempty"`
	SentAt      int64    `json:"sentAt"` // ms since 1970
	Tracked     bool     `json:"tracked"`
}

// Failed is the data of a2a.collaborate.failed and of discord.delivery_unknown. After the latter it is unknown whether
// the request was posted.
type Failed struct {
	coordination.Context
	RequestID   string `json:"collabId"`
	FromAgent   string `json:"fromAgent,omitempty"`
	TargetAgent string `json:"toAgent,omitempty"`
	ThreadID    string `json:"threadId,omitempty"`
	Code        string `json:"errorCode"`
	Text        string `json:"errorMessage,omitempty"`
	Forgets     string `json:"forgets,omitempty"` // the reuse key whose thread no longer exists
	Escalate    bool   `json:"escalate,omitempty"`
	Redecide    bool   `json:"anew,omitempty"` // the request is decided again at once
}

// Limited is of collab.rate_limited.
type Limited struct {
	coordination.Context
	FromAgent   string `json:"fromAgent"`
	TargetAgent string `json:"toAgent"`
	ResetAt     int64  `json:"resetAtMs"`
}

// Requested is the event that the request was accepted. It is appended before anything is done.
func (p *Plan) Requested(c coordination.Context, requestID string) Event {
	d := Requested{Context: within(c), RequestID: requestID, Key: p.Key, Content: p.Content, Base: p.Base, FromAgent: p.From, TargetAgent: p.Target,
		Route: p.Route, ThreadID: p.ThreadID, ThreadName: p.ThreadName, ChannelID: p.ChannelID, GuildID: p.GuildID, SessionKey: p.SessionKey,
		RunID: p.RunID, Original: p.Original, Again: p.Again}
	d.Hop = &p.Hop
	if p.Forget {
		d.Forgets = p.ReuseKey
	}
	return Event{coordination.TypeA2ACollaborateRequested, p.From, d}
}

// Opened is the event that the thread was opened.
func (p *Plan) Opened(requestID, threadID string) Event {
	return Event{coordination.TypeThreadCreated, p.From, Opened{requestID, p.ReuseKey, threadID, p.ThreadName, p.ChannelID, p.GuildID}}
}

// Sent is the event that all messages were posted in the thread. sentAt is ms since 1970.
func (p *Plan) Sent(c coordination.Context, requestID, threadID string, messageIDs []string, sentAt int64) Event {
	return Event{coordination.TypeA2ACollaborateSent, p.From, Sent{Context: within(c), RequestID: requestID, ReuseKey: p.ReuseKey, ThreadID: threadID,
		ThreadName: p.ThreadName, ChannelID: p.ChannelID, GuildID: p.GuildID, FromAgent: p.From, FromAccount: p.AccountID, TargetAgent: p.Target,
		TargetBot: p.TargetBotID, MessageIDs: messageIDs, Original: p.Original, SentAt: sentAt, Tracked: p.Tracked}}
}

// Failed is the event that it was given up, or is decided again, as returned by After.
func (p *Plan) Failed(c coordination.Context, requestID, threadID string, n Next) Event {
	typ := coordination.TypeA2ACollaborateFailed
	if n.Unknown {
		typ = coordination.TypeDiscordDeliveryUnknown
	}
	d := Failed{Context: within(c), RequestID: requestID, FromAgent: p.From, TargetAgent: p.Target, ThreadID: threadID, Code: n.Code,
		Text: coordination.Head(coordination.Mask(n.Text), MaxOriginal), Escalate: n.Escalate, Redecide: n.Redecide}
	if n.Forget {
		d.Forgets = p.ReuseKey
	}
	return Event{typ, p.From, d}
}

// within is the context of a request's events.
func within(c coordination.Context) coordination.Context {
	c.EventRole = coordination.RoleOrchestration
	return c
}
