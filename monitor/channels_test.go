package monitor_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/monitor"
)

// saidIn is a message of a person in a place of another channel, which is its own guild.
func saidIn(id, guild, place, thread string, minute float64) route.Message {
	return route.Message{ID: id, GuildID: guild, ChannelID: place, ThreadID: thread, Author: route.Author{ID: "7", Name: "민수"}, Text: "안녕", At: int64(at(minute))}
}

// Each channel lists its own, all lists every one, and what is listed names its channel and leads into it.
func TestChannelsListTheirOwn(t *testing.T) {
	t.Parallel()
	site := []health.Bot{{Channel: "slack", AccountID: "s", State: health.BotReady, GuildID: "slack:t1", Site: "https://lab.slack.com/"}}
	b := setup(t, func(o *monitor.Options) { o.Bots = func() []health.Bot { return site } })
	b.configured(t)
	b.heard(t, said("1404000000000000030", "안녕", 0))
	b.heard(t, saidIn("telegram:-1001:5", "telegram:-1001", "telegram:-1001", "telegram:-1001:topic:7", 1))
	b.heard(t, saidIn("slack:c1:1700000000.000100", "slack:t1", "slack:c1", "", 2))
	b.posted(t, "reply/r1", "eden", "1404000000000000050", "", 1, coordination.DiscordOutbound{Purpose: delivery.Reply})
	for channel, want := range map[string]struct{ places, messages, links string }{
		"discord":  {channelID, "1404000000000000030", "https://discord.com/channels/" + guildID + "/" + channelID + "/1404000000000000030"},
		"telegram": {"telegram:-1001:topic:7", "telegram:-1001:5", "https://t.me/c/1/7/5"},
		"slack":    {"slack:c1", "slack:c1:1700000000.000100", "https://lab.slack.com/archives/C1/p1700000000000100"},
	} {
		places := get[threadPage](t, b, "/api/channels/"+channel+"/threads?kind=all", http.StatusOK)
		if places.Count != 1 || places.Threads[0].ID != want.places || places.Threads[0].Channel != channel {
			t.Errorf("places of %s: %+v, want %s", channel, places.Threads, want.places)
		}
		heard := get[struct{ Messages []monitor.RoutedListing }](t, b, "/api/routing?channel="+channel, http.StatusOK)
		if len(heard.Messages) != 1 || heard.Messages[0].MessageID != want.messages || heard.Messages[0].Channel != channel || heard.Messages[0].Link != want.links {
			t.Errorf("messages of %s: %+v, want %s with %s", channel, heard.Messages, want.messages, want.links)
		}
		observed := get[struct{ Records []monitor.ObservedAnswer }](t, b, "/api/channels/"+channel+"/observed", http.StatusOK)
		for _, r := range observed.Records {
			if coordination.ChannelOf(r.MessageID) != channel {
				t.Errorf("observed in %s: %+v", channel, r)
			}
		}
	}
	all := get[threadPage](t, b, "/api/channels/all/threads?kind=all&limit=2", http.StatusOK)
	if all.Count != 2 || all.Threads[0].ID != "slack:c1" || all.NextCursor == nil {
		t.Fatalf("the first page of all: %+v, want Slack's first", all)
	}
	rest := get[threadPage](t, b, "/api/channels/all/threads?kind=all&limit=2&cursor="+*all.NextCursor, http.StatusOK)
	if rest.Count != 1 || rest.Threads[0].ID != channelID {
		t.Errorf("the second page of all: %+v, want Discord's", rest)
	}
	if old := get[threadPage](t, b, "/api/discord/threads?kind=all", http.StatusOK); old.Count != 1 || old.Threads[0].ID != channelID {
		t.Errorf("/api/discord/threads: %+v, want Discord's alone", old)
	}
	why := get[monitor.Routing](t, b, "/api/routing/telegram:-1001:5", http.StatusOK)
	if why.Message.Channel != "telegram" || why.Message.Link != "https://t.me/c/1/7/5" {
		t.Errorf("why of a message in Telegram: %+v", why.Message)
	}
}

