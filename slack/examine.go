package slack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// Examine asks Slack what the app of an account lacks: its tokens, its scopes, and the configured channels
// that it is not in. It opens no socket. Which events an app subscribes to is not told to its tokens.
func Examine(ctx context.Context, c *config.Config, a config.Account, o channel.Options) []channel.Fault {
	o = o.WithDefaults()
	ask := func(token, method string, args url.Values) (answer, *channel.Error) {
		limited, cancel := context.WithTimeout(ctx, o.TimeLimit)
		defer cancel()
		w := newSession(wireOptions{token: token, transport: o.Transport, timeLimit: o.TimeLimit, userAgent: o.UserAgent}, wireEvents{})
		got, err := w.ask(limited, request{method: method, args: args})
		return got, failed(ctx, "request the app", a.ID, "", got, err)
	}
	var faults []channel.Fault
	got, refused := ask(a.Token.Reveal(), "auth.test", nil)
	if refused != nil && refused.Class != collaborate.ClassUnauthorized {
		return []channel.Fault{faultOf(a.ID, "token", refused)} // nothing can be known
	}
	if refused != nil {
		faults = append(faults, faultOf(a.ID, "token", refused))
	} else {
		if what := missingScopes(got.header.Get("X-OAuth-Scopes"), c.Messages.Ack != "", furtherScopes...); what != "" {
			faults = append(faults, channel.Fault{Code: channel.FaultRight, Text: "the app lacks scopes: " + what, Hint: scopeHint(what)})
		}
		faults = append(faults, memberFaults(a, c.Slack.Named(a.ID), ask)...)
	}
	if a.Webhook.Path == "" {
		faults = append(faults, socketFaults(a, ask)...)
	}
	return faults
}

// asking makes a request with a token.
type asking func(token, method string, args url.Values) (answer, *channel.Error)

// memberFaults asks whether the app is in the configured channels. Without the right to ask, which is said of the app, that
// is not known.
func memberFaults(a config.Account, ids []string, ask asking) (faults []channel.Fault) {
	for _, id := range ids {
		in, ok := parsePlace(id)
		if !ok {
			continue
		}
		got, refused := ask(a.Token.Reveal(), "conversations.info", url.Values{"channel": {in.chat}})
		var said struct {
			Channel channelShape `json:"channel"`
		}
		switch {
		case refused != nil && refused.Class == collaborate.ClassNotFound:
		case refused != nil && refused.Class == collaborate.ClassForbidden:
			continue
		case refused != nil:
			return append(faults, faultOf(a.ID, "token", refused))
		case json.Unmarshal(got.body, &said) != nil || said.Channel.IsMember || said.Channel.IsIM || said.Channel.IsMPIM:
			continue
		}
		faults = append(faults, channel.Fault{Code: channel.FaultRight, Text: "the app is not in the configured channel " + in.chat,
			Hint: "invite the app to the channel: /invite @app"})
	}
	return faults
}

// socketFaults asks for the address of a socket, which is not opened.
func socketFaults(a config.Account, ask asking) []channel.Fault {
	got, refused := ask(a.AppToken.Reveal(), "apps.connections.open", nil)
	if refused == nil {
		return nil
	}
	var s said
	_ = json.Unmarshal(got.body, &s)
	if s.Error == "" {
		return []channel.Fault{faultOf(a.ID, "appToken", refused)}
	}
	t := troubleOf(a.ID, &openError{s.Error})
	f := channel.Fault{Code: channel.FaultRight, Setting: "appToken", Text: t.text, Hint: t.hint}
	if t.class == ClassToken {
		f.Code = channel.FaultToken
	}
	return []channel.Fault{f}
}

func faultOf(account, setting string, refused *channel.Error) channel.Fault {
	t := troubleOf(account, refused)
	if refused.Class == collaborate.ClassUnauthorized {
		return channel.Fault{Code: channel.FaultToken, Setting: setting, Text: t.text, Hint: fmt.Sprintf(tokenHint, account)}
	}
	return channel.Fault{Code: channel.FaultUnreachable, Text: t.text, Hint: t.hint}
}
