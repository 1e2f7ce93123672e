// Package command answers what people ask for in Discord without writing a message: the slash commands /new, /reset and /status, and the buttons
// below what openclawd has posted.
package command

import (
	"context"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord"
)

// Sessions is what people may do about the session in which they speak with an agent.
type Sessions interface {
	// Reset starts the session over; how is new or reset.
	Reset(ctx context.Context, key coordination.SessionKey, how, by string) error
	// Status says in a few lines how the session and its agent stand.
	Status(ctx context.Context, key coordination.SessionKey) (string, error)
}

// Office is where people decide what waits for them. text says what was decided, or why it was not.
type Office interface {
	Approve(ctx context.Context, id, person string) (text string, err error)
	Reject(ctx context.Context, id, person, reason string) (text string, err error)
}

// Bots is what a Desk needs of Discord.
type Bots interface {
	Answer(ctx context.Context, i discord.Interaction, a discord.InteractionAnswer) error
	Registry() *discord.Registry
}

// Options of New. All are required.
type Options struct {
	Bots     Bots
	Sessions Sessions
	Office   Office
	Config   func() *config.Config
	Now      func() time.Time
	Logger   *slog.Logger
}

// Desk answers interactions.
type Desk struct{ o Options }

// New makes a Desk.
func New(o Options) *Desk { return &Desk{o} }

// Take answers one interaction, and returns when it is answered: Discord waits three seconds for the first word.
func (d *Desk) Take(ctx context.Context, i discord.Interaction) { panic("stub") }

// Commands are the slash commands that each bot has.
func Commands() []discord.Command { panic("stub") }

// Buttons are the two below what waits for somebody to agree: an array of components, as Discord has it.
func Buttons(approvalID string) []byte { panic("stub") }
