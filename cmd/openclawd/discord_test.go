package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/projections"
)

// Ids of a server in Discord.
const (
	storyGuild   = "1400000000000000001"
	storyChannel = "1400000000000000002"
	storyThread  = "1400000000000000003"
	storyHandled = "1404000000000000001"
	storySilent  = "1404000000000000002"
	storyAsked   = "1404000000000000010"
	storyEdenBot = "1401000000000000012"
)

// story is a log in which a person has asked eden, no one has answered another message, and ruda has asked eden for a review in a thread.
type story struct {
	dir string
	now time.Time
}

func newStory(t *testing.T) *story {
	t.Helper()
	s := &story{dir: t.TempDir(), now: time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)}
	log, err := database.OpenToWrite(t.Context(), s.db(), "", s.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if _, err := projections.Start(t.Context(), log, database.Projections(coordination.RulesV2), projections.Options{Rules: coordination.RulesV2, Now: s.clock}); err != nil {
		t.Fatal(err)
	}
	s.tell(t, log)
	return s
}

func (s *story) db() string       { return filepath.Join(s.dir, database.Name) }
func (s *story) clock() time.Time { return s.now }

// tell stores what has happened.
func (s *story) tell(t *testing.T, log *sqlite.DB) {
	t.Helper()
	happens := func(stream, typ, agent string, ago time.Duration, said any) {
		t.Helper()
		data, err := json.Marshal(said)
		if err != nil {
			t.Fatal(err)
		}
		e := eventstore.NewEvent{Type: typ, AgentID: agent, Data: data}.WithTS(s.now.Add(-ago).UnixMilli())
		if _, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{e}}); err != nil {
			t.Fatal(err)
		}
	}
	happens(coordination.ConfigStream, coordination.TypeConfigApplied, "", time.Hour, coordination.ConfigApplied{Hash: "h", Source: "openclaw.json",
		Agents:   []coordination.ConfigAgent{{ID: "ruda", Name: "루다"}, {ID: "eden", Name: "이든"}, {ID: "seum"}},
		Mentions: map[string]string{storyEdenBot: "이든"}})
	heard := coordination.DiscordInbound{Context: coordination.Context{EventRole: coordination.RoleObservability}, MessageID: storyHandled, ChannelID: storyChannel,
		GuildID: storyGuild, AuthorID: "1402000000000000001", AuthorName: "민수", Decision: "handler", Reason: string(route.ByMention), Order: "primary",
		Text: "<@" + storyEdenBot + "> 배포를 봐줘", MentionedAgents: []string{"eden"}, AccountID: "eden", RunID: "run-1"}
	happens(coordination.MessageStream(storyHandled), coordination.TypeDiscordInboundHandled, "eden", 10*time.Minute, heard)
	watched := heard
	watched.Decision, watched.Reason, watched.Order, watched.Text, watched.AccountID, watched.RunID = "observer", string(route.OthersMentioned), "", "", "", ""
	watched.Agents, watched.Summary = []string{"ruda", "seum"}, "@이든 배포를 봐줘"
	happens(coordination.MessageStream(storyHandled), coordination.TypeDiscordInboundObserved, "", 10*time.Minute, watched)
	run := coordination.RunStream("run-1")
	happens(run, coordination.TypeRunQueued, "eden", 10*time.Minute, coordination.RunQueued{RunID: "run-1", SessionKey: "agent:eden:main", Lane: "main", Cause: "discord", Message: "m"})
	began := s.now.Add(-10 * time.Minute).UnixMilli()
	happens(run, coordination.TypeRunStarted, "eden", 10*time.Minute, coordination.RunStarted{RunID: "run-1", SessionKey: "agent:eden:main", SessionID: "s", StartedAtMs: began})
	happens(run, coordination.TypeRunEnded, "eden", 9*time.Minute, coordination.RunOver{RunID: "run-1", SessionKey: "agent:eden:main", StartedAtMs: began,
		EndedAtMs: began + 60_000, Text: "봤습니다"})
	happens(coordination.WorkStream("reply/run-1"), coordination.TypeDiscordSent, "eden", 9*time.Minute, coordination.DiscordOutbound{EffectID: "reply/run-1",
		ChannelID: storyChannel, GuildID: storyGuild, MessageID: "1404000000000000003", AccountID: "eden", Purpose: "reply", RunID: "run-1"})
	dropped := coordination.DiscordInbound{MessageID: storySilent, ChannelID: storyChannel, GuildID: storyGuild, AuthorID: "9", AuthorName: "beep", Decision: "dropped",
		Reason: string(route.ForeignBot), Agents: []string{"eden", "ruda", "seum"}}
	happens(coordination.MessageStream(storySilent), coordination.TypeDiscordInboundDropped, "", 8*time.Minute, dropped)
	asked := coordination.A2ACollaborate{Context: coordination.Context{EventRole: coordination.RoleOrchestration}, CollabID: "c1", FromAgent: "ruda", ToAgent: "eden", Key: "k",
		Content: "h", Base: s.now.Add(-7 * time.Minute).UnixMilli(), Mode: "new_thread", ParentChannelID: storyChannel, Message: "<@" + storyEdenBot + "> 리뷰 부탁",
		SessionKey: "agent:ruda:main"}
	happens(coordination.CollabStream("c1"), coordination.TypeA2ACollaborateRequested, "ruda", 7*time.Minute, asked)
	happens(coordination.WorkStream("collab/c1"), coordination.TypeThreadCreated, "ruda", 7*time.Minute, coordination.Thread{ThreadID: storyThread, ChannelID: storyChannel,
		GuildID: storyGuild, Name: "[협업] 루다 → 이든", Kind: "collab", EffectID: "collab/c1", CollabID: "c1", FromAgent: "ruda", ToAgent: "eden"})
	happens(coordination.WorkStream("collab/c1"), coordination.TypeDiscordSent, "ruda", 7*time.Minute, coordination.DiscordOutbound{EffectID: "collab/c1",
		ChannelID: storyChannel, ThreadID: storyThread, GuildID: storyGuild, MessageID: storyAsked, AccountID: "default", Purpose: "request", CollabID: "c1"})
	sent := asked
	sent.ThreadID, sent.ThreadName, sent.GuildID, sent.MessageIDs, sent.Tracked = storyThread, "[협업] 루다 → 이든", storyGuild, []string{storyAsked}, true
	sent.SentAt, sent.FromAccountID, sent.TargetBotID = s.now.Add(-7*time.Minute).UnixMilli(), "default", storyEdenBot
	happens(coordination.CollabStream("c1"), coordination.TypeA2ACollaborateSent, "ruda", 7*time.Minute, sent)
	for _, agent := range []string{"ruda", "eden"} {
		happens(coordination.ThreadStream(storyThread), coordination.TypeThreadParticipantRegistered, agent, 7*time.Minute, coordination.ThreadParticipant{ThreadID: storyThread,
			AgentID: agent, BotUserID: "1", Reason: "collaborate"})
	}
}

