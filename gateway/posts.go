package gateway

import (
	"cmp"
	"context"
	"errors"
	"slices"
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

// Posts sends messages through channels. A gateway without it answers that no channel is available.
type Posts interface {
	// Check reports whether something can be posted, as far as possible without asking the service. Text and Key are
	// ignored. The error is a *delivery.Refusal.
	Check(p delivery.Post) error
	// Converse returns where the bot that would post talks to a person, as Post.To; the conversation is opened if there is none. The error is
	// a *delivery.Refusal, or a *tool.Error.
	Converse(ctx context.Context, p delivery.Post, user string) (to string, err error)
	// Send queues a post, once per key. It is on disk when Send returns. The error is a *delivery.Refusal, or the
	// log's.
	Send(ctx context.Context, p delivery.Post) error
	// Sent returns the state of the post queued with a key; found is false for an unknown key.
	Sent(ctx context.Context, key string) (s delivery.Sent, found bool, err error)
	// Await returns the post's state once it is final, or its current state with ctx's error.
	Await(ctx context.Context, key string) (delivery.Sent, error)
}

// sendWait is how long to wait for a post: clients give up after 10 s.
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

	// Protocol 4.
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

type sendAnswer struct {
	RunID      string   `json:"runId"`
	MessageID  string   `json:"messageId,omitempty"` // the last one, as the original does
	Channel    string   `json:"channel"`
	ChannelID  string   `json:"channelId,omitempty"` // for a thread, its own id
	MessageIDs []string `json:"messageIds,omitempty"`
	Status     string   `json:"status"` // sent, or pending: still being sent; repeat the request with the same key for the result
}

// send answers send when the text is posted or has failed; after sendWait it answers that the post is pending. A
// repeated key, even after a restart, gets the same answer and posts nothing.
func (s *Server) send(ctx context.Context, call *wire.Call) (any, error) {
	p, err := paramsOf[postParams](call)
	if err != nil {
		return nil, err
	}
	waiting, stop := context.WithTimeout(ctx, sendWait)
	defer stop()
	if posts := s.opts.Posts; posts != nil && len(p.Key) <= run.MaxRunID {
		switch _, again, err := posts.Sent(ctx, p.Key); {
		case err != nil:
			return nil, err
		case again:
			return s.sent(ctx, waiting, p.Key)
		}
	}
	post, media, err := s.postOf(ctx, call, &p)
	if err == nil {
		err = s.fetchMedia(ctx, call.Method, &post, media)
	}
	if err != nil {
		return nil, err
	}
	if err := s.opts.Posts.Send(ctx, post); err != nil {
		return nil, postRefusalOf(call.Method, err)
	}
	return s.sent(ctx, waiting, p.Key)
}

// sent waits for a post as long as waiting lasts, which ends with ctx at the latest.
func (s *Server) sent(ctx, waiting context.Context, key string) (any, error) {
	now, err := s.opts.Posts.Await(waiting, key)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && !errors.Is(err, context.DeadlineExceeded):
		return nil, err
	case now.Over && now.State != delivery.Done:
		return nil, &protocol.Error{Code: protocol.CodeUnavailable, Message: "Error: " + now.Text,
			Details: notSent{now.Code, now.Hint, cmp.Or(now.ThreadID, now.ChannelID), now.MessageIDs}}
	}
	a := sendAnswer{RunID: key, Channel: cmp.Or(now.Channel, coordination.Discord), ChannelID: cmp.Or(now.ThreadID, now.ChannelID), MessageIDs: now.MessageIDs, Status: "pending"}
	if now.Over {
		a.Status = "sent"
	}
	if n := len(now.MessageIDs); now.Over && n > 0 {
		a.MessageID = now.MessageIDs[n-1]
	}
	return a, nil
}

type notSent struct {
	Code       string   `json:"code"`
	Hint       string   `json:"hint,omitempty"`
	ChannelID  string   `json:"channelId,omitempty"`
	MessageIDs []string `json:"messageIds,omitempty"` // the parts that were posted
}

