package server

import (
	"context"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/telegram"
)

// openTelegramBots creates the bots of Telegram, which connect when the program runs.
func (p *Program) openTelegramBots(ctx context.Context, a *agents) error {
	side, o, err := p.newChannelSide(ctx, coordination.Telegram)
	if err != nil {
		return err
	}
	if p.opts.TelegramAPI != "" {
		if o.Transport, err = telegram.Redirect(p.opts.TelegramAPI); err != nil {
			return &config.SettingError{Setting: "--telegram-api", Value: p.opts.TelegramAPI, Err: err, HintText: "name a server such as http://127.0.0.1:8081"}
		}
	}
	p.connect(side, telegram.New(o))
	a.telegram = side
	return nil
}
