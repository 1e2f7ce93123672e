package monitor_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/delivery"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/routing"
)

// Ids of a server in Discord.
const (
	guildID   = "1400000000000000001"
	channelID = "1400000000000000002"
	threadID  = "1400000000000000003"

	rudaBot, edenBot, seumBot = "1401000000000000011", "1401000000000000012", "1401000000000000013"
	minsu                     = "1402000000000000001"
)

// bots are those of the three agents, which see every channel of the server.
var bots = []route.Bot{
	{UserID: rudaBot, AccountID: "default", Agent: "ruda", Name: "루다"},
	{UserID: edenBot, AccountID: "eden", Agent: "eden", Name: "이든"},
	{UserID: seumBot, AccountID: "seum", Agent: "seum", Name: "세움"},
}

// configured has the names of the agents and of their bots applied.
func (b *testBundle) configured(t testing.TB) {
	t.Helper()
	b.appending(t, coordination.TypeConfigApplied, `{"hash":"h","source":"test","agents":[{"id":"ruda","name":"루다"},{"id":"eden","name":"이든"},`+
		`{"id":"seum","name":"세움"}],"mentions":{"`+rudaBot+`":"루다","`+edenBot+`":"이든","`+seumBot+`":"세움"}}`)
}

// said is a message of a person in the channel, at a minute after noon.
func said(id, text string, minute float64) route.Message {
	return route.Message{ID: id, GuildID: guildID, ChannelID: channelID, Author: route.Author{ID: minsu, Name: "민수"}, Text: text, At: int64(at(minute))}
}

// heard decides about a message as it is done when it comes, and stores what was decided. Handlers are to run, but for those that are refused.
func (b *testBundle) heard(t testing.TB, m route.Message, refused ...string) {
	t.Helper()
	policy := route.DefaultPolicy()
	policy.DefaultAgent = "ruda"
	_, err := b.db.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		attendance, err := routing.Attendance(tx, m.ThreadID)
		if err != nil {
			return nil, err
		}
		d := route.Decide(&route.Situation{Message: m, Bots: bots, Policy: policy, Participants: attendance})
		for i := range d.Verdicts {
			if v := &d.Verdicts[i]; v.Mode == route.Handler && !slices.Contains(refused, v.Agent) {
				v.RunID = runOf(m.ID, v.Agent)
			}
		}
		var list []eventstore.StreamAppend
		for _, e := range d.Events() {
			stream := coordination.MessageStream(m.ID)
			if strings.HasPrefix(e.Type, "thread.") {
				stream = coordination.ThreadStream(m.Place())
			}
			list = append(list, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{newEvent(t, e.Type, e.AgentID, e.At, e.Data)}})
		}
		return list, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func runOf(message, agent string) string { return "discord:" + message + ":" + agent }

func newEvent(t testing.TB, typ, agent string, at int64, data any) eventstore.NewEvent {
	t.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		t.Fatal(err)
	}
	return eventstore.NewEvent{Type: typ, AgentID: agent, Data: text}.WithTS(at)
}

// happens stores an event of our own in a stream and returns its seq.
func (b *testBundle) happens(t testing.TB, stream, typ, agent string, minute float64, data any) int64 {
	t.Helper()
	r, err := b.db.Append(context.Background(), eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{newEvent(t, typ, agent, int64(at(minute)), data)}})
	if err != nil {
		t.Fatal(err)
	}
	return r.Seq
}

// ran stores a run that was asked for by a message; end is the type of the event that ends it, "" for none.
func (b *testBundle) ran(t testing.TB, message, agent string, minute float64, end string, over coordination.RunOver) {
	t.Helper()
	id := runOf(message, agent)
	key := "agent:" + agent + ":discord:channel:" + channelID
	b.happens(t, coordination.RunStream(id), coordination.TypeRunQueued, agent, minute,
		coordination.RunQueued{RunID: id, SessionKey: key, Lane: "main", Cause: "discord", Message: "m"})
	if end == "" {
		return
	}
	b.happens(t, coordination.RunStream(id), coordination.TypeRunStarted, agent, minute,
		coordination.RunStarted{RunID: id, SessionKey: key, SessionID: "s", StartedAtMs: int64(at(minute))})
	over.RunID, over.SessionKey, over.StartedAtMs, over.EndedAtMs = id, key, int64(at(minute)), int64(at(minute+1))
	b.happens(t, coordination.RunStream(id), end, agent, minute+1, over)
}

// posted stores that openclawd has posted a message.
func (b *testBundle) posted(t testing.TB, effect, agent, message, thread string, minute float64, d coordination.DiscordOutbound) int64 {
	t.Helper()
	d.Context.EventRole, d.EffectID, d.ChannelID, d.ThreadID, d.GuildID, d.MessageID, d.AccountID = coordination.RoleObservability, effect, channelID, thread, guildID,
		message, agent
	return b.happens(t, coordination.WorkStream(effect), coordination.TypeDiscordSent, agent, minute, d)
}

const (
	collabID     = "c1"
	askedMessage = "1404000000000000010"
)

// collaborated stores that ruda has asked eden for a review in a thread, in the message askedMessage, a minute after noon.
func (b *testBundle) collaborated(t testing.TB) {
	t.Helper()
	stream := coordination.CollabStream(collabID)
	in := coordination.Context{EventRole: coordination.RoleOrchestration, WorkSessionID: "ws_1"}
	b.happens(t, stream, coordination.TypeA2ACollaborateRequested, "ruda", 1, coordination.A2ACollaborate{Context: in, CollabID: collabID, FromAgent: "ruda",
		ToAgent: "eden", Key: "k", Content: "h", Base: int64(at(1)), Mode: "new_thread", ParentChannelID: channelID, Message: "<@" + edenBot + "> 리뷰 부탁",
		SessionKey: "agent:ruda:main", RunID: "r1"})
	b.happens(t, coordination.WorkStream("collab/c1"), coordination.TypeThreadCreated, "ruda", 1, coordination.Thread{ThreadID: threadID, ChannelID: channelID,
		GuildID: guildID, Name: "[협업] 루다 → 이든 · 리뷰", Kind: "collab", EffectID: "collab/c1", CollabID: collabID, FromAgent: "ruda", ToAgent: "eden"})
	b.posted(t, "collab/c1", "ruda", askedMessage, threadID, 1, coordination.DiscordOutbound{Purpose: delivery.Request, CollabID: collabID, RunID: "r1"})
	b.happens(t, stream, coordination.TypeA2ACollaborateSent, "ruda", 1, coordination.A2ACollaborate{Context: in, CollabID: collabID, FromAgent: "ruda", ToAgent: "eden",
		FromAccountID: "default", TargetBotID: edenBot, ThreadID: threadID, ThreadName: "[협업] 루다 → 이든 · 리뷰", ParentChannelID: channelID, GuildID: guildID,
		MessageIDs: []string{askedMessage}, Message: "<@" + edenBot + "> 리뷰 부탁", SentAt: int64(at(1)), Tracked: true})
	for _, bot := range bots[:2] {
		b.happens(t, coordination.ThreadStream(threadID), coordination.TypeThreadParticipantRegistered, bot.Agent, 1, coordination.ThreadParticipant{
			ThreadID: threadID, AgentID: bot.Agent, BotUserID: bot.UserID, Reason: "collaborate"})
	}
}
