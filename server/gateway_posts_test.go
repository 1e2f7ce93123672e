package server

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/discord/discordtest"
	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// sentAnswer is what clients read of an answer to send.
type sentAnswer struct {
	RunID, MessageID, Channel, ChannelID, Status string
	MessageIDs                                   []string
}

// params are those of a request, with names and values in turn.
func params(pairs ...string) map[string]any {
	p := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		p[pairs[i]] = pairs[i+1]
	}
	return p
}

// client is one that the gateway of the team lets in.
func (team *discordTeam) client(change ...func(*client.Options)) *client.Client {
	return connect(team.t, gatewayURL(team.gatewayAddress()), change...)
}

// A client's message is posted in Discord once, however often it is requested, also after a restart.
func TestAClientSendsToDiscord(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	c := team.client()
	calls[injected](t, c, "chat.inject", map[string]string{"sessionKey": startedSession(t, team, c, "eden"), "message": "before"})

	ask := params("to", "channel:"+team.dev.ID, "message", "@루다 배포가 끝났습니다", "channel", "discord", "sessionKey", "agent:eden:main", "idempotencyKey", "s/1")
	first := calls[sentAnswer](t, c, "send", ask)
	byRuda := func(m discordtest.Message) bool { return m.Author.ID == team.bots["ruda"].ID } // she answers
	posted := slices.DeleteFunc(team.written(team.dev.ID), byRuda)
	if len(posted) != 1 || posted[0].Author.ID != team.bots["eden"].ID || posted[0].Content != team.at("ruda")+" 배포가 끝났습니다" {
		t.Fatalf("Discord has %+v, want eden's words once, with ruda mentioned", team.texts(team.dev.ID))
	}
	wanted := sentAnswer{RunID: "s/1", MessageID: posted[0].ID, Channel: "discord", ChannelID: team.dev.ID, Status: "sent", MessageIDs: []string{posted[0].ID}}
	if diff := cmp.Diff(wanted, first); diff != "" {
		t.Errorf("answered (-want +got):\n%s", diff)
	}
	ask["message"] = "changed"
	if again := calls[sentAnswer](t, c, "send", ask); again.MessageID != first.MessageID {
		t.Errorf("the same key is answered with %+v, want %+v", again, first)
	}
	told := calls[history](t, c, "chat.history", map[string]string{"sessionKey": "agent:eden:main"})
	if texts := told.texts(); len(texts) == 0 || texts[len(texts)-1] != team.at("ruda")+" 배포가 끝났습니다" {
		t.Errorf("the session has %q, want at its end what was posted", texts)
	}

	// A long text is posted in pieces, in the thread, by the named account.
	long := params("to", team.ops.ID, "message", strings.Repeat("열두 글자가 넘는 말. ", 300), "accountId", "seum", "idempotencyKey", "s/2")
	pieces := calls[sentAnswer](t, c, "send", long)
	if got := team.written(team.ops.ID); len(got) < 2 || len(pieces.MessageIDs) != len(got) || pieces.MessageID != got[len(got)-1].ID || got[0].Author.ID != team.bots["seum"].ID {
		t.Errorf("answered %+v for %d messages, want the ids of all of them, by seum", pieces, len(got))
	}

	team.quiet()
	if runs := team.runs(); runs != "ruda 1" {
		t.Errorf("agents ran %q, want ruda once, who was mentioned", runs)
	}
	team.again()
	before := len(team.messages())
	if again := calls[sentAnswer](t, team.client(), "send", ask); again.MessageID != first.MessageID || again.Status != "sent" {
		t.Errorf("after a restart the key is answered with %+v, want %+v", again, first)
	}
	if n := len(team.messages()); n != before {
		t.Errorf("%d messages were posted again", n-before)
	}
}

// startedSession has an agent's main session begin, and is its key.
func startedSession(t *testing.T, team *discordTeam, c *client.Client, agent string) string {
	t.Helper()
	key := "agent:" + agent + ":main"
	calls[patched](t, c, "sessions.patch", map[string]string{"key": key, "label": agent + "'s"})
	return key
}

