package rights_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/discord"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/server/rights"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
	"github.com/pronto-lab/openclawd/telegram"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// services are test servers of all channels.
type services struct {
	t          *testing.T
	discord    *discordtest.Server
	telegram   *telegramtest.Server
	slack      *slacktest.Server
	transports map[string]http.RoundTripper
}

func newServices(t *testing.T) *services {
	t.Helper()
	s := &services{t: t, transports: map[string]http.RoundTripper{}}
	var err error
	if s.discord, err = discordtest.New(discordtest.Options{Limits: discordtest.NoLimits()}); err != nil {
		t.Fatal(err)
	}
	s.closing(s.discord.Close)
	if s.telegram, err = telegramtest.New(telegramtest.Options{Limits: telegramtest.NoLimits()}); err != nil {
		t.Fatal(err)
	}
	s.closing(s.telegram.Close)
	if s.slack, err = slacktest.New(slacktest.Options{Limits: slacktest.NoLimits()}); err != nil {
		t.Fatal(err)
	}
	s.closing(s.slack.Close)
	s.leads("discord", s.discord.URL(), discord.Redirect)
	s.leads("telegram", s.telegram.URL(), telegram.Redirect)
	s.leads("slack", s.slack.URL(), slack.Redirect)
	return s
}

func (s *services) closing(end func() error) {
	s.t.Cleanup(func() {
		if err := end(); err != nil {
			s.t.Errorf("close the server: %v", err)
		}
	})
}

func (s *services) leads(channel, url string, redirect func(string) (http.RoundTripper, error)) {
	s.t.Helper()
	transport, err := redirect(url)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(transport.(interface{ CloseIdleConnections() }).CloseIdleConnections)
	s.transports[channel] = transport
}

// lacks returns the findings about a configuration, as code, setting and text with hint.
func (s *services) lacks(channels map[string]any) (found [][3]string) {
	s.t.Helper()
	text, err := json.Marshal(map[string]any{"channels": channels})
	if err != nil {
		s.t.Fatal(err)
	}
	path := filepath.Join(s.t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		s.t.Fatalf("the test's configuration: %v", err)
	}
	for _, f := range rights.Check(s.t.Context(), c, rights.Options{Transports: s.transports}) {
		if f.Severity != config.Warning || f.File != path || f.Hint == "" {
			s.t.Errorf("%+v, want a warning with a hint", f)
		}
		found = append(found, [3]string{f.Code, f.Path, f.Message + ": " + f.Hint})
	}
	return found
}

// Each missing right is a finding with its account and what to do; a bot that has all is none. Tokens are in no finding.
func TestMissingRightsAreFindings(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	seeing, blind := s.discord.AddBot("seeing", discordtest.BotOptions{}), s.discord.AddBot("blind", discordtest.BotOptions{WithoutContent: true})
	open, private := s.telegram.AddBot("open", telegramtest.BotOptions{WithoutPrivacy: true}), s.telegram.AddBot("private", telegramtest.BotOptions{})
	person := s.telegram.AddPerson("Bora")
	forum := s.telegram.AddGroup("forum", telegramtest.GroupOptions{Topics: true}, person, open.User)
	full, poor := s.slack.AddApp("full", slacktest.AppOptions{}), s.slack.AddApp("poor", slacktest.AppOptions{Scopes: []string{"chat:write"}})
	const wrongDiscord, wrongTelegram = "MTAwMDAwMDAwMDAwMDAwMDAx.GabcdE.xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "7000009999:AAxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
	channels := map[string]any{
		"discord": map[string]any{"accounts": map[string]any{"a": map[string]any{"token": seeing.Token}, "b": map[string]any{"token": blind.Token},
			"c": map[string]any{"token": wrongDiscord}, "off": map[string]any{"token": wrongDiscord, "enabled": false}}},
		"telegram": map[string]any{"accounts": map[string]any{"a": map[string]any{"botToken": open.Token}, "b": map[string]any{"botToken": private.Token},
			"c": map[string]any{"botToken": wrongTelegram}}, "groups": map[string]any{fmt.Sprint(forum.ID): map[string]any{}}},
		"slack": map[string]any{"accounts": map[string]any{"a": map[string]any{"botToken": full.Token, "appToken": full.AppToken},
			"b": map[string]any{"botToken": poor.Token, "appToken": "xapp-1-A0-1-wrong"}, "c": map[string]any{"botToken": "xoxb-1-1-wrong", "appToken": full.AppToken}}},
	}
	wanted := [][3]string{
		{"right_missing", "channels.discord.accounts.b", "Message Content Intent"},
		{"token_refused", "channels.discord.accounts.c.token", "rejects the token"},
		{"right_missing", "channels.telegram.accounts.a", "manage topics"},
		{"right_missing", "channels.telegram.accounts.b", "/setprivacy"},
		{"right_missing", "channels.telegram.accounts.b", "add the bot to the group"},
		{"token_refused", "channels.telegram.accounts.c.botToken", "rejects the token"},
		{"right_missing", "channels.slack.accounts.b", "app_mentions:read"},
		{"token_refused", "channels.slack.accounts.b.appToken", "refuses the app token"},
		{"token_refused", "channels.slack.accounts.c.botToken", "refuses the bot token"},
	}
	found := s.lacks(channels)
	for i, f := range found {
		if strings.Contains(f[2], "wrong") || strings.Contains(f[2], "xxxx") {
			t.Errorf("%s shows a token", f[2])
		}
		if i < len(wanted) && (f[0] != wanted[i][0] || f[1] != wanted[i][1] || !strings.Contains(f[2], wanted[i][2])) {
			t.Errorf("finding %d: %q, want %q", i, f, wanted[i])
		}
	}
	if len(found) != len(wanted) {
		t.Errorf("%d findings, want %d: %q", len(found), len(wanted), found)
	}
}

