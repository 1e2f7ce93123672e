//go:build clients

package server

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/slack/slacktest"
	"github.com/pronto-lab/openclawd/telegram/telegramtest"
)

// openClaw is an unmodified openclaw from npm that uses a gateway.
type openClaw struct{ program, home string }

// printed runs a command and decodes what it prints, JSON.
func printed[T any](t *testing.T, o openClaw, args ...string) (answer T) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
	defer stop()
	node := filepath.Join(os.Getenv("MODULES"), "node_modules", "node", "bin", "node") // both want a newer one than most machines have
	cmd := exec.CommandContext(ctx, node, append([]string{o.program}, args...)...)
	cmd.Env = []string{"PATH=" + filepath.Dir(node) + ":/usr/bin:/bin", "HOME=" + o.home, "OPENCLAW_STATE_DIR=" + o.home, "OPENCLAW_HIDE_BANNER=1", "NO_COLOR=1"}
	var failed strings.Builder
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil {
		t.Fatalf("openclaw %v: %v\n%s\n%s", args, err, out, failed.String())
	}
	return answer
}

// npmConfig has one agent with a bot in each channel.
const npmConfig = `{
  gateway: { auth: { mode: "token", token: "secret" } }, agents: { list: [{ id: "ruda", default: true }] },
  bindings: [{ agentId: "ruda", match: { channel: "telegram", accountId: "ruda" } }, { agentId: "ruda", match: { channel: "slack", accountId: "ruda" } },
    { agentId: "ruda", match: { channel: "discord", accountId: "ruda" } }],
  channels: { telegram: { accounts: { ruda: { botToken: %q } } }, slack: { accounts: { ruda: { botToken: %q, appToken: %q } } }, discord: { accounts: { ruda: { token: %q } } } },
}`

