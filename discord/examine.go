package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Examine asks Discord what the bot of an account lacks: its token, and the intent to read messages, and the configured
// channels that it cannot see. It opens no socket.
func Examine(ctx context.Context, c *config.Config, a config.Account, o channel.Options) []channel.Fault {
	o = o.WithDefaults()
	w, err := newSession(wireOptions{token: a.Token.Reveal(), transport: o.Transport, timeLimit: o.TimeLimit, userAgent: o.UserAgent},
		wireEvents{told: func(string, json.RawMessage) {}, lost: func() {}})
	if err != nil {
		return []channel.Fault{{Code: channel.FaultToken, Setting: "token", Text: err.Error()}}
	}
	defer w.close()
	limited, cancel := context.WithTimeout(ctx, o.TimeLimit)
	defer cancel()
	const deed = "request the application"
	got, err := w.ask(limited, request{method: http.MethodGet, path: "/applications/@me"})
	if refused := failed(ctx, deed, a.ID, "", got, err); refused != nil {
		t := troubleOf(a.ID, refused)
		f := channel.Fault{Code: channel.FaultUnreachable, Text: t.text, Hint: t.hint}
		if refused.Class == collaborate.ClassUnauthorized {
			f.Code, f.Setting = channel.FaultToken, "token"
		}
		return []channel.Fault{f}
	}
	var faults []channel.Fault
	reads, err := readsContent(got.body)
	switch {
	case err != nil:
		return []channel.Fault{{Code: channel.FaultUnreachable, Text: "read the application: " + err.Error()}}
	case !reads:
		faults = append(faults, channel.Fault{Code: channel.FaultRight, Text: missingContent, Hint: missingContentHint})
	}
	for _, id := range c.Discord.Named(a.ID) {
		got, err := w.ask(limited, request{method: http.MethodGet, path: "/channels/" + url.PathEscape(id)})
		refused := failed(ctx, "request a channel", a.ID, id, got, err)
		switch {
		case refused == nil:
		case refused.Class == collaborate.ClassForbidden || refused.Class == collaborate.ClassNotFound:
			faults = append(faults, channel.Fault{Code: channel.FaultRight, Text: "the bot does not see the configured channel " + id,
				Hint: "check the id, invite the bot to the server, and give it the permission View Channel there"})
		default:
			return append(faults, channel.Fault{Code: channel.FaultUnreachable, Text: refused.Error(), Hint: refused.Hint})
		}
	}
	return faults
}

// readsContent reports whether an application, as Discord describes it, may read messages that do not mention it.
func readsContent(application []byte) (bool, error) {
	const contentIntent, contentIntentLimited = 1 << 18, 1 << 19
	var app struct {
		Flags int `json:"flags"`
	}
	err := json.Unmarshal(application, &app)
	return app.Flags&(contentIntent|contentIntentLimited) != 0, err
}
