// Package command answers interactions: the slash commands /new, /reset and /status, and the buttons below posts of
// openclawd. It checks permissions; Sessions and Approvals carry out the actions.
package command

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
)

// Sessions are the session actions available to people.
type Sessions interface {
	// Reset starts the session over; how is new or reset.
	Reset(ctx context.Context, key coordination.SessionKey, how, by string) error
	// Status describes the session and its agent in a few lines.
	Status(ctx context.Context, key coordination.SessionKey) (string, error)
}

// Approvals decides approvals. text says what was decided. With an error, nothing was; text then explains it to people:
// who decided before and how, or what is wrong. It is "" for an internal error.
type Approvals interface {
	Approve(ctx context.Context, id, person string) (text string, err error)
	ApproveAlways(ctx context.Context, id, person string) (text string, err error) // of calls of tools
	Reject(ctx context.Context, id, person, reason string) (text string, err error)
}

// Bots is the part of a channel that a Handler needs.
type Bots interface {
	channel.Answerer
	Name() string
	Registry() *channel.Registry
}

// DefaultPatience is when a running action is acknowledged: Discord waits three seconds for the first answer.
const DefaultPatience = 2 * time.Second

// Options of New. All are required but Paired and Patience.
type Options struct {
	Bots      Bots
	Sessions  Sessions
	Approvals Approvals
	Config    func() *config.Config // configuration in force
	// Paired reports whether an operator allowed a user to write direct messages; default: no one.
	Paired   func(ctx context.Context, userID string) bool
	Now      func() time.Time
	Logger   *slog.Logger
	Patience time.Duration // default: DefaultPatience
}

// Handler answers interactions.
type Handler struct{ o Options }

// New returns a Handler.
func New(o Options) *Handler {
	if o.Patience <= 0 {
		o.Patience = DefaultPatience
	}
	if o.Paired == nil {
		o.Paired = func(context.Context, string) bool { return false }
	}
	return &Handler{o}
}

// Names of slash commands.
const (
	commandNew    = "new"
	commandReset  = "reset"
	commandStatus = "status"
)

// Commands returns each bot's slash commands, described in a language.
func Commands(in coordination.Language) []channel.Command {
	return []channel.Command{
		{Name: commandNew, Description: in.Say("이 에이전트와 여기서 새 세션을 시작합니다", "Start a new session with this agent here")},
		{Name: commandReset, Description: in.Say("이 에이전트와의 세션을 처음부터 다시 시작합니다", "Start the session with this agent here over")},
		{Name: commandStatus, Description: in.Say("이 에이전트와 여기 세션의 상태를 알려 줍니다", "Show the state of this agent and its session here")},
	}
}

// Handle handles one interaction, and returns when it is answered. Its actions end with ctx.
func (d *Handler) Handle(ctx context.Context, i channel.Interaction) {
	c := d.o.Config()
	switch i.Kind {
	case channel.KindCommand:
		d.command(ctx, c, i)
	case channel.KindButton:
		d.button(ctx, c, i)
	case channel.KindForm:
		d.form(ctx, c, i)
	}
}

func (d *Handler) command(ctx context.Context, c *config.Config, i channel.Interaction) {
	if why := d.maySpeak(ctx, c, &i); why != "" {
		d.refuse(ctx, i, why)
		return
	}
	agent := d.agentOf(c, &i)
	key := channel.SessionOf(c, agent, i.Where())
	switch i.Name {
	case commandNew, commandReset:
		if why := d.mayReset(c, &i, key); why != "" {
			d.refuse(ctx, i, why)
			return
		}
		d.perform(ctx, i, func(ctx context.Context) outcome {
			if err := d.o.Sessions.Reset(ctx, key, i.Name, d.personOf(&i)); err != nil {
				return d.failed(i, err, "")
			}
			return outcome{text: fmt.Sprintf(c.Language().Say("여기서 %s 새 세션을 시작합니다.", "The session with %s starts over here."),
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
		d.refuse(ctx, i, fmt.Sprintf(c.Language().Say("/%s 명령은 없습니다. /new, /reset, /status를 쓸 수 있습니다.", "Unknown command /%s. Available are /new, /reset and /status."),
			coordination.Head(i.Name, maxShown)))
	}
}
