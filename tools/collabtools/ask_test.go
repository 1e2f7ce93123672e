package collabtools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	postRoute   = "POST /channels/{channel}/messages"
	threadRoute = "POST /channels/{channel}/threads"
	noteOfEden  = "이든에게 메시지를 전달했습니다. 스레드에서 응답을 기다리세요."
)

// Checklist A2: the answer comes at once, with the note, before there is an answer.
func TestBoxA2_ImmediateReturnWithNote(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "인증 모듈 코드 리뷰 부탁해. PR #42 확인해줘.", "threadName", "인증 모듈 코드 리뷰")
	thread := m.Threads(m.lobby.ID)[0]
	want := answer{"success": true, "threadId": thread.ID, "threadName": "[협업] 루다 → 이든 · 인증 모듈 코드 리뷰", "channelId": m.lobby.ID, "note": noteOfEden,
		"messageId": m.Messages(thread.ID)[0].ID, "collabId": a["collabId"], "status": "sent"}
	if diff := cmp.Diff(want, a); diff != "" || thread.Name != a.text("threadName") || a.text("collabId") == "" {
		t.Errorf("the answer (-want +got):\n%s\nthe thread is called %q", diff, thread.Name)
	}
	if row := m.row(a.text("collabId")); row.Status != "pending" {
		t.Errorf("the request is %q, want pending", row.Status)
	}
}

// Checklist T1: a thread, the mention, both take part.
func TestBoxT1_ThreadMentionParticipants(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "코드 리뷰 해줘")
	thread := a.text("threadId")
	if got, want := m.posted(thread), "<@"+m.bot["eden"].ID+">\n\n코드 리뷰 해줘"; len(got) != 1 || got[0] != want {
		t.Errorf("posted is %q, want %q", got, want)
	}
	if c, ok := m.Channel(thread); !ok || c.Type != discordtest.PublicThread || c.Name != "[협업] 루다 → 이든 · 코드 리뷰 해줘" {
		t.Errorf("the thread is %+v, want a public one with both names and how the message begins", c)
	}
	if one := m.Messages(thread)[0]; one.Author.ID != m.bot["ruda"].ID || len(one.Mentions) != 1 || one.Mentions[0].ID != m.bot["eden"].ID {
		t.Errorf("the message is by %s and calls %v, want ruda's bot calling eden's", one.Author.Username, one.Mentions)
	}
	if diff := cmp.Diff([]string{"eden", "ruda"}, m.participants(thread)); diff != "" {
		t.Errorf("participants (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{coordination.TypeA2ACollaborateRequested, coordination.TypeA2ACollaborateSent}, m.types("a2a.")); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	asked, sent := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateRequested), last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateSent)
	if asked.FromAgent != "ruda" || asked.ToAgent != "eden" || asked.Mode != "new_thread" || asked.SessionKey != "agent:ruda:main" || asked.WorkSessionID != "ws_test" ||
		asked.Hop == nil || *asked.Hop != 1 || asked.EventRole != coordination.RoleOrchestration || asked.Message != "코드 리뷰 해줘" || asked.ParentChannelID != m.lobby.ID {
		t.Errorf("requested says %+v", asked)
	}
	if sent.ThreadID != thread || !sent.Tracked || sent.FromAccountID != "ruda" || sent.TargetBotID != m.bot["eden"].ID || len(sent.MessageIDs) != 1 || sent.SentAt == 0 {
		t.Errorf("sent says %+v", sent)
	}
}

// Checklist C1, C2 and C3: from a Discord channel, a web session and the main session, each in its channel.
func TestBoxC1C2C3_FromEverySession(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	web := caller("ruda")
	web.SessionKey, web.Channel = "agent:ruda:webchat:direct:bora", "webchat"
	spawned, other := caller("ruda"), caller("ruda")
	spawned.SessionKey, other.SessionKey = "agent:ruda:subagent:1", "agent:ruda:a2a:conversation"
	direct := caller("ruda")
	conversation, err := m.bora.Conversation(m.bot["ruda"].ID)
	if err != nil {
		t.Fatal(err)
	}
	direct.Channel, direct.To, direct.AccountID = "discord", "channel:"+conversation.ID, "ruda"
	for i, c := range []struct {
		box  string
		from tool.Caller
		want discordtest.Channel
	}{{"C1", in("ruda", m.lab.ID), m.lab}, {"C2", web, m.lobby}, {"C3", caller("ruda"), m.lobby}, {"a sub-agent", spawned, m.lobby},
		{"between agents", other, m.lobby}, {"a conversation with a person", direct, m.lobby}} {
		a := m.asks(c.from, fmt.Sprintf("질문 %d", i), "threadName", c.box)
		if thread, ok := m.Channel(a.text("threadId")); !ok || thread.ParentID == nil || *thread.ParentID != c.want.ID {
			t.Errorf("%s: the thread is %+v, want one in %s", c.box, thread, c.want.Name)
		}
	}
}

// Checklist C4: an unknown agent, and one without a bot, are refused at once with an event that names the missing binding.
func TestBoxC4_UnknownAgent(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	for _, target := range []string{"ghost", "mute"} {
		a := m.refuses(collaborate.CodeMapping, caller("ruda"), "질문", "targetAgent", target)
		if !strings.Contains(a.text("hint"), `{agentId: "`+target+`", match: {channel: "discord"`) {
			t.Errorf("%s: hint is %q, want the binding", target, a.text("hint"))
		}
		if e := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateFailed); e.ErrorCode != collaborate.CodeMapping || e.FromAgent != "ruda" ||
			e.ToAgent != target || e.ErrorMessage == "" || e.WorkSessionID != "ws_test" {
			t.Errorf("%s: the event says %+v", target, e)
		}
	}
	if n := len(m.RequestsTo(discordtest.Match{Route: postRoute})) + len(m.RequestsTo(discordtest.Match{Route: threadRoute})); n != 0 {
		t.Errorf("%d requests were made of Discord, want none", n)
	}
}

