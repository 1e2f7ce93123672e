package server

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/outbound"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// allSends queues the posts of gateway clients, each in the channel that it names. A key is used once, whatever the
// channel.
type allSends struct{ sides func() []*channelSide }

// in returns what queues posts in a channel; "" is Discord.
func (a allSends) in(channel string) (*outbound.Sends, error) {
	named, known := coordination.ChannelNamed(channel)
	for _, side := range a.sides() {
		if known && side.name == named.Name {
			return side.sends, nil
		}
	}
	return nil, &delivery.Refusal{Field: "channel", Value: channel, HintText: "name a channel: discord, telegram or slack"}
}

// Check implements gateway.Posts.
func (a allSends) Check(p delivery.Post) error {
	sends, err := a.in(p.Channel)
	if err != nil {
		return err
	}
	return sends.Check(p)
}

// Converse implements gateway.Posts.
func (a allSends) Converse(ctx context.Context, p delivery.Post, user string) (to string, err error) {
	sends, err := a.in(p.Channel)
	if err != nil {
		return "", err
	}
	to, err = sends.Converse(ctx, &p, user)
	failed, is := errors.AsType[*channel.Error](err)
	switch {
	case !is:
		return to, err
	case slices.Contains([]collaborate.Class{collaborate.ClassRejected, collaborate.ClassNotFound, collaborate.ClassForbidden}, failed.Class):
		return "", &delivery.Refusal{Field: "channelId", Value: user, HintText: cmp.Or(failed.Hint, "name a person whom the bot may write to: "+failed.Error())}
	}
	return "", &tool.Error{Code: tool.CodeUnavailable, Text: failed.Error(), Hint: cmp.Or(failed.Hint, "send it again with the same key")}
}

// Send implements gateway.Posts.
func (a allSends) Send(ctx context.Context, p delivery.Post) error {
	sends, err := a.in(p.Channel)
	if err != nil {
		return err
	}
	return sends.Send(ctx, p)
}

// Sent implements gateway.Posts. The state is read from the log, where the post names its channel.
func (a allSends) Sent(ctx context.Context, key string) (delivery.Sent, bool, error) {
	return a.sides()[0].sends.Sent(ctx, key)
}

// Await implements gateway.Posts, as Sent.
func (a allSends) Await(ctx context.Context, key string) (delivery.Sent, error) {
	return a.sides()[0].sends.Await(ctx, key)
}