// startChannels starts a program with a connected bot in each channel, and says where its gateway is.
func startChannels(t *testing.T, more ...func(*Options)) (p *reloading, url string) {
	t.Helper()
	telegram, err := telegramtest.New(telegramtest.Options{Limits: telegramtest.NoLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = telegram.Close() })
	slack, err := slacktest.New(slacktest.Options{Limits: slacktest.NoLimits()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = slack.Close() })
	discord, err := discordtest.New(discordtest.Options{Limits: discordtest.NoLimits(), Global: discordtest.Limit{Requests: 100_000, Per: time.Second}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = discord.Close() })
	tg, app, bot := telegram.AddBot("ruda", telegramtest.BotOptions{WithoutPrivacy: true}), slack.AddApp("ruda", slacktest.AppOptions{}), discord.AddBot("ruda", discordtest.BotOptions{})
	discord.AddGuild("lab").Join(bot.ID)
	p = startReloading(t, map[string]string{settings.FileName: fmt.Sprintf(npmConfig, tg.Token, app.Token, app.AppToken, bot.Token)}, append(more, withGateway, func(o *Options) {
		o.TelegramAPI, o.SlackAPI, o.DiscordAPI = telegram.URL(), slack.URL(), discord.URL()
	})...)
	ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
	defer stop()
	for _, err := range []error{tg.WaitPolling(ctx), slack.WaitConnected(ctx, app), discord.WaitConnected(ctx, bot.ID)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return p, gatewayURL(p.gatewayAddress())
}

// The commands of unmodified openclaw programs from npm, the oldest and the newest that are supported, show the channels and keep schedules:
// see make clients.
func TestOpenClawCommands(t *testing.T) {
	p, url := startChannels(t)
	for _, version := range []string{"openclaw", "openclaw-newest"} {
		o := openClaw{filepath.Join(os.Getenv("MODULES"), "node_modules", version, "openclaw.mjs"), t.TempDir()}
		conf := fmt.Sprintf(`{"gateway": {"mode": "remote", "remote": {"url": %q, "token": "secret"}}}`, url)
		if err := os.WriteFile(filepath.Join(o.home, "openclaw.json"), []byte(conf), 0o600); err != nil {
			t.Fatal(err)
		}
		showsChannels(t, o, "channels", "status", "--json")
		showsChannels(t, o, "channels", "status", "--probe", "--json")
		keepsSchedules(t, o, version == "openclaw-newest")
	}
	if err := p.stop(); err != nil {
		t.Error(err)
	}
}

// The pages of channels in the Control UIs of these programs show each channel, and that it runs.
func TestControlUIShowsChannels(t *testing.T) {
	for version, path := range map[string]string{"openclaw": "/channels", "openclaw-newest": "/settings/channels"} {
		t.Run(version, func(t *testing.T) {
			_, url := startChannels(t, func(o *Options) { o.ControlUI = filepath.Join(os.Getenv("MODULES"), "node_modules", version) })
			ctx, stop := context.WithTimeout(t.Context(), testscale.Patience)
			defer stop()
			args := []string{filepath.Join("testdata", "control_ui.mjs"), strings.Replace(url, "ws://", "http://", 1) + path, "secret"}
			for _, name := range []string{"Telegram", "Slack", "Discord"} {
				args = append(args, `^`+name+`\n(.+\n){1,3}Running\n([^N]|$)`) // "Running" in the newest, "Running", "Yes" before
			}
			out, err := exec.CommandContext(ctx, "node", args...).CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, pattern := range args[3:] {
				if !regexp.MustCompile(`(?m)` + pattern).Match(out) {
					t.Errorf("%s is not in:\n%s", pattern, out)
				}
			}
		})
	}
}

func showsChannels(t *testing.T, o openClaw, args ...string) {
	t.Helper()
	status := printed[struct {
		ChannelAccounts map[string][]struct {
			AccountID                      string
			Configured, Running, Connected bool
			LastError                      string
		}
	}](t, o, args...)
	for _, name := range []string{"telegram", "slack", "discord"} {
		if all := status.ChannelAccounts[name]; len(all) != 1 || all[0].AccountID != "ruda" || !all[0].Configured || !all[0].Running || !all[0].Connected || all[0].LastError != "" {
			t.Errorf("%v: %s is %+v", args, name, all)
		}
	}
}

// keepsSchedules adds, lists, runs and removes a job. run and runs of the oldest one print JSON without being asked to.
func keepsSchedules(t *testing.T, o openClaw, asksForJSON bool) {
	t.Helper()
	type job struct {
		ID, Name string
		Schedule struct{ Kind, Expr, TZ string }
	}
	var form []string
	if asksForJSON {
		form = []string{"--json"}
	}
	added := printed[job](t, o, "cron", "add", "--agent", "ruda", "--name", "look", "--cron", "0 7 * * *", "--tz", "Europe/Berlin", "--session", "isolated",
		"--message", "look", "--json")
	if added.ID == "" || added.Name != "look" || added.Schedule.Expr != "0 7 * * *" || added.Schedule.TZ != "Europe/Berlin" {
		t.Errorf("added %+v", added)
	}
	if list := printed[struct{ Jobs []job }](t, o, "cron", "list", "--json"); len(list.Jobs) != 1 || list.Jobs[0] != added {
		t.Errorf("listed %+v, want %+v", list, added)
	}
	if run := printed[struct{ OK bool }](t, o, append([]string{"cron", "run", added.ID}, form...)...); !run.OK {
		t.Errorf("%s was not run", added.ID)
	}
	runs := printed[struct {
		Entries []struct{ JobID, Status, Summary string }
	}](t, o, append([]string{"cron", "runs", "--id", added.ID}, form...)...)
	if len(runs.Entries) != 1 || runs.Entries[0].JobID != added.ID || runs.Entries[0].Status != "ok" || !strings.Contains(runs.Entries[0].Summary, "ruda") {
		t.Errorf("its runs: %+v", runs)
	}
	if gone := printed[struct{ OK, Removed bool }](t, o, "cron", "rm", added.ID, "--json"); !gone.Removed {
		t.Errorf("%s was not removed", added.ID)
	}
}
