package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/server/settings"
)

// The first connected bot reports messages; agents whose bots are still connecting are treated as if these were connected. They answer,
// since that takes no connection, and are not asked again when they catch up.
func TestABotThatIsSlowToConnectIsMentionedMeanwhile(t *testing.T) {
	t.Parallel()
	team := newDiscordTeam(t, discordSetting{})
	slow := make(chan struct{})
	for _, agent := range []string{"ruda", "eden"} {
		team.discord.Inject(discordtest.Fault{Match: discordtest.Match{Route: "GET /applications/@me", Bot: team.bots[agent].ID}, Times: 1, Effect: discordtest.Hold(slow)})
	}
	team.reloading = startReloading(t, map[string]string{settings.FileName: team.text}, withGateway,
		func(o *Options) { o.Now, o.DiscordAPI = team.clock.Now, team.discord.URL() })
	team.connected("ruda", "eden")
	team.says(team.dev.ID, "%s 봐줘", team.at("eden"))
	team.quiet()
	team.says(team.dev.ID, "안녕")
	team.quiet()
	want := []string{"병욱: " + team.at("eden") + " 봐줘", "이든: eden has heard", "병욱: 안녕", "루다: ruda has heard"}
	if diff := cmp.Diff(want, team.texts(team.dev.ID)); diff != "" {
		t.Errorf("while ruda and eden connect (-want +got):\n%s", diff)
	}
	if all := team.discord.Connected(); slices.Contains(all, team.bots["eden"].ID) || slices.Contains(all, team.bots["ruda"].ID) {
		t.Fatalf("connected are %v, want neither ruda nor eden", all)
	}
	close(slow)
	team.connected()
	team.says(team.dev.ID, "%s 이제?", team.at("eden"))
	team.quiet()
	if got, want := team.runs(), "ruda 1, eden 2"; got != want {
		t.Errorf("runs: %s, want %s", got, want)
	}
}

// Bindings of agents to bots may change without a reconnection: the log says so all the same.
func TestM3_BindingsThatChangeAreInTheLog(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	binding := func(agent, account string) string {
		return fmt.Sprintf(`{ agentId: %q, match: { channel: "discord", accountId: %q } }`, agent, account)
	}
	told := func(agent, account string) func() bool {
		return func() bool {
			all := said[coordination.IdentityBot](team, coordination.TypeIdentityBotRegistered)
			return slices.ContainsFunc(all, func(b coordination.IdentityBot) bool { return b.AgentID == agent && b.AccountID == account })
		}
	}
	team.await("the log to say who speaks for whom", func() bool {
		return told("ruda", "ruda")() && told("eden", "eden")() && told("seum", "seum")() && told("dajim", "dajim")() && len(team.agents.discord.statuses) == 0
	})
	team.write(t, settings.FileName, strings.NewReplacer(binding("eden", "eden"), binding("seum", "eden"), binding("seum", "seum"), binding("eden", "seum")).Replace(team.text))
	team.await("the log to say that it speaks for seum", told("seum", "eden"))
	team.await("and seum's for eden", told("eden", "seum"))
}
