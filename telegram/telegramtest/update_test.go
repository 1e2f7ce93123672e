package telegramtest_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

func TestUpdatesComeUntilTheirOffsetIsConfirmed(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	m.write(m.private, "one")
	m.write(m.private, "two")
	m.write(m.private, "three")
	first := m.updates(m.ruda, params{"limit": 2})
	if len(first) != 2 || first[0].Message.Text != "one" || first[1].UpdateID != first[0].UpdateID+1 {
		t.Fatalf("%+v, want one and two", first)
	}
	equal(t, "the same update again", m.updates(m.ruda, nil)[0].UpdateID, first[0].UpdateID)
	rest := m.updates(m.ruda, params{"offset": first[1].UpdateID + 1})
	if len(rest) != 1 || rest[0].Message.Text != "three" {
		t.Fatalf("%+v, want three", rest)
	}
	m.write(m.private, "four")
	equal(t, "the last one by a negative offset", m.updates(m.ruda, params{"offset": -1})[0].Message.Text, "four")
	equal(t, "how many are left", m.ruda.Pending(), 1)

	m.ruda.Unconfirm(2)
	same(t, "after a failure of Telegram", m.heard(m.ruda), "two", "three", "four")
	m.write(m.private, "five")
	next := m.updates(m.ruda, nil)[0].UpdateID
	m.Inject(telegramtest.Fault{Match: telegramtest.Match{Method: "getUpdates"}, Effect: telegramtest.Unconfirmed()})
	equal(t, "an offset that got lost", len(m.updates(m.ruda, params{"offset": next + 1})), 1)
}

func TestLongPollingEndsWithTheFirstUpdate(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	got := make(chan answer, 1)
	ctx := m.context()
	go func() {
		a, _ := ask(ctx, m.Server, m.ruda.Token, "getUpdates", params{"timeout": 50})
		got <- a
	}()
	if err := m.ruda.WaitPolling(ctx); err != nil {
		t.Fatal(err)
	}
	m.write(m.private, "hello")
	if all := parse[[]telegramtest.Update](t, (<-got).Result); len(all) != 1 || all[0].Message.Text != "hello" {
		t.Errorf("%+v, want hello", all)
	}
}

func TestTwoPollersConflict(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	got := make(chan answer, 1)
	ctx, cancel := context.WithCancel(m.context())
	defer cancel()
	poll := func() {
		a, _ := ask(ctx, m.Server, m.ruda.Token, "getUpdates", params{"timeout": 50})
		got <- a
	}
	go poll()
	if err := m.ruda.WaitPolling(ctx); err != nil {
		t.Fatal(err)
	}
	equal(t, "the second poller", m.ask(m.ruda, "getUpdates", nil).OK, true)
	first := <-got
	equal(t, "the first one", first.Code, http.StatusConflict)
	equal(t, "why", first.Description, "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running")
}

func TestBotsAskForKindsOfUpdates(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{})
	m.heard(m.ruda)
	sent := m.send(m.ruda, params{"chat_id": m.private.ID, "text": "?", "reply_markup": buttons("go")})
	on, err := m.private.WaitMessage(m.context(), func(o telegramtest.Message) bool { return o.MessageID == sent.MessageID && o.ReplyMarkup != nil })
	if err != nil {
		t.Fatal(err)
	}
	react := func() {
		t.Helper()
		if err := m.bora.React(on, "👍"); err != nil {
			t.Fatal(err)
		}
	}
	react()
	equal(t, "reactions that were not asked for", len(m.updates(m.ruda, nil)), 0)
	m.updates(m.ruda, params{"allowed_updates": []string{"message_reaction"}})
	react()
	m.write(m.private, "not asked for")
	if all := m.updates(m.ruda, nil); len(all) != 1 || all[0].Reaction == nil || all[0].Reaction.New[0].Emoji != "👍" {
		t.Errorf("%+v, want the reaction alone", all)
	}
}

func TestWebhookIsCalledUntilItAnswers(t *testing.T) {
	t.Parallel()
	m := newTeam(t, telegramtest.Options{Retry: time.Millisecond})
	m.heard(m.ruda)
	type request struct{ secret, body string }
	got := make(chan request, 10)
	failures := 2
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Header.Get("X-Telegram-Bot-Api-Secret-Token"), string(body)}
		if failures--; failures >= 0 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(hook.Close)
	equal(t, "without TLS elsewhere", m.ask(m.ruda, "setWebhook", params{"url": "http://example.com/x"}).Description,
		"Bad Request: bad webhook: An HTTPS URL must be provided for webhook")
	m.must(m.ruda, "setWebhook", params{"url": hook.URL, "secret_token": "s3cret"})
	conflict := m.ask(m.ruda, "getUpdates", nil)
	equal(t, "polling", conflict.Description, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first")
	m.write(m.private, "first")
	m.write(m.private, "second")
	for i, want := range []string{"first", "first", "first", "second"} {
		if r := <-got; r.secret != "s3cret" || !strings.Contains(r.body, want) {
			t.Errorf("call %d: %+v, want %s", i, r, want)
		}
	}
	if err := m.ruda.WaitConfirmed(m.context()); err != nil {
		t.Fatal(err)
	}
	info := parse[struct {
		URL     string `json:"url"`
		Message string `json:"last_error_message"`
	}](t, m.must(m.ruda, "getWebhookInfo", nil))
	equal(t, "the address", info.URL, hook.URL)
	equal(t, "the last failure", info.Message, "Wrong response from the webhook: 503 Service Unavailable")
	m.must(m.ruda, "deleteWebhook", nil)
	m.write(m.private, "third")
	same(t, "polling again", m.heard(m.ruda), "third")
}

// buttons is a keyboard with one button.
func buttons(data string) map[string]any {
	return map[string]any{"inline_keyboard": [][]map[string]string{{{"text": data, "callback_data": data}}}}
}
