package gateway

import (
	"cmp"
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// outlet is where a run's answer is delivered besides the session, or, without deliver, where its message came from.
type outlet struct {
	deliver bool
	channel string // "" for none

	to, account, thread string
}

// lastChannel stands for the channel a session last received a message from.
const lastChannel = "last"

// deliveryOf returns where the answer to a request is delivered. An impossible delivery is refused unless
// bestEffortDeliver is set. The zero key belongs to a request without a session.
func (s *Server) deliveryOf(ctx context.Context, c *config.Config, key coordination.SessionKey, p *agentParams) (outlet, error) {
	named, err := p.channelNamed()
	from := outlet{to: p.To, account: p.AccountID, thread: p.ThreadID}
	if named != webchat {
		from.channel = named
	}
	if err != nil || !p.Deliver || named == webchat || key == (coordination.SessionKey{}) {
		return from, err
	}
	out, err := s.outletOf(ctx, c, key, p, named)
	if _, refused := errors.AsType[*protocol.Error](err); refused && p.BestEffort {
		return from, nil
	}
	return out, err
}

// channelNamed returns the channel a request names: replyChannel before channel; "" for none or the last one.
func (p *agentParams) channelNamed() (named string, err error) {
	for _, one := range [...]struct{ field, name string }{{"channel", p.Channel}, {"replyChannel", p.ReplyChannel}} {
		name := channelNamed(one.name)
		_, known := coordination.ChannelNamed(name)
		switch {
		case name == "":
		case name == lastChannel:
			named = ""
		case known, name == webchat:
			named = name
		default:
			return "", invalidRequest("invalid agent params: unknown channel: "+one.name, fault{Field: one.field, Value: one.name})
		}
	}
	return named, nil
}

func (s *Server) outletOf(ctx context.Context, c *config.Config, key coordination.SessionKey, p *agentParams, named string) (outlet, error) {
	const method = "agent"
	out := outlet{deliver: true, to: coordination.TrimJS(cmp.Or(p.ReplyTo, p.To)),
		account: coordination.TrimJS(cmp.Or(p.ReplyAccount, p.AccountID)), thread: coordination.TrimJS(p.ThreadID)}
	if named != "" {
		if _, err := s.channelOf(c, "unsupported channel: ", &named, ""); err != nil {
			return out, err
		}
	}
	if out.to == "" {
		one, err := s.sessionByKey(ctx, key)
		switch {
		case err != nil:
			return out, err
		case one != nil && isChannel(one.LastChannel) && (named == "" || named == one.LastChannel) && one.LastTo != "":
			named, out.to, out.account, out.thread = one.LastChannel, one.LastTo, cmp.Or(out.account, one.LastAccount), cmp.Or(out.thread, one.LastThread)
		case named != "":
			return out, invalidRequest("invalid agent params: to: no one has written to this session in "+named+", so the destination of the answer has to be given",
				fault{Code: "no_target", Field: "to", Hint: "give to: the place"})
		default:
			return out, invalidRequest("delivery channel is required: pass --channel/--reply-channel or use a main session with a previous channel",
				fault{Code: "no_target", Field: "channel", Known: channelNames(),
					Hint: "give channel and to, leave deliver out, or set bestEffortDeliver to keep the answer in the session only"})
		}
	}
	channel, err := s.channelOf(c, "unsupported channel: ", &named, out.to)
	if err != nil {
		return out, err
	}
	field := "to"
	if coordination.TrimJS(p.ReplyTo) != "" {
		field = "replyTo"
	}
	at, err := placeMeant(channel, method, field, out.to, out.thread)
	if err != nil {
		return out, err
	}
	post := delivery.Post{Channel: channel.Name, AgentID: agentOf(c, key), AccountID: out.account}
	if at, err = s.meets(ctx, channel, method, field, &post, at, out.thread); err != nil {
		return out, err
	}
	post.To, post.ThreadID = at.to, at.thread
	out.channel, out.to, out.thread = channel.Name, at.to, at.thread
	return out, postRefusalOf(method, s.opts.Posts.Check(post))
}
