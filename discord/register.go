package discord

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

type commandShape struct {
	Type        int               `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description"`
	Options     []json.RawMessage `json:"options,omitempty"`
}

// register registers the bot's commands once the bot is ready. Temporary failures are retried.
func (b *bot) register() {
	if len(b.bots.o.Commands) == 0 {
		return
	}
	var application string
	select {
	case application = <-b.application:
	case <-b.ctx.Done():
		return
	}
	o := b.bots.o
	for failures := 1; ; failures++ {
		refused := b.registerOnce(application)
		switch {
		case refused == nil || b.ctx.Err() != nil:
			return
		case slices.Contains([]collaborate.Class{collaborate.ClassUnauthorized, collaborate.ClassForbidden, collaborate.ClassNotFound,
			collaborate.ClassRejected}, refused.Class):
			b.log.Warn("Discord rejects the bot's commands", "err", refused)
			return
		}
		wait := max(refused.Failure.RetryAfter, o.Retries().After(failures))
		b.log.Info("cannot register the bot's commands; will retry", "err", refused, "retry_in", wait)
		if channel.Rest(b.ctx, o.AfterFunc, o.Jitter(wait)) != nil {
			return
		}
	}
}

// registerOnce replaces Discord's commands if they differ.
func (b *bot) registerOnce(application string) *channel.Error {
	const deed = "register commands"
	path := "/applications/" + application + "/commands"
	a, refused := b.ask(b.ctx, deed, "", request{method: http.MethodGet, path: path})
	if refused != nil {
		return refused
	}
	var wanted, there []commandShape
	for _, c := range b.bots.o.Commands {
		wanted = append(wanted, commandShape{Type: commandSlash, Name: c.Name, Description: c.Description})
	}
	same := json.Unmarshal(a.body, &there) == nil && sameCommands(wanted, there)
	if !same {
		if _, refused = b.ask(b.ctx, deed, "", request{method: http.MethodPut, path: path, body: wanted}); refused != nil {
			return refused
		}
	}
	b.log.Info("bot commands registered", "commands", len(wanted), "changed", !same)
	return nil
}

func sameCommands(a, b []commandShape) bool {
	byName := func(all []commandShape) []commandShape {
		return slices.SortedFunc(slices.Values(all), func(x, y commandShape) int { return cmp.Or(cmp.Compare(x.Type, y.Type), cmp.Compare(x.Name, y.Name)) })
	}
	return slices.EqualFunc(byName(a), byName(b), func(x, y commandShape) bool {
		return x.Type == y.Type && x.Name == y.Name && x.Description == y.Description && len(x.Options) == 0 && len(y.Options) == 0
	})
}
