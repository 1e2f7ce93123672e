package outbound

import (
	"context"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Channel is the name of the channel of runs whose answers go to Discord.
const Channel = "discord"

// Replies makes deliveries of the ends of runs that were asked for with Deliver and Channel: what the run has said, or, where a person has asked
// and it has failed, a notice that says so.
type Replies struct {
	Accounts func() *discord.Registry // whose bots there are
	Config   func() *config.Config    // in force
}

// Then says what is appended with the end of a run.
func (r *Replies) Then(tx eventstore.Tx, asked *coordination.RunQueued, result *run.Result, now time.Time) ([]eventstore.StreamAppend, error) {
	panic("stub")
}

// Announcements posts what flows between agents announce: it is the Channels of tools/a2a, by shape.
type Announcements struct {
	Bots     Bots
	Accounts func() *discord.Registry
}

// Reaches reports whether something can be posted in a channel.
func (a *Announcements) Reaches(channel string) bool { panic("stub") }

// Post posts a text, in pieces if it is long; the key is the same for each attempt at the same post.
func (a *Announcements) Post(ctx context.Context, key, agent, to, accountID, threadID, text string) error {
	panic("stub")
}

// Typing shows that agents type while their runs for Discord go on.
type Typing struct {
	Bots interface {
		Typing(ctx context.Context, account, channel string) error
	}
	AfterFunc func(time.Duration, func()) discord.Timer
	Logger    *slog.Logger
}

// Tell is told of runs as they go, and must not wait. asked gives what was asked for.
func (t *Typing) Tell(u run.Update) { panic("stub") }

// Close ends all typing.
func (t *Typing) Close() { panic("stub") }
