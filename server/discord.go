package server

import (
	"context"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord"
)

// openDiscordBots creates the bots of Discord, which connect when the program runs.
func (p *Program) openDiscordBots(ctx context.Context, a *agents) error {
	side, o, err := p.newChannelSide(ctx, coordination.Discord)
	if err != nil {
		return err
	}
	if p.opts.DiscordAPI != "" {
		if o.Transport, err = discord.Redirect(p.opts.DiscordAPI); err != nil {
			return &config.SettingError{Setting: "--discord-api", Value: p.opts.DiscordAPI, Err: err, HintText: "name a server such as http://127.0.0.1:8080"}
		}
	}
	p.connect(side, discord.New(o))
	a.discord = side
	return nil
}
