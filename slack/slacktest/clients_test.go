//go:build clients

package slacktest_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/internal/clienttest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

// An unmodified client of others logs in, receives, sends, answers a command and handles a pressed button, over a socket and by HTTP:
// see make clients.
func TestBolt(t *testing.T) {
	for _, mode := range []string{"socket", "http"} {
		t.Run(mode, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), testscale.Patience)
			defer cancel()
			s, err := slacktest.New(slacktest.Options{Limits: slacktest.NoLimits()})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			app, bora := s.AddApp("ruda", slacktest.AppOptions{Commands: []string{"/ask"}}), s.AddPerson("bora")
			channel := s.AddChannel("general", app.UserID, bora.ID)
			secret := map[string]string{"socket": app.AppToken, "http": app.SigningSecret}[mode]
			c := clienttest.Start(ctx, t, "testdata/bolt.mjs", mode, s.URL(), app.Token, secret)
			port := strings.TrimPrefix(c.Line(), "ready ")
			if mode == "http" {
				if err := app.SetRequestURL(ctx, "http://127.0.0.1:"+port+"/slack/events"); err != nil {
					t.Fatal(err)
				}
			}
			shows := func(text string) slacktest.Message {
				t.Helper()
				m, err := s.WaitMessage(ctx, channel.ID, func(m slacktest.Message) bool { return m.Text == text && m.BotID != "" })
				if err != nil {
					t.Fatalf("%q: %v, the channel shows %+v", text, err, s.Messages(channel.ID))
				}
				return m
			}
			asked, err := bora.Post(channel.ID, app.Mention()+" hi")
			if err != nil {
				t.Fatal(err)
			}
			c.Wants("mentioned by bora hi")
			if m := shows("in the thread"); m.ThreadTS != asked.TS {
				t.Errorf("%+v, want an answer in the thread %s", m, asked.TS)
			}
			if _, err := bora.Post(channel.ID, "buttons"); err != nil {
				t.Fatal(err)
			}
			c.Wants("message buttons")
			press, err := bora.Press(channel.ID, shows("approve?").TS, "yes")
			if err != nil {
				t.Fatal(err)
			}
			c.Wants("pressed yes approve?")
			shows("approved")
			command, err := bora.Slash(channel.ID, "/ask", "why")
			if err != nil {
				t.Fatal(err)
			}
			c.Wants("command why")
			for text, use := range map[string]*slacktest.Use{"thanks": press, "asked: why": command} {
				if err := s.Until(ctx, func() bool { return slices.Contains(use.State().Shown, text) }); err != nil || !use.State().Acked {
					t.Errorf("%q: %v, %+v", text, err, use.State())
				}
			}
			c.Say(channel.ID)
			c.Wants("history hello from ruda true")
			c.Wants("nowhere channel_not_found")
			c.Say("")
			c.Wants("stopped")
			c.Ends()
		})
	}
}