// says runs a command on the log, which no server serves unless the arguments name one, and returns what it says.
func (s *story) says(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out, notes strings.Builder
	p := &process{args: append(args, "--db", s.db()), stdout: &out, stderr: &notes, now: s.clock,
		getenv: func(name string) string { return map[string]string{"TASK_MONITOR_PORT": "1"}[name] }}
	if got := execute(t.Context(), p); got != code {
		t.Fatalf("%v: exit %d, want %d: %s", args, got, code, notes.String())
	}
	return out.String() + notes.String()
}

// holds checks that a text has lines of these forms.
func holds(t *testing.T, what, text string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
			t.Errorf("%s has no line %s:\n%s", what, line, text)
		}
	}
}

// Who answered and why is told in columns, whatever script names are in.
func TestWhySaysWhoAnswered(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	holds(t, "why", s.says(t, exitOK, "why", storyHandled),
		`message       `+storyHandled, `in            #`+storyChannel, `by            민수`, `sent          2026-02-20 11:50:00, 10 min ago`, `text          @이든 배포를 봐줘`,
		`link          https://discord.com/channels/`+storyGuild+`/`+storyChannel+`/`+storyHandled, `mentions      eden`,
		`이든 handles it\. The message mentions it\.`,
		`AGENT  NAME  WHAT      ORDER    REASON           WHY`,
		`eden   이든  handler   primary  mentioned        The message mentions it\.`,
		`ruda   루다  observer           other_mentioned  Other agents are mentioned, and it is not\.`,
		`seum         observer           other_mentioned  Other agents are mentioned, and it is not\.`,
		`RUN    AGENT  STATE  TOOK  ERROR`, `run-1  eden   ok     1m0s`,
		`POSTED               AGENT  AS     AT                   AFTER`, `1404000000000000003  eden   reply  2026-02-20 11:51:00  1m0s`,
		`NOTE`, `no server answers at .*: read from .*, without the names that only bots know`)
	holds(t, "why of no agent", s.says(t, exitOK, "why", storySilent), `No agent handles or remembers it\. It was written by a bot of no agent here, .*`,
		`eden   이든  dropped         foreign_bot  It was written by a bot of no agent here, .*`)
	var answer struct {
		Source  string
		Message struct{ Text string }
		Agents  []struct{ AgentID, Mode string }
	}
	link := "https://discord.com/channels/" + storyGuild + "/" + storyChannel + "/" + storyHandled
	if err := json.Unmarshal([]byte(s.says(t, exitOK, "why", link, "--json")), &answer); err != nil || answer.Source != "file" || len(answer.Agents) != 3 ||
		answer.Message.Text != "@이든 배포를 봐줘" {
		t.Errorf("%+v, %v: want the message by its link, from the file", answer, err)
	}
	if said := s.says(t, exitFailed, "why", "1404000000000000099"); !strings.Contains(said, "no decision about message 1404000000000000099") || !strings.Contains(said, "hint: ") {
		t.Errorf("of an unknown message: %s", said)
	}
	if said := s.says(t, exitConfig, "why", "latest"); !strings.Contains(said, "17 to 20 digits") {
		t.Errorf("of no id: %s", said)
	}
}

