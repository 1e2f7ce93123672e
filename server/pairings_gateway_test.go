package server

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// OpenClaw's clients see who asks to write to an agent, dismiss one, and approve another, who is answered then.
func TestClientsDecideWhoMayWrite(t *testing.T) {
	t.Parallel()
	team := newTelegramTeam(t, hasHeard)
	text := strings.Replace(team.text, `dmPolicy: "allowlist"`, `dmPolicy: "pairing"`, 1)
	team.reloading = startReloading(t, map[string]string{settings.FileName: text}, withGateway, team.options)
	client := connect(t, gatewayURL(team.gatewayAddress()))
	call := func(method string, params, answer any) error {
		t.Helper()
		got, err := client.Call(t.Context(), method, params)
		if err == nil && answer != nil {
			err = json.Unmarshal(got, answer)
		}
		return err
	}
	type request struct {
		RequestID, Channel, ChannelLabel, AccountID, SenderID string
		Metadata                                              map[string]string
	}
	var list struct {
		Accounts []struct{ Channel, AccountID string }
		Requests []request
	}
	asks := func(waiting int) request {
		t.Helper()
		if err := call("channels.pairing.list", map[string]any{"channel": "telegram"}, &list); err != nil || len(list.Requests) != waiting || len(list.Accounts) != 2 {
			t.Fatalf("%+v, %v, want two accounts and %d requests", list, err, waiting)
		}
		if waiting == 0 {
			return request{}
		}
		return list.Requests[0]
	}
	asks(0)
	private := team.stranger.Private(team.ruda)
	for _, method := range []string{"channels.pairing.dismiss", "channels.pairing.approve"} {
		before := len(private.Messages())
		if _, err := team.stranger.Send(private, telegramtest.Draft{Text: "may I?"}); err != nil {
			t.Fatal(err)
		}
		team.await("a code", func() bool { return len(private.Messages()) > before+1 })
		r := asks(1)
		if r.Channel != "telegram" || r.ChannelLabel != "Telegram" || r.AccountID != "ruda" || r.RequestID == "" || !strings.Contains(private.Texts()[before+1], r.RequestID) {
			t.Fatalf("%+v, want the request that %q names", r, private.Texts())
		}
		params := map[string]any{"channel": r.Channel, "accountId": r.AccountID, "requestId": r.RequestID}
		var done struct{ RequestID, SenderID string }
		if err := call(method, params, &done); err != nil || done.SenderID != r.SenderID || done.RequestID != r.RequestID {
			t.Fatalf("%s: %+v, %v", method, done, err)
		}
		if err := call(method, params, nil); err == nil || !strings.Contains(err.Error(), "no longer exists") {
			t.Errorf("%s once more: %v, want it refused", method, err)
		}
		asks(0)
	}
	if _, err := team.stranger.Send(private, telegramtest.Draft{Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	team.shows(private, "ruda has heard")
	if err := call("channels.pairing.list", map[string]any{"channel": "irc"}, nil); err == nil || !strings.Contains(err.Error(), "unknown pairing channel") {
		t.Errorf("of no channel: %v", err)
	}
}