// Places that the settings name, and that a bot cannot reach or manage, are findings.
func TestPlacesOutOfReachAreFindings(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	bot := s.telegram.AddBot("open", telegramtest.BotOptions{WithoutPrivacy: true})
	forum := s.telegram.AddGroup("forum", telegramtest.GroupOptions{Topics: true}, s.telegram.AddPerson("Bora"), bot.User)
	app := s.slack.AddApp("poor", slacktest.AppOptions{Scopes: slices.DeleteFunc(slacktest.AllScopes(), func(scope string) bool { return scope == "files:write" })})
	in, out := s.slack.AddChannel("in", app.UserID), s.slack.AddChannel("out")
	blind := s.discord.AddBot("blind", discordtest.BotOptions{})
	account := func(of map[string]any) map[string]any { return map[string]any{"a": of} }
	found := s.lacks(map[string]any{
		"discord": map[string]any{"accounts": account(map[string]any{"token": blind.Token}), "collaboration": map[string]any{"defaultChannel": "300000000000000001"}},
		"telegram": map[string]any{"accounts": account(map[string]any{"botToken": bot.Token}), "groupPolicy": "open",
			"collaboration": map[string]any{"escalation": map[string]any{"channelId": fmt.Sprintf("%d:topic:7", forum.ID)}}},
		"slack": map[string]any{"accounts": account(map[string]any{"botToken": app.Token, "appToken": app.AppToken}),
			"channels": map[string]any{in.ID: map[string]any{}}, "collaboration": map[string]any{"defaultChannel": out.ID}},
	})
	wanted := []string{"does not see the configured channel 300000000000000001", "manage topics", "lacks scopes: files:write", "not in the configured channel " + out.ID}
	for i, f := range found {
		if f[0] != "right_missing" || i >= len(wanted) || !strings.Contains(f[2], wanted[i]) {
			t.Errorf("finding %d: %q, want %q", i, f, wanted)
		}
	}
	if len(found) != len(wanted) {
		t.Errorf("%d findings, want %d", len(found), len(wanted))
	}
}

// A service that cannot be reached is said to be so, for each account.
func TestUnreachableServicesAreFindings(t *testing.T) {
	t.Parallel()
	s := newServices(t)
	bot, app := s.telegram.AddBot("b", telegramtest.BotOptions{}), s.slack.AddApp("s", slacktest.AppOptions{})
	s.transports = map[string]http.RoundTripper{"telegram": noNetwork{}, "slack": noNetwork{}, "discord": noNetwork{}}
	found := s.lacks(map[string]any{
		"telegram": map[string]any{"accounts": map[string]any{"a": map[string]any{"botToken": bot.Token}}},
		"slack":    map[string]any{"accounts": map[string]any{"a": map[string]any{"botToken": app.Token, "appToken": app.AppToken}}},
	})
	for _, f := range found {
		if f[0] != "service_unreachable" || strings.Contains(f[2], bot.Token) || strings.Contains(f[2], app.Token) {
			t.Errorf("%q, want that the service is unreachable, without tokens", f)
		}
	}
	if len(found) != 2 {
		t.Errorf("%q, want one for each account", found)
	}
}

// noNetwork refuses every request.
type noNetwork struct{}

func (noNetwork) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_ = r.Body.Close()
	}
	return nil, fmt.Errorf("dial %s: no route to host", r.URL.Host)
}