// A server that has bots is asked, and its names are shown.
func TestWhyAsksTheServer(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	log, err := database.OpenToRead(t.Context(), s.db(), s.clock)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	bots := []health.Bot{
		{Channel: "discord", AccountID: "eden", AgentID: "eden", UserName: "이든봇", State: "ready", Since: s.now.UnixMilli()},
		{Channel: "discord", AccountID: "seum", AgentID: "seum", State: "failed", Since: s.now.Add(-time.Hour).UnixMilli(), Text: "Discord refuses its token", Hint: "make a new one"},
	}
	server := httptest.NewServer(monitor.New(monitor.Options{Store: log, Rules: coordination.RulesV2, Now: s.clock,
		Names: strings.NewReplacer("<#"+storyChannel+">", "#일반", "<@"+storyEdenBot+">", "@이든봇").Replace, Bots: func() []health.Bot { return bots },
		Operations: monitor.Operations{Running: func(context.Context) health.Running {
			return health.Running{Mode: "produce", Database: &health.DatabaseState{File: s.db()}}
		}}}).Handler())
	defer server.Close()
	api := []string{"--api", strings.TrimPrefix(server.URL, "http://")}
	said := s.says(t, exitOK, append([]string{"why", storyHandled}, api...)...)
	holds(t, "why", said, `in            #일반`, `text          @이든봇 배포를 봐줘`)
	if strings.Contains(said, "NOTE") {
		t.Errorf("it says that no server was asked:\n%s", said)
	}
	if said := s.says(t, exitFailed, append([]string{"why", "1404000000000000099"}, api...)...); !strings.Contains(said, "no decision about message") {
		t.Errorf("of an unknown message: %s", said)
	}
	holds(t, "bots", s.says(t, exitOK, append([]string{"discord", "bots"}, api...)...),
		`CHANNEL  ACCOUNT  AGENT  NAME    STATE   SINCE     PROBLEM`, `discord  eden     eden   이든봇  ready   just now`,
		`discord  seum     seum           failed  1 h ago   Discord refuses its token`, `discord seum: Discord refuses its token; make a new one`, `2 bots`)
	holds(t, "status", s.says(t, exitOK, append([]string{"status"}, api...)...), `discord    1 of 2 bots connected, 1 request without an answer`)
}

// Threads, what was observed, and requests are listed from the database.
func TestDiscordIsListed(t *testing.T) {
	t.Parallel()
	s := newStory(t)
	holds(t, "threads", s.says(t, exitOK, "discord", "threads"), `THREAD               KIND    SPOKEN     AGENTS      SUSPENDED  NAME`,
		storyThread+`  collab  7 min ago  ruda, eden             \[협업\] 루다 → 이든`, `1 thread`)
	holds(t, "threads of seum", s.says(t, exitOK, "discord", "threads", "--agent", "seum"), `no matching threads; try: openclawd channels threads`)
	holds(t, "all places", s.says(t, exitOK, "discord", "threads", "--all"), storyChannel+`  channel .*`, `2 threads`)
	holds(t, "observed", s.says(t, exitOK, "discord", "observed", "--agent", "seum"), `AGENT  MESSAGE              PLACE                SENT        BY    WHAT`,
		`seum   `+storyHandled+`  `+storyChannel+`  10 min ago  민수  @이든 배포를 봐줘`, `1 record`)
	holds(t, "collaborations", s.says(t, exitOK, "collaborations", "--status", "pending"), `ID  WHO          STATE    ASKED      REMINDED  MESSAGE`,
		`c1  ruda → eden  pending  7 min ago            @이든 리뷰 부탁`, `1 request`)
	holds(t, "no collaborations", s.says(t, exitOK, "collaborations", "--delivery", "failed"), `no matching requests; try: openclawd collaborations`)
	holds(t, "a collaboration", s.says(t, exitOK, "collaborations", "c1"), `request       c1`, `who           ruda → eden`, `state         pending`,
		`thread        `+storyThread+` \[협업\] 루다 → 이든`, `POSTED               AS       AT                   BY ACCOUNT`, storyAsked+`  request  2026-02-20 11:53:00  default`)
	var list struct{ Count int }
	if err := json.Unmarshal([]byte(s.says(t, exitOK, "collaborations", "--json")), &list); err != nil || list.Count != 1 {
		t.Errorf("%+v, %v: want one", list, err)
	}
	holds(t, "status", s.says(t, exitOK, "status"), `discord    1 request without an answer`)
}