// A refusal by Discord is reported with its code, and not retried by a repeated request; an operator may resend it.
func TestAClientIsToldWhatDiscordRefuses(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{})
	c := team.client()
	posting := team.discord.Inject(discordtest.Fault{Match: discordtest.Match{Route: "POST /channels/{channel}/messages"}, Effect: discordtest.Forbidden(), Times: -1})
	ask := params("to", team.dev.ID, "message", "hello", "idempotencyKey", "s/1")
	for range 2 {
		refused := refusalBy(t, c, "send", ask)
		details, _ := refused.Details.(map[string]any)
		if refused.Code != protocol.CodeUnavailable || !strings.HasPrefix(refused.Message, "Error: permission_denied: ") || details["code"] != "permission_denied" ||
			details["channelId"] != team.dev.ID || details["hint"] == "" {
			t.Errorf("%+v, want permission_denied with its hint", refused)
		}
	}
	if n := posting.Hits(); n != 1 {
		t.Errorf("Discord was asked %d times, want once", n)
	}
	posting.Remove()
	if stuck := team.stuck(); !slices.Equal(stuck, []string{"send/s/1 dead"}) {
		t.Fatalf("there is %q, want the dead send", stuck)
	}
	for _, c := range []struct {
		to, account, field string
	}{{team.dev.ID, "ghost", "accountId"}, {"user:" + team.dev.ID, "", "to"}, {"#dev", "", "to"}} {
		refused := refusalBy(t, team.client(), "send", params("to", c.to, "message", "hi", "accountId", c.account, "idempotencyKey", "bad"))
		if details, _ := refused.Details.(map[string]any); refused.Code != protocol.CodeInvalidRequest || details["field"] != c.field || details["hint"] == "" {
			t.Errorf("%+v: %+v, want INVALID_REQUEST of %s", c, refused, c.field)
		}
	}
	if got := team.texts(team.dev.ID); len(got) != 0 {
		t.Errorf("Discord has %q, want nothing", got)
	}
	reader := team.client(func(o *client.Options) { o.Scopes = []string{"operator.read"} })
	if refused := refusalBy(t, reader, "send", ask); !strings.Contains(refused.Message, "operator.write") {
		t.Errorf("a client with read access gets %+v, want the missing scope", refused)
	}
}

func refusalBy(t *testing.T, c *client.Client, method string, ask any) *protocol.Error {
	t.Helper()
	got, err := c.Call(t.Context(), method, ask)
	var refused *protocol.Error
	if !errors.As(err, &refused) {
		t.Fatalf("%s %v: %s %v, want a refusal", method, ask, got, err)
	}
	return refused
}

// The answer to a client's request goes to Discord, too: to the named place, or where the session was last spoken to.
func TestAClientHasAnswersDelivered(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer {
		if strings.Contains(a.Last().Text, "in Discord") {
			return a2atest.Say("said in Discord")
		}
		return a2atest.Say("said by " + a.Agent)
	}})
	c := team.client()
	run := func(p map[string]any) {
		t.Helper()
		p["message"], p["deliver"] = "tell them", true
		if got, err := c.CallFinal(t.Context(), "agent", p, nil); err != nil || !strings.Contains(string(got), `"status":"ok"`) {
			t.Fatalf("agent %v: %s %v", p, got, err)
		}
	}
	run(params("agentId", "seum", "channel", "discord", "to", "channel:"+team.ops.ID, "idempotencyKey", "r1"))
	team.quiet()
	if got := team.texts(team.ops.ID); !slices.Equal(got, []string{"세움: said by seum"}) {
		t.Errorf("Discord has %q, want seum's answer", got)
	}

	team.says(team.dev.ID, "%s in Discord", team.at("eden"))
	team.quiet()
	key := coordination.ChannelKey("eden", "discord", team.dev.ID).String()
	run(params("sessionKey", key, "idempotencyKey", "r2"))
	team.quiet()
	if got := team.texts(team.dev.ID); !slices.Equal(got[1:], []string{"이든: said in Discord", "이든: said by eden"}) {
		t.Errorf("Discord has %q, want the second answer where the session was spoken to last", got)
	}
	refused := refusalBy(t, c, "agent", map[string]any{"agentId": "dajim", "message": "x", "deliver": true, "idempotencyKey": "r3"})
	if !strings.HasPrefix(refused.Message, "delivery channel is required") {
		t.Errorf("%+v, want a channel asked for", refused)
	}
}

