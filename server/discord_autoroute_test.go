package server

import (
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// autoRoutes has mentions of agents by agents in channels be exchanges.
func autoRoutes(text string) string {
	return strings.Replace(text, "collaboration: {", "collaboration: { autoRoute: true,", 1)
}

// mentionsEden is how ruda, whom a person has asked, mentions eden in the channel, and eden answers.
func mentionsEden(team *discordTeam, a a2atest.Asked) a2atest.Answer {
	switch last := a.Last().Text; {
	case a.Agent == "ruda" && strings.Contains(last, "배포 준비됐어?"):
		return a2atest.Say("@이든 배포 준비됐는지 알려줘")
	case a.Agent == "eden" && strings.Contains(last, "배포 준비됐는지 알려줘"):
		return a2atest.Say("준비됐습니다.")
	case a.Agent == "eden" && strings.Contains(a.System, "announce"):
		return a2atest.Say("배포 준비가 끝났습니다.")
	}
	return a2atest.Say(nothing)
}

// Without the setting a mention of an agent by an agent in a channel is handled by the mentioned one, in its session of the channel.
func TestAMentionBetweenAgentsIsAMessage(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: mentionsEden})
	team.says(team.dev.ID, "%s 배포 준비됐어?", team.at("ruda"))
	team.quiet()
	same(t, "who handles it", team.handlers(team.message(team.dev.ID, "루다", "배포 준비됐는지 알려줘").ID), "eden")
	same(t, "runs", team.runs(), "ruda 1, eden 1")
	team.message(team.dev.ID, "이든", "준비됐습니다.")
	same(t, "exchanges", len(team.events(coordination.TypeA2AAutoRoute, coordination.TypeA2ASend)), 0)
}

// With it the two speak with each other through the messenger, in a session of their own: it is in the log as an exchange, and no run of
// the channel handles the mention.
func TestAMentionBetweenAgentsBeginsAnExchange(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: mentionsEden, config: autoRoutes})
	team.says(team.dev.ID, "%s 배포 준비됐어?", team.at("ruda"))
	team.quiet()
	mention := team.message(team.dev.ID, "루다", "배포 준비됐는지 알려줘")
	same(t, "who handles it", team.handlers(mention.ID), "eden")
	same(t, "runs for messages", team.runs(), "ruda 1")
	routed := said[coordination.A2AAutoRoute](team, coordination.TypeA2AAutoRoute)
	sent := said[coordination.A2ASend](team, coordination.TypeA2ASend)
	if len(routed) != 1 || len(sent) != 1 {
		t.Fatalf("%d mentions are routed, and %d messages sent, want one each\n%s", len(routed), len(sent), team.story())
	}
	got := routed[0]
	if got.SenderAgentID != "ruda" || got.TargetAgentID != "eden" || got.ChannelID != team.dev.ID || got.Message != "배포 준비됐는지 알려줘" || got.MaxTurns == 0 ||
		got.WorkSessionID == "" || got.ConversationID == "" || got.ConversationID != sent[0].ConversationID || got.WorkSessionID != sent[0].WorkSessionID {
		t.Errorf("routed is %+v, sent %+v", got, sent[0])
	}
	for _, h := range said[coordination.DiscordInbound](team, coordination.TypeDiscordInboundHandled) {
		if h.MessageID == mention.ID && (h.RunID == "" || h.RunID != sent[0].RunID) {
			t.Errorf("the mention is handled by run %q, want that of the exchange, %q", h.RunID, sent[0].RunID)
		}
	}
	eden := team.asked("eden")[0]
	if inSession(&eden, "agent:eden:discord:channel:"+team.dev.ID) || strings.Contains(eden.Message(), "<@") || strings.Contains(eden.Message(), "@이든") {
		t.Errorf("eden is asked %q in\n%s\nwant the words without the mention, in a session of the exchange", eden.Message(), eden.System)
	}
	same(t, "ways", team.announcedIn(mention.ChannelID), true)
}

// announcedIn says whether something that flows between agents announce was posted in a channel.
func (team *discordTeam) announcedIn(channel string) bool {
	for _, d := range said[coordination.DiscordOutbound](team, coordination.TypeDiscordSent) {
		if d.ChannelID == channel && d.Purpose == "announce" {
			return true
		}
	}
	return false
}
