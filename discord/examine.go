package discord

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Examine asks Discord what the bot of an account lacks: its token, and the intent to read messages. It opens no socket.
func Examine(ctx context.Context, a config.Account, o channel.Options) []channel.Fault {
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
	reads, err := readsContent(got.body)
	switch {
	case err != nil:
		return []channel.Fault{{Code: channel.FaultUnreachable, Text: "read the application: " + err.Error()}}
	case !reads:
		return []channel.Fault{{Code: channel.FaultRight, Text: missingContent, Hint: missingContentHint}}
	}
	return nil
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