// Bots of every channel are told of, with the channel; Discord's under the names that clients know.
func TestChannelsTellOfTheirBots(t *testing.T) {
	t.Parallel()
	long := noon.Add(-time.Minute).UnixMilli()
	list := []health.Bot{
		{Channel: "discord", AccountID: "main", AgentID: "ruda", State: "ready", Since: long},
		{Channel: "telegram", AccountID: "main", AgentID: "ruda", State: "failed", Since: long, Class: "token_refused", Text: "Telegram rejects its token", Hint: "make a new token"},
		{Channel: "slack", AccountID: "main", AgentID: "eden", State: "ready", Since: long, Missing: "scopes chat:write", MissingHint: "add them"},
	}
	b := setup(t, func(o *monitor.Options) { o.Bots = func() []health.Bot { return list } })
	contract := newContract(t, b)
	for _, path := range []string{"/api/channels", "/api/channels/all/bots", "/api/health", "/api/status", "/readyz", "/api/problems"} {
		contract.check(t, http.MethodGet, path, http.StatusOK)
	}
	for path, want := range map[string]int{"/api/channels/all/bots": 3, "/api/channels/slack/bots": 1, "/api/discord/bots": 1} {
		if got := get[monitor.BotsAnswer](t, b, path, http.StatusOK); got.Count != want {
			t.Errorf("%s: %+v, want %d", path, got, want)
		}
	}
	ready := get[struct{ Reasons []health.Reason }](t, b, "/readyz", http.StatusOK)
	want := []health.Reason{
		{Severity: "warning", Code: "channel_bot_offline", What: `bot "main" of ruda is not connected to Telegram: Telegram rejects its token`, Hint: "make a new token"},
		{Severity: "warning", Code: "channel_bot_limited", What: `bot "main" of eden lacks something in Slack: scopes chat:write`, Hint: "add them"},
	}
	if diff := cmp.Diff(want, ready.Reasons); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	h := get[struct {
		Discord  struct{ Bots, BotsReady int }
		Channels map[string]struct{ Bots, BotsReady int }
	}](t, b, "/api/health", http.StatusOK)
	if h.Discord.Bots != 1 || len(h.Channels) != 3 || h.Channels["telegram"].Bots != 1 || h.Channels["telegram"].BotsReady != 0 || h.Channels["slack"].BotsReady != 1 {
		t.Errorf("health says %+v, want the bots of each channel", h)
	}
	if s := get[monitor.Status](t, b, "/api/status", http.StatusOK); s.Channels["slack"].BotsReady != 1 || s.Discord.Bots != 1 {
		t.Errorf("status says %+v, want the bots of each channel", s.Channels)
	}
	channels := get[struct{ Channels []monitor.ChannelAnswer }](t, b, "/api/channels", http.StatusOK).Channels
	if len(channels) != 3 || channels[1].Channel != "telegram" || channels[1].Title != "Telegram" || channels[1].Bots != 1 || len(channels[1].Accounts) != 1 {
		t.Errorf("channels are %+v, want three with their bots", channels)
	}
	var ids []string
	for _, p := range get[monitor.ProblemsAnswer](t, b, "/api/problems?kind=bot_down", http.StatusOK).Problems {
		ids = append(ids, p.ID+" "+p.Refs.Channel)
	}
	if got := strings.Join(ids, ", "); got != "bot_down:telegram:main telegram" {
		t.Errorf("problems are %s, want that of Telegram", got)
	}
	agents := get[struct {
		Agents []struct {
			ID       string
			Status   string
			Channels []struct{ Channel, State string }
		}
	}](t, b, "/api/agents", http.StatusOK)
	for _, a := range agents.Agents {
		if a.ID == "ruda" && (len(a.Channels) != 2 || a.Status == "offline") {
			t.Errorf("ruda is %+v, want both channels, and not offline while one is connected", a)
		}
	}
}