// Checklist E6 is C4; without any bot the setting is named.
func TestBoxE6_WithoutBots(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{noBots: true, asleep: true})
	if a := m.refuses(collaborate.CodeMapping, caller("ruda"), "질문"); !strings.Contains(a.text("hint"), "channels.discord.accounts") {
		t.Errorf("hint is %q, want the setting", a.text("hint"))
	}
}

// Checklist M1: by the agent's id, in any case. M2: by the account's id, and by a mention; the request goes to the agent then.
func TestBoxM1M2_ByAgentAndByAccount(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	for i, target := range []string{"eden", "EDEN", "codebot", "<@" + m.bot["eden"].ID + ">"} {
		a := m.asks(caller("ruda"), fmt.Sprint("질문 ", i), "targetAgent", target)
		if row := m.row(a.text("collabId")); row.TargetAgent != "eden" || row.TargetBot != m.bot["eden"].ID || a.text("note") != noteOfEden {
			t.Errorf("%s: the request is to %s by bot %s, want eden", target, row.TargetAgent, row.TargetBot)
		}
	}
}

// Checklist S1 to S4: where threads may be opened.
func TestBoxS1S2S3_Channels(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	m.asks(caller("ruda"), "S1", "channelId", m.lab.ID)
	a := m.refuses(collaborate.CodeChannel, caller("ruda"), "S2", "channelId", m.office.ID)
	if !strings.Contains(a.text("hint"), "allowedChannels") {
		t.Errorf("hint is %q, want the setting", a.text("hint"))
	}
	m.refuses(collaborate.CodeChannel, in("ruda", m.office.ID), "S2 by its session")
	m.refuses(collaborate.CodeNotFound, caller("ruda"), "no such channel", "channelId", "999999999999999999")
	m.refuses(collaborate.CodeNotFound, caller("ruda"), "no id", "channelId", "../users/@me")
	if lobby, lab, office := m.threads(m.lobby), m.threads(m.lab), m.threads(m.office); len(lobby) != 0 || len(lab) != 1 || len(office) != 0 {
		t.Errorf("threads are in the lobby %v, in the lab %v, in the office %v; want one in the lab alone", lobby, lab, office)
	}
	m.asks(caller("ruda"), "S3", "threadName", "S3")
	if got := m.threads(m.lobby); len(got) != 1 {
		t.Errorf("the usual channel has threads %v, want one", got)
	}
}

