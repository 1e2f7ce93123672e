package gateway

import (
	"cmp"
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/gateway/wire"
)

// Posts are what goes out through Discord. A gateway without any answers that nothing does.
type Posts interface {
	// Check says whether something can be posted, as far as that can be said without asking Discord. Text and Key do not count. The error is a
	// *delivery.Refusal.
	Check(p Post) error
	// Send asks for a post, once for each key. It is on disk when Send returns. The error is a *delivery.Refusal, or the log's.
	Send(ctx context.Context, p Post) error
	// Sent is how what was asked for with a key stands; found is false for a key that nobody has asked with.
	Sent(ctx context.Context, key string) (s Sent, found bool, err error)
	// Await is how it stands once it is over, or with ctx's error as it stands then.
	Await(ctx context.Context, key string) (Sent, error)
	// Bots are how the accounts stand that are configured, by id. Those of which nothing is known may be left out.
	Bots() []Bot
}

// Post is what somebody wants posted.
type Post struct {
	Key        string // makes it one, however often it is asked for
	AgentID    string // in whose name; "" is whose bot speaks
	AccountID  string // whose bot speaks; "" is the agent's, or without agent the default one
	To         string // channel:<id>
	ThreadID   string
	ReplyTo    string // id of the message that it answers
	Text       string
	SessionKey string // the session whose transcript gets the text once it stands there, if there is such a session; "" is none
}

// Sent is how a post stands.
type Sent struct {
	Over       bool
	State      delivery.State // of what is over
	AccountID  string         // whose bot speaks
	ChannelID  string
	ThreadID   string
	MessageIDs []string // that stand there, in order
	Code       string   // of what has failed, or of which nobody knows
	Text       string   // likewise
	Mend       string   // likewise
}

// Bot is how an account of Discord stands.
type Bot struct {
	AccountID string
	UserID    string // "" before it is known
	Name      string // likewise
	Running   bool   // it is connected, or tries to be
	Connected bool
	Since     int64  // ms since 1970: for how long it has stood so; 0 if that is not known
	Error     string // what is wrong, with its mend; ""
}

// sendWait is how long a post is waited for: clients give up after 10 s.
const sendWait = 9 * time.Second

type postParams struct {
	To         string   `json:"to"`
	Message    string   `json:"message"`
	MediaURL   string   `json:"mediaUrl"`
	MediaURLs  []string `json:"mediaUrls"`
	Channel    *string  `json:"channel"`
	AccountID  string   `json:"accountId"`
	AgentID    string   `json:"agentId"`
	ThreadID   string   `json:"threadId"`
	SessionKey string   `json:"sessionKey"`
	Key        string   `json:"idempotencyKey"`

	// Of protocol 4.
	ReplyTo     string `json:"replyToId"`
	Gif         bool   `json:"gifPlayback"`
	Buffer      string `json:"buffer"`
	Filename    string `json:"filename"`
	ContentType string `json:"contentType"`
	Voice       bool   `json:"asVoice"`
	Document    bool   `json:"forceDocument"`
	Silent      bool   `json:"silent"`
	ParseMode   string `json:"parseMode"`
}

// sendAnswer answers send.
type sendAnswer struct {
	RunID      string   `json:"runId"`
	MessageID  string   `json:"messageId,omitempty"` // the last one, as the original tells it
	Channel    string   `json:"channel"`
	ChannelID  string   `json:"channelId,omitempty"` // of a thread: the thread's own
	MessageIDs []string `json:"messageIds,omitempty"`
	Status     string   `json:"status"` // sent, or pending: it goes out as soon as it can, and asking again with the same key tells
}

// send answers send once the text stands in Discord, or cannot; else, after a while, that it is under way. Whoever asks again with the same key,
// also after a restart, is answered in the same way, and nothing is posted again.
func (s *Server) send(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[postParams](call)
	if err != nil {
		return nil, err
	}
	if posts := s.opts.Posts; posts != nil && len(p.Key) <= run.MaxRunID {
		switch _, again, err := posts.Sent(ctx, p.Key); {
		case err != nil:
			return nil, err
		case again:
			return s.sent(ctx, p.Key)
		}
	}
	post, err := s.postOf(call, &p)
	if err != nil {
		return nil, err
	}
	if err := s.opts.Posts.Send(ctx, post); err != nil {
		return nil, postRefusalOf(call.Method, err)
	}
	return s.sent(ctx, p.Key)
}

// sent waits for the end of a post.
func (s *Server) sent(ctx context.Context, key string) (any, error) {
	waiting, stop := context.WithTimeout(ctx, sendWait)
	defer stop()
	now, err := s.opts.Posts.Await(waiting, key)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case now.Over && now.State != delivery.Done:
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "Error: " + now.Text,
			Details: notSent{now.Code, now.Mend, cmp.Or(now.ThreadID, now.ChannelID), now.MessageIDs}}
	}
	a := sendAnswer{RunID: key, Channel: discordChannel, ChannelID: cmp.Or(now.ThreadID, now.ChannelID), MessageIDs: now.MessageIDs, Status: "pending"}
	if now.Over {
		a.Status = "sent"
	}
	if n := len(now.MessageIDs); now.Over && n > 0 {
		a.MessageID = now.MessageIDs[n-1]
	}
	return a, nil
}

// notSent says in an error why something does not stand in Discord.
type notSent struct {
	Code       string   `json:"code"`
	Mend       string   `json:"mend,omitempty"`
	ChannelID  string   `json:"channelId,omitempty"`
	MessageIDs []string `json:"messageIds,omitempty"` // the parts that do stand there
}

