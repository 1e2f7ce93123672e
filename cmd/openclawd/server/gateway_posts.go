package server

import (
	"cmp"
	"context"

	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/outbound"
	"github.com/pronto-lab/openclawd/gateway"
)

// gatewayPosts gives what posts in Discord the shape that the gateway needs.
type gatewayPosts struct{ discord *discordSide }

// Check implements gateway.Posts.
func (g gatewayPosts) Check(p gateway.Post) error { return g.discord.sends.Check(outbound.Sending(p)) }

// Send implements gateway.Posts.
func (g gatewayPosts) Send(ctx context.Context, p gateway.Post) error {
	return g.discord.sends.Send(ctx, outbound.Sending(p))
}

// Sent implements gateway.Posts.
func (g gatewayPosts) Sent(ctx context.Context, key string) (gateway.Sent, bool, error) {
	s, found, err := g.discord.sends.Sent(ctx, key)
	return gateway.Sent(s), found, err
}

// Await implements gateway.Posts.
func (g gatewayPosts) Await(ctx context.Context, key string) (gateway.Sent, error) {
	s, err := g.discord.sends.Await(ctx, key)
	return gateway.Sent(s), err
}

// Bots implements gateway.Posts.
func (g gatewayPosts) Bots() (list []gateway.Bot) {
	for _, s := range g.discord.bots.Status() {
		b := gateway.Bot{AccountID: s.AccountID, UserID: s.UserID, Name: s.UserName, Running: s.State != discord.StateOff,
			Connected: s.State == discord.StateReady, Since: s.Since}
		wrong, mend := cmp.Or(s.Text, s.Missing), s.Mend
		if s.Text == "" {
			mend = s.MissingMend
		}
		if b.Error = wrong; wrong != "" && mend != "" {
			b.Error += "; " + mend
		}
		list = append(list, b)
	}
	return list
}