func TestBoxS4_NoUsualChannel(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{config: map[string]any{"defaultChannel": ""}})
	if a := m.refuses(collaborate.CodeNoChannel, caller("ruda"), "질문"); !strings.Contains(a.text("hint"), "channels.discord.collaboration.defaultChannel") {
		t.Errorf("hint is %q, want the setting", a.text("hint"))
	}
	m.asks(caller("ruda"), "질문", "channelId", m.lab.ID)
}

// Checklist L3: a request in a thread shared with the other agent is an ordinary message there: no new thread, no mention, no tracking.
func TestBoxL3_NoCollaborateInASharedThread(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	thread := m.asks(caller("ruda"), "코드 리뷰 해줘").text("threadId")
	m.says("eden", thread, "괜찮아 보여요")
	a := m.asks(in("ruda", thread), "한 가지 더 확인해줘")
	if got, want := a.text("note"), "이든과 이미 함께 있는 스레드이므로 새 스레드를 만들지 않고 일반 메시지로 남겼습니다."; got != want {
		t.Errorf("note is %q, want %q", got, want)
	}
	if got := m.posted(thread); a.text("threadId") != thread || len(m.threads(m.lobby)) != 1 || got[len(got)-1] != "한 가지 더 확인해줘" {
		t.Errorf("posted is %q in %v, want the message as it is, in the thread that there is", got, m.threads(m.lobby))
	}
	if sent := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateSent); sent.Tracked {
		t.Error("an answer is waited for, want none")
	}
	b := m.asks(in("eden", thread), "답입니다", "targetAgent", "ruda")
	if b.text("threadId") != thread || len(m.threads(m.lobby)) != 1 {
		t.Errorf("eden's is in thread %s of %v, want %s", b.text("threadId"), m.threads(m.lobby), thread)
	}
}

// Checklist L4: the eleventh request between two agents within five minutes is refused in either direction, with a warning and the time;
// a later one is not.
func TestBoxL4_PairLimit(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	for i := range 10 {
		from, to := "ruda", "eden"
		if i%2 == 1 {
			from, to = to, from
		}
		m.asks(caller(from), fmt.Sprint("질문 ", i), "targetAgent", to)
	}
	a := m.refuses(collaborate.CodePairLimit, caller("ruda"), "열한 번째")
	if reset, _ := a["resetAtMs"].(float64); !strings.HasPrefix(a.text("error"), "warning: ") || int64(reset) <= m.now().UnixMilli() {
		t.Errorf("the answer is %v, want a warning with a time to come", a)
	}
	limited := m.events(coordination.TypeCollabRateLimited)
	if d := last[coordination.Collab](m, coordination.TypeCollabRateLimited); len(limited) != 1 || limited[0].Stream != "agent/ruda" || d.FromAgent != "ruda" || d.ToAgent != "eden" {
		t.Errorf("events are %+v, want one in the stream of ruda", limited)
	}
	m.asks(caller("ruda"), "다른 에이전트", "targetAgent", "seum")
	m.advance(5*time.Minute + time.Second)
	m.asks(caller("ruda"), "열한 번째")
}

// A message that was passed on too often is refused, so three agents that keep asking each other come to an end.
func TestRequestsAreNotPassedOnForEver(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	c := caller("ruda")
	c.Hop = chain.DefaultLimits().Hops - 1
	m.asks(c, "마지막")
	c.Hop++
	m.refuses(collaborate.CodeHops, c, "너무 멀리")
	if e := last[coordination.A2ACollaborate](m, coordination.TypeA2ACollaborateFailed); e.ErrorCode != collaborate.CodeHops || e.Hop == nil || *e.Hop != chain.DefaultLimits().Hops+1 {
		t.Errorf("the event says %+v", e)
	}
}

