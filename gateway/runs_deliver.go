package gateway

import (
	"cmp"
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// outlet is where the answer of a run goes besides to who looks at its session, or, without deliver, where its message came from.
type outlet struct {
	deliver bool
	channel string // "" for nowhere

	to, account, thread string
}

// lastChannel stands for where a session was spoken to last.
const lastChannel = "last"

// deliveryOf says where the answer to a request goes. One that can go nowhere is refused, unless bestEffortDeliver says that the session is enough
// then. The zero key is of a request that names no session.
func (s *Server) deliveryOf(ctx context.Context, c *config.Config, key coordination.SessionKey, p *agentParams) (outlet, error) {
	named, err := p.channelNamed()
	from := outlet{to: p.To, account: p.AccountID, thread: p.ThreadID}
	if named == discordChannel {
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

// channelNamed is the channel that a request names: replyChannel before channel, "" for none or the last one.
func (p *agentParams) channelNamed() (named string, err error) {
	for _, one := range [...]struct{ field, name string }{{"channel", p.Channel}, {"replyChannel", p.ReplyChannel}} {
		switch name := channelNamed(one.name); name {
		case "":
		case lastChannel:
			named = ""
		case discordChannel, webchat:
			named = name
		default:
			return "", invalidRequest("invalid agent params: unknown channel: "+one.name, fault{Field: one.field, Value: one.name})
		}
	}
	return named, nil
}

func (s *Server) outletOf(ctx context.Context, c *config.Config, key coordination.SessionKey, p *agentParams, named string) (outlet, error) {
	const method = "agent"
	out := outlet{deliver: true, channel: discordChannel, to: coordination.TrimJS(cmp.Or(p.ReplyTo, p.To)),
		account: coordination.TrimJS(cmp.Or(p.ReplyAccount, p.AccountID)), thread: coordination.TrimJS(p.ThreadID)}
	if named != "" {
		if err := s.channelOf(c, "unsupported channel: ", &named); err != nil {
			return out, err
		}
	}
	if out.to == "" {
		one, err := s.sessionByKey(ctx, key)
		switch {
		case err != nil:
			return out, err
		case one != nil && one.LastChannel == discordChannel && one.LastTo != "":
			out.to, out.account, out.thread = one.LastTo, cmp.Or(out.account, one.LastAccount), cmp.Or(out.thread, one.LastThread)
		case named != "":
			return out, invalidRequest("invalid agent params: to: nobody has spoken to this session in "+named+", so that where the answer goes has to be said",
				fault{Code: "no_target", Field: "to", Mend: "give to: channel:<id>"})
		default:
			return out, invalidRequest("delivery channel is required: pass --channel/--reply-channel or use a main session with a previous channel",
				fault{Code: "no_target", Field: "channel", Known: []string{discordChannel},
					Mend: "give channel and to, leave deliver out, or set bestEffortDeliver: the session has the answer then"})
		}
	}
	if err := s.channelOf(c, "unsupported channel: ", nil); err != nil {
		return out, err
	}
	field := "to"
	if coordination.TrimJS(p.ReplyTo) != "" {
		field = "replyTo"
	}
	to, err := placeMeant(method, field, out.to)
	if err != nil {
		return out, err
	}
	out.to = to
	return out, postRefusalOf(method, s.opts.Posts.Check(Post{AgentID: agentOf(c, key), AccountID: out.account, To: out.to, ThreadID: out.thread}))
}
