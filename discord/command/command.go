// Package command answers what people ask for in Discord without writing a message: the slash commands /new, /reset and /status, and the buttons
// below what openclawd has posted. It decides who may; what they ask for is done by Sessions and Office.
package command

import (
	"context"
	"fmt"
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

// Office is where people decide what waits for them. text says what was decided. With an error nothing was; text says then why, for people: that it
// was decided before, by whom and how, or what is wrong. It is "" where they cannot mend it.
type Office interface {
	Approve(ctx context.Context, id, person string) (text string, err error)
	Reject(ctx context.Context, id, person, reason string) (text string, err error)
}

// Bots is what a Desk needs of Discord.
type Bots interface {
	Answer(ctx context.Context, i discord.Interaction, a discord.InteractionAnswer) error
	Amend(ctx context.Context, i discord.Interaction, a discord.InteractionAnswer) error
	Add(ctx context.Context, i discord.Interaction, a discord.InteractionAnswer) error
	Registry() *discord.Registry
}

// DefaultPatience is after what time of work it is said that it goes on: Discord waits three seconds for the first word.
const DefaultPatience = 2 * time.Second

// Options of New. All are required but Patience.
type Options struct {
	Bots     Bots
	Sessions Sessions
	Office   Office
	Config   func() *config.Config // in force
	Now      func() time.Time
	Logger   *slog.Logger
	Patience time.Duration // default: DefaultPatience
}

// Desk answers interactions.
type Desk struct{ o Options }

// New makes a Desk.
func New(o Options) *Desk {
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	return &Desk{o}
}

// Names of slash commands.
const (
	commandNew    = "new"
	commandReset  = "reset"
	commandStatus = "status"
)

// Commands are the slash commands that each bot has, described in a language.
func Commands(in coordination.Language) []discord.Command {
	return []discord.Command{
		{Name: commandNew, Description: in.Say("이 에이전트와 여기서 새 세션을 시작합니다", "Begin a new session with this agent here")},
		{Name: commandReset, Description: in.Say("이 에이전트와의 세션을 처음부터 다시 시작합니다", "Start the session with this agent here over")},
		{Name: commandStatus, Description: in.Say("이 에이전트와 여기 세션의 상태를 알려 줍니다", "Say how this agent and its session here stand")},
	}
}

// Take answers one interaction, and returns when it is answered. What it does ends with ctx.
func (d *Desk) Take(ctx context.Context, i discord.Interaction) {
	c := d.o.Config()
	switch i.Kind {
	case discord.KindCommand:
		d.command(ctx, c, i)
	case discord.KindButton:
		d.button(ctx, c, i)
	case discord.KindForm:
		d.form(ctx, c, i)
	}
}

// command does what is written behind a slash.
func (d *Desk) command(ctx context.Context, c *config.Config, i discord.Interaction) {
	if why := maySpeak(c, &i); why != "" {
		d.refuse(ctx, i, why)
		return
	}
	agent := agentOf(c, d.o.Bots.Registry(), &i)
	key := discord.SessionOf(c, agent, i.Where())
	switch i.Name {
	case commandNew, commandReset:
		if why := mayReset(c, &i, key); why != "" {
			d.refuse(ctx, i, why)
			return
		}
		d.perform(ctx, i, func(ctx context.Context) outcome {
			if err := d.o.Sessions.Reset(ctx, key, i.Name, personOf(&i)); err != nil {
				return d.failed(i, err, "")
			}
			return outcome{text: fmt.Sprintf(c.Language().Say("여기서 %s 새 세션을 시작합니다.", "The session with %s starts again here."),
				c.Language().Say(coordination.AndName(agent), agent))}
		})
	case commandStatus:
		d.perform(ctx, i, func(ctx context.Context) outcome {
			text, err := d.o.Sessions.Status(ctx, key)
			if err != nil {
				return d.failed(i, err, "")
			}
			return outcome{text: text}
		})
	default:
		d.refuse(ctx, i, fmt.Sprintf(c.Language().Say("/%s 명령은 없습니다. /new, /reset, /status를 쓸 수 있습니다.", "I know no command /%s. There are /new, /reset and /status."),
			coordination.Head(i.Name, maxShown)))
	}
}