// A person who has never written to a bot is written to, by a client and by an agent, and answers the agent.
func TestPeopleAreWrittenToFirst(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{answer: func(_ *discordTeam, a a2atest.Asked) a2atest.Answer { return a2atest.Say("said by " + a.Agent) }})
	c := team.client()
	to := "user:" + team.person.ID
	for range 2 {
		if sent := calls[sentAnswer](t, c, "send", params("to", to, "message", "hello", "agentId", "seum", "idempotencyKey", "first")); sent.Status != "sent" {
			t.Fatalf("%+v", sent)
		}
	}
	ask := params("agentId", "seum", "channel", "discord", "to", to, "message", "tell them", "idempotencyKey", "second")
	ask["deliver"] = true
	if got, err := c.CallFinal(t.Context(), "agent", ask, nil); err != nil || !strings.Contains(string(got), `"status":"ok"`) {
		t.Fatalf("%s %v", got, err)
	}
	team.quiet()
	direct := team.conversation("seum")
	m := team.says(direct.ID, "who is it?")
	team.quiet()
	same(t, "verdicts", team.verdicts(m.ID), []string{"seum handler binding"})
	same(t, "conversation", team.texts(direct.ID), []string{"세움: hello", "세움: said by seum", "병욱: who is it?", "세움: said by seum"})
	team.discord.Inject(discordtest.Fault{Match: discordtest.Match{Route: "POST /users/@me/channels"}, Effect: discordtest.Unavailable(503)})
	if refused := refusalBy(t, c, "send", params("to", to, "message", "hello", "idempotencyKey", "third")); refused.Code != protocol.CodeUnavailable {
		t.Errorf("%+v, want the service's failure", refused)
	}
}

// Clients see which bots are connected, and why one is not, without any token.
func TestAClientSeesTheBots(t *testing.T) {
	t.Parallel()
	team := startDiscordTeam(t, discordSetting{config: func(text string) string {
		return strings.Replace(text, `channels: { discord: { enabled: true,`, `channels: { discord: { enabled: true, defaultAccount: "seum",`, 1)
	}})
	type bot struct{ ID, Username string }
	type account struct {
		AccountID          string
		Running, Connected bool
		Bot                *bot
		LastError          *string
		Probe              *struct {
			OK  bool
			Bot *bot
		}
	}
	c := team.client()
	team.await("health to tell that all bots are connected", func() bool { // it is rebuilt when one of them changes
		health, err := c.Call(t.Context(), "health", nil)
		return err == nil && strings.Count(string(health), `"connected":true`) == len(team.bots)
	})
	got := calls[struct {
		ChannelAccounts         map[string][]account
		ChannelDefaultAccountID map[string]string
	}](t, c, "channels.status", map[string]bool{"probe": true})
	if n := len(got.ChannelAccounts["discord"]); n != len(team.bots) || got.ChannelDefaultAccountID["discord"] != "seum" {
		t.Errorf("%d accounts, default %q, want %d and seum", n, got.ChannelDefaultAccountID["discord"], len(team.bots))
	}
	for _, a := range got.ChannelAccounts["discord"] {
		is := team.bots[a.AccountID]
		if !a.Running || !a.Connected || a.Bot == nil || a.Bot.ID != is.ID || a.LastError != nil || a.Probe == nil || !a.Probe.OK {
			t.Errorf("%+v, want %s connected", a, a.AccountID)
		}
	}
	status := calls[struct{ ChannelSummary []string }](t, c, "status", nil)
	if diff := cmp.Diff([]string{"Discord: 4 of 4 bots connected"}, status.ChannelSummary); diff != "" {
		t.Errorf("the summary (-want +got):\n%s", diff)
	}

	const authenticationFailed = 4004
	team.bots["eden"].RefuseAsUnknown()
	team.bots["eden"].CloseSockets(authenticationFailed)
	team.await("eden's bot to be refused", func() bool {
		text, err := c.Call(t.Context(), "channels.status", json.RawMessage("{}"))
		return err == nil && strings.Contains(string(text), `"connected":false`) && strings.Contains(string(text), "channels.discord.accounts")
	})
	if text, err := c.Call(t.Context(), "channels.status", nil); err != nil || strings.Contains(string(text), team.bots["eden"].Token) {
		t.Errorf("%v, or a token is shown", err)
	}
}