// A fault of the request itself is reported, and nothing is done.
func TestRefusals(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{tools: map[string]any{"agentToAgent": map[string]any{"enabled": true, "allow": []string{"ruda", "eden", "mute"}}}})
	m.refuses(collaborate.CodeSelf, caller("ruda"), "나에게", "targetAgent", "RUDA")
	m.refuses(collaborate.CodeForbidden, caller("ruda"), "질문", "targetAgent", "seum")
	m.refuses(collaborate.CodeInvalid, caller("ruda"), strings.Repeat("가", 2001))
	m.refuses(collaborate.CodeInvalid, caller("ruda"), " \n ")
	m.refuses(collaborate.CodeAccount, caller("ruda"), "질문", "accountId", "codebot")
	m.refuses(collaborate.CodeAccount, caller("ruda"), "질문", "accountId", "ghost")
	m.refuses(collaborate.CodeNotFound, caller("ruda"), "질문", "threadId", "123456789012345678")
	if got := m.types("a2a.collaborate.requested"); len(got) != 0 {
		t.Errorf("%d requests were taken on, want none", len(got))
	}
	var codes []string
	for _, e := range m.events(coordination.TypeA2ACollaborateFailed) {
		codes = append(codes, strings.Split(strings.SplitAfter(string(e.Data), `"errorCode":"`)[1], `"`)[0])
	}
	want := []string{collaborate.CodeSelf, collaborate.CodeForbidden, collaborate.CodeAccount, collaborate.CodeAccount, collaborate.CodeNotFound}
	if diff := cmp.Diff(want, codes); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// An agent that reaches no other one is not offered the tool, nor is a utility agent; all others are, with the guide.
func TestWhoIsOfferedTheTool(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{asleep: true, tools: map[string]any{"agentToAgent": map[string]any{"enabled": true, "allow": []string{"ruda", "eden", "quick"}}}})
	for key, want := range map[string]bool{"agent:ruda:main": true, "agent:ruda:subagent:1": true, "agent:ruda:a2a:c": true, "agent:ruda:cron:daily": true,
		"agent:ruda:discord:channel:1": true, "agent:ruda:webchat:direct:b": true, "agent:seum:main": false, "agent:quick:main": false} {
		k, err := coordination.ParseSessionKey(key)
		if err != nil {
			t.Fatal(err)
		}
		c := caller(k.Agent)
		c.SessionKey = key
		offered := m.box.Offer(c)
		if got := len(offered) == 1; got != want {
			t.Errorf("%s is offered the tool: %t, want %t", key, got, want)
		} else if got && !strings.HasPrefix(offered[0].Guide, "## Peer Collaboration — collaborate 도구\n") {
			t.Errorf("the guide is %.60q", offered[0].Guide)
		}
	}
}

// Secrets are never posted, and the requester is told. A message of the maximum length is posted completely, though the mention makes it
// two.
func TestMessagesAreWholeAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	const secret = "sk-proj-abcdefghijklmnopqrstuvwxyz0123456789"
	a := m.asks(caller("ruda"), "열쇠는 "+secret)
	if got := strings.Join(m.posted(a.text("threadId")), ""); a["masked"] != true || strings.Contains(got, secret) || !strings.Contains(got, "열쇠는 ") {
		t.Errorf("posted is %q, masked %v; want the message without the secret, and a word of it", got, a["masked"])
	}
	if slices.ContainsFunc(m.events(""), func(e eventstore.Event) bool { return strings.Contains(string(e.Data), secret) }) {
		t.Error("the log holds the secret")
	}
	long := strings.Repeat("가나다라 ", 400)
	a = m.asks(caller("ruda"), long, "threadName", "긴 글")
	got := m.posted(a.text("threadId"))
	if text := strings.Join(got, " "); len(got) != 2 || text != "<@"+m.bot["eden"].ID+">\n\n"+strings.TrimSpace(long) {
		t.Errorf("%d messages of %d bytes are posted, want two that are the whole together but for the blank between them", len(got), len(text))
	}
	if row := m.row(a.text("collabId")); len(row.MessageIDs) != 2 || a.text("messageId") != row.MessageIDs[0] {
		t.Errorf("the request stands in %v, the answer says %s; want both, and the first one", row.MessageIDs, a.text("messageId"))
	}
}

// Only the target is mentioned, whatever the message says.
func TestNoOtherIsCalled(t *testing.T) {
	t.Parallel()
	m := newTeam(t, setting{})
	a := m.asks(caller("ruda"), "@everyone <@"+m.bora.ID+"> 보세요")
	if one := m.Messages(a.text("threadId"))[0]; one.MentionEveryone || len(one.Mentions) != 1 || one.Mentions[0].ID != m.bot["eden"].ID {
		t.Errorf("the message calls %v and everyone %t, want eden alone", one.Mentions, one.MentionEveryone)
	}
}
