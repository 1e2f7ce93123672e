package server

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/discord/discordtest"
)

// measures waits until GET /metrics has lines, without their prefix: what is measured is counted after it is in the log.
func (team *discordTeam) measures(lines ...string) {
	team.t.Helper()
	var metrics string
	defer func() {
		if team.t.Failed() {
			team.t.Logf("metrics say of Discord\n%s", linesOf(metrics, "openclawd_discord_", "openclawd_collaborations_"))
		}
	}()
	team.await("metrics with "+strings.Join(lines, ", "), func() bool {
		_, metrics = team.answers(team.t, http.MethodGet, "/metrics")
		return !slices.ContainsFunc(lines, func(line string) bool { return !strings.Contains(metrics, "\nopenclawd_"+line+"\n") })
	})
}

// linesOf are the lines of a text that begin with one of some words.
func linesOf(text string, beginnings ...string) string {
	var lines []string
	for line := range strings.Lines(text) {
		for _, b := range beginnings {
			if strings.HasPrefix(line, b) {
				lines = append(lines, line)
			}
		}
	}
	return strings.Join(lines, "")
}

// What bots receive, decide and post is measured, each message once, however many bots report it.
func TestMetricsOfDiscord(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	team.says(team.dev.ID, "%s 봐줘", team.at("eden"))
	team.quiet()
	team.measures(`discord_bot_up{account="eden"} 1`, `discord_bots{state="ready"} 4`, `discord_bots{state="failed"} 0`,
		`discord_verdicts_total{reason="mentioned",verdict="handler"} 1`, `discord_verdicts_total{reason="other_mentioned",verdict="observer"} 3`,
		`discord_verdicts_total{reason="own_message",verdict="dropped"} 1`, `discord_verdicts_total{reason="sibling_message",verdict="observer"} 3`,
		`discord_decision_seconds_count 2`, `discord_message_seconds_count 2`,
		`discord_deliveries_total{outcome="done",purpose="reply"} 1`, `discord_undelivered 0`, `discord_suspended_places 0`, `collaborations_open 0`,
		`work_waiting{pool="discord"} 0`, `work_oldest_wait_seconds{pool="discord"} 0`)
	if _, health := team.answers(t, http.MethodGet, "/api/health"); !strings.Contains(health, `"discord":{"bots":4,"botsReady":4,"accounts":[{"accountId":"dajim"`) {
		t.Errorf("health says %s, want how the bots stand", health)
	}
}

// A failed post is a warning of its own, and no other one, until it is settled.
func TestWhatIsNotPostedIsTold(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	team.discord.Inject(discordtest.Fault{Match: discordtest.Match{Route: "POST /channels/{channel}/messages"}, Times: -1, Effect: discordtest.Forbidden()})
	team.says(team.dev.ID, "%s 봐줘", team.at("eden"))
	team.quiet()
	team.measures(`discord_undelivered 1`, `work_dead{pool="discord"} 1`, `discord_deliveries_total{outcome="failed",purpose="reply"} 1`)
	status, ready := team.answers(t, http.MethodGet, "/readyz")
	if status != http.StatusOK || strings.Count(ready, `"code":`) != 1 || !strings.Contains(ready, `{"severity":"warning","code":"discord_undelivered"`) {
		t.Errorf("readyz says %d %s, want that a post is undelivered, and that alone", status, ready)
	}
	effect := strings.Fields(team.stuck()[0])[0]
	if err := team.agents.Cancel(t.Context(), effect, "test"); err != nil {
		t.Fatal(err)
	}
	if _, ready := team.answers(t, http.MethodGet, "/readyz"); ready != `{"status":"ok","reasons":[]}` {
		t.Errorf("readyz says %s when it is settled, want nothing", ready)
	}
}