// postOf is the post that is asked for, without the files that media names.
func (s *Server) postOf(ctx context.Context, call *wire.Call, p *postParams) (post delivery.Post, media []source, err error) {
	c := s.opts.Configuration.InForce()
	text, media := p.media()
	if text == "" && len(media) == 0 {
		return post, nil, invalidRequest("invalid send params: text or media is required", fault{Field: "message", Hint: "give a message"})
	}
	if p.Channel != nil && channelNamed(*p.Channel) == webchat {
		return post, nil, invalidRequest("unsupported channel: webchat (internal-only). Use chat.send for clients that show a session, or a channel that delivers",
			fault{Field: "channel", Value: *p.Channel})
	}
	channel, err := s.channelOf(c, "unsupported channel: ", p.Channel, p.To)
	if err != nil {
		return post, nil, err
	}
	for _, f := range [...]struct {
		field string
		given bool
	}{{"gifPlayback", p.Gif}, {"buffer", p.Buffer != ""},
		{"filename", p.Filename != ""}, {"contentType", p.ContentType != ""}, {"asVoice", p.Voice}, {"forceDocument", p.Document},
		{"silent", p.Silent}, {"parseMode", p.ParseMode != ""}} {
		if f.given {
			return post, nil, invalidRequest("send: "+f.field+" is not supported", fault{Code: "not_kept", Field: f.field,
				Hint: "leave it out; mediaUrl names a file to post"})
		}
	}
	switch {
	case len(p.Key) > run.MaxRunID:
		return post, nil, invalidRequest("invalid send params: idempotencyKey is too long", fault{Field: "idempotencyKey",
			Value: strconv.Itoa(len(p.Key)) + " bytes", Hint: "give at most " + strconv.Itoa(run.MaxRunID) + " bytes"})
	case strings.Contains(p.Message+p.Key, "\x00"):
		return post, nil, nulInMessage()
	case len(p.Message) > maxInjected:
		return post, nil, invalidRequest("message too large", fault{Field: "message", Value: strconv.Itoa(len(p.Message)) + " bytes",
			Hint: "shorten it to " + strconv.Itoa(maxInjected) + " bytes"})
	}
	at, err := placeMeant(channel, call.Method, "to", p.To, p.ThreadID)
	if err != nil {
		return post, nil, err
	}
	post = delivery.Post{Channel: channel.Name, Key: p.Key, AccountID: coordination.TrimJS(p.AccountID), Text: text}
	if err := checkMedia(call.Method, media); err != nil {
		return post, nil, err
	}
	if err := s.inNameOf(c, call.Method, p, &post); err != nil {
		return post, nil, err
	}
	at, err = s.meets(ctx, channel, call.Method, "to", &post, at, p.ThreadID)
	post.To, post.ThreadID, post.ReplyTo = at.to, at.thread, messageNamed(channel, at.to, coordination.TrimJS(p.ReplyTo))
	return post, media, err
}

// inNameOf sets the agent and session of a post. Without either, the account itself speaks.
func (s *Server) inNameOf(c *config.Config, method string, p *postParams, post *delivery.Post) error {
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

// channelOf returns the channel that is meant, of those that can deliver: the one named, else that of the place, else the
// only one with a token.
func (s *Server) channelOf(c *config.Config, unsupported string, named *string, place string) (*coordination.Channel, error) {
	name := ""
	if named != nil {
		name = channelNamed(*named)
	}
	if _, known := coordination.ChannelNamed(name); !known {
		return nil, invalidRequest(unsupported+*named, fault{Field: "channel", Value: *named, Known: channelNames()})
	}
	configured := s.configuredChannels(c)
	if name == "" {
		name = channelOfPlace(place)
	}
	switch {
	case len(configured) == 0:
		return nil, notHere("no_channel", "no channel is configured: add an account with a token to channels.discord, channels.telegram or channels.slack")
	case name == "" && len(configured) == 1:
		name = configured[0]
	case name == "":
		return nil, invalidRequest("Channel is required when multiple channels are configured: "+strings.Join(configured, ", "),
			fault{Code: "channel_required", Field: "channel", Known: configured, Hint: "name the channel"})
	case !slices.Contains(configured, name):
		return nil, notHere("no_channel", name+" is not configured: add an account with a token to channels."+name)
	}
	if s.opts.Posts == nil {
		return nil, notHere("channel_not_connected", name+" is configured, but this gateway does not connect to it: no agents run here")
	}
	channel, _ := coordination.ChannelNamed(name)
	return &channel, nil
}

func postRefusalOf(method string, err error) error {
	refused, ok := errors.AsType[*delivery.Refusal](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return refusalOf(err)
	}
	field := refused.Field
	switch field { // in the client's form
	case "channelId":
		field = "to"
	case "replyTo":
		field = "replyToId"
	}
	return invalidRequest("invalid "+method+" params: "+field+": "+refused.HintText,
		fault{Code: refused.Code(), Field: field, Value: echo(refused.Value), Hint: refused.HintText})
}