// postOf makes of a request what is posted.
func (s *Server) postOf(call *wire.Call, p *postParams) (Post, error) {
	c := s.opts.Configuration.InForce()
	media := coordination.TrimJS(p.MediaURL + strings.Join(p.MediaURLs, ""))
	if coordination.TrimJS(p.Message) == "" && media == "" {
		return Post{}, invalidRequest("invalid send params: text or media is required", fault{Field: "message", Mend: "give a message"})
	}
	if p.Channel != nil && channelNamed(*p.Channel) == webchat {
		return Post{}, invalidRequest("unsupported channel: webchat (internal-only). Use chat.send for who looks at a session, or a channel that delivers",
			fault{Field: "channel", Value: *p.Channel})
	}
	if err := s.channelOf(c, "unsupported channel: ", p.Channel); err != nil {
		return Post{}, err
	}
	for _, f := range [...]struct {
		field string
		given bool
	}{{"mediaUrl", coordination.TrimJS(p.MediaURL) != ""}, {"mediaUrls", media != ""}, {"gifPlayback", p.Gif}, {"buffer", p.Buffer != ""},
		{"filename", p.Filename != ""}, {"contentType", p.ContentType != ""}, {"asVoice", p.Voice}, {"forceDocument", p.Document},
		{"silent", p.Silent}, {"parseMode", p.ParseMode != ""}} {
		if f.given {
			return Post{}, invalidRequest("send: "+f.field+" is not heeded here", fault{Code: "not_kept", Field: f.field,
				Mend: "leave it out: only text is posted, and Discord shows the links in it"})
		}
	}
	switch {
	case len(p.Key) > run.MaxRunID:
		return Post{}, invalidRequest("invalid send params: idempotencyKey is too long", fault{Field: "idempotencyKey",
			Value: strconv.Itoa(len(p.Key)) + " bytes", Mend: "give at most " + strconv.Itoa(run.MaxRunID) + " bytes"})
	case strings.Contains(p.Message+p.Key, "\x00"):
		return Post{}, nulInMessage()
	case len(p.Message) > maxInjected:
		return Post{}, invalidRequest("message too large", fault{Field: "message", Value: strconv.Itoa(len(p.Message)) + " bytes",
			Mend: "shorten it to " + strconv.Itoa(maxInjected) + " bytes"})
	}
	to, err := placeMeant(call.Method, "to", p.To)
	if err != nil {
		return Post{}, err
	}
	post := Post{Key: p.Key, AccountID: coordination.TrimJS(p.AccountID), To: to, ThreadID: coordination.TrimJS(p.ThreadID),
		ReplyTo: coordination.TrimJS(p.ReplyTo), Text: coordination.TrimJS(p.Message)}
	return post, s.inNameOf(c, call.Method, p, &post)
}

// inNameOf notes of which agent, and for which session, something is posted. Who names neither has the account speak.
func (s *Server) inNameOf(c *config.Config, method string, p *postParams, post *Post) error {
	if coordination.TrimJS(p.AgentID+p.SessionKey) == "" {
		return nil
	}
	agent, err := agentMeant(c, method, p.AgentID, p.SessionKey)
	if err == nil {
		err = ofParams(method, mayHaveSessions(c, "agentId", agent))
	}
	if err != nil {
		return err
	}
	post.AgentID = agent
	if coordination.TrimJS(p.SessionKey) == "" {
		return nil
	}
	key, err := sessionKeyOf(c, "sessionKey", p.SessionKey)
	post.SessionKey = key.String()
	return ofParams(method, err)
}

// channelOf says why nothing goes out through a channel, or through the only one where none is named.
func (s *Server) channelOf(c *config.Config, unsupported string, channel *string) error {
	switch named := channel != nil && *channel != ""; {
	case named && channelNamed(*channel) != discordChannel:
		return invalidRequest(unsupported+*channel, fault{Field: "channel", Value: *channel, Known: []string{discordChannel}})
	case !isConfigured(s.discordAccounts(c)):
		return notHere("no_channel", "no channel is configured: give channels.discord an account with a token")
	case s.opts.Posts == nil:
		return notHere("channel_not_connected", "discord is configured, and this gateway does not connect to it: no agents run here")
	}
	return nil
}

// placeName is how clients call a channel or thread of Discord: by its number, with or without channel:, or as it is mentioned.
var placeName = regexp.MustCompile(`^(?i:(?:discord:)?channel:)?(?:<#([0-9]{1,20})>|([0-9]{1,20}))$`)

// placeMeant is a place as runs have it: channel:<id>.
func placeMeant(method, field, value string) (string, error) {
	value = coordination.TrimJS(value)
	if m := placeName.FindStringSubmatch(value); m != nil {
		return "channel:" + m[1] + m[2], nil
	}
	why := fault{Field: field, Value: echo(value), Mend: "give channel:<id>, the number by which Discord knows a channel or thread"}
	for _, person := range [...]string{"user:", "discord:", "<@", "@", "dm:"} {
		if strings.HasPrefix(strings.ToLower(value), person) {
			why.Code = "direct_messages_not_supported"
			why.Mend = "openclawd begins no direct messages: give channel:<id>; of a conversation that is there already, its own id"
		}
	}
	return "", invalidRequest("invalid "+method+" params: "+field+": no channel of Discord: "+why.Value, why)
}

// postRefusalOf tells a client why something is not posted.
func postRefusalOf(method string, err error) error {
	refused, ok := errors.AsType[*delivery.Refusal](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return refusalOf(err)
	}
	field := refused.Field
	switch field { // as clients call it
	case "channelId":
		field = "to"
	case "replyTo":
		field = "replyToId"
	}
	return invalidRequest("invalid "+method+" params: "+field+": "+refused.Mend,
		fault{Code: refused.Code(), Field: field, Value: echo(refused.Value), Mend: refused.Mend})
}
