package inbound_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/attach"
	"github.com/pronto-lab/openclawd/coordination/delivery"
)

// posts records that an agent has posted a text in a group of Telegram, as several messages; no one has heard of it.
func (l *fixture) posts(agent, effect string, messages ...string) (ids []string) {
	l.t.Helper()
	return l.postsFiles(agent, effect, nil, messages...)
}

// postsFiles is posts of a text with files, each of which is a message of its own.
func (l *fixture) postsFiles(agent, effect string, files []delivery.File, messages ...string) (ids []string) {
	l.t.Helper()
	d := delivery.Delivery{Channel: "telegram", Purpose: delivery.Reply, AgentID: agent, AccountID: "acc-" + agent, ChannelID: group, RunID: "r-3"}
	for _, text := range messages {
		d.Messages = append(d.Messages, mentions(text))
	}
	d.Files = files
	l.lease(&d, effect)
	for i := range d.Posts() {
		id := group + ":" + effect[len(effect)-1:] + string(rune('0'+i))
		ids = append(ids, id)
		l.append(coordination.WorkStream(effect), coordination.TypeDiscordSent, agent, coordination.DiscordOutbound{Context: observing(), Channel: "telegram", EffectID: effect,
			ChannelID: group, GuildID: group, MessageID: id, AccountID: d.AccountID, Purpose: delivery.Reply, RunID: "r-3", Index: i})
	}
	l.append(coordination.WorkStream(effect), coordination.TypeWorkCompleted, agent, coordination.WorkAttempt{Context: observing(), EffectID: effect, Attempt: 1})
	return ids
}

// hearsPosts runs the service until a message is decided.
func (l *fixture) hearsPosts(id string) {
	l.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	done := make(chan error, 1)
	go func() { done <- l.Run(ctx) }()
	for len(l.events(coordination.MessageStream(id))) == 0 && ctx.Err() == nil {
		head, err := l.db.Head(ctx)
		if err != nil {
			l.t.Fatal(err)
		}
		if len(l.events(coordination.MessageStream(id))) == 0 {
			_, _ = l.db.Wait(ctx, head.Seq+1)
		}
	}
	cancel()
	if err := <-done; err != nil {
		l.t.Error(err)
	}
}

// Telegram tells no bot what the others write. What the log knows to be posted is told once, also if the program was killed
// before it was told, with the cause that it has.
func TestSiblingsAreToldFromTheLog(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{channel: "telegram", channels: `"telegram": {"groupPolicy": "open"}`})
	three := 3
	l.append(coordination.RunStream("r-3"), coordination.TypeRunQueued, "eden", coordination.RunQueued{Context: coordination.Context{Hop: &three,
		EventRole: coordination.RoleOrchestration}, RunID: "r-3", SessionKey: "agent:eden:main", Lane: "main", Cause: "test", Message: "x"})
	ids := l.posts("eden", "reply/1", "**@seum 봐줘**", "둘째 부분")
	l = l.reopened()
	l.hearsPosts(ids[1])
	l.want(ids[0], "seum=mentioned observer:other_mentioned")
	l.want(ids[1], "dropped:continuation")
	if q := l.asked(ids[0], "seum"); q == nil || q.Hop == nil || *q.Hop != 4 || q.FromAgent != "eden" || q.SessionKey != "agent:seum:telegram:group:-100123" {
		t.Errorf("seum is asked %+v, want it by eden, after hop 3", q)
	}
	more := l.posts("eden", "reply/2", "끝")
	l = l.reopened()
	l.hearsPosts(more[0])
	if n := len(l.events(coordination.MessageStream(ids[0]))); n != 2 {
		t.Errorf("there are %d events about the first post, want the two of its decision", n)
	}
}

// The first message of a post has all its files: who is called gets them from beside the log, and who is not sees where the API has them.
func TestSiblingsAreToldOfFiles(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{channel: "telegram", channels: `"telegram": {"groupPolicy": "open"}`})
	id := strings.Repeat("0a", 32)
	files := []delivery.File{{Name: "q3 report.csv", Type: "text/csv", Size: 8, SHA256: id}}
	called := l.postsFiles("eden", "reply/1", files, "@seum 봐줘")
	alone := l.postsFiles("eden", "reply/2", files)
	l = l.reopened()
	l.hearsPosts(alone[0])
	l.want(called[0], "seum=mentioned observer:other_mentioned")
	l.want(called[1], "dropped:continuation")
	q := l.asked(called[0], "seum")
	if q == nil {
		t.Fatal("seum is not asked")
	}
	var order attach.Order
	scheduled := read[coordination.WorkScheduled](t, &l.events(coordination.WorkStream(q.Files))[0])
	if err := json.Unmarshal(scheduled.Payload, &order); err != nil || len(order.Files) != 1 ||
		order.Files[0] != (attach.File{Name: "q3 report.csv", Type: "text/csv", Size: 8, SHA256: id}) {
		t.Errorf("seum gets %+v, %v, want the file of the post", order.Files, err)
	}
	for _, c := range []struct{ message, summary string }{{called[0], "봐줘"}, {alone[0], "[q3 report.csv]"}} {
		seen := 0
		for _, e := range l.decided(c.message) {
			d := read[coordination.DiscordInbound](t, &e)
			if e.Type != coordination.TypeDiscordInboundObserved {
				continue
			}
			seen++
			if !slices.Equal(d.URLs, []string{"/api/files/" + id + "?name=q3+report.csv"}) || !strings.Contains(d.Summary, c.summary) {
				t.Errorf("observers see %q with %q, want %q and where the file is", d.Summary, d.URLs, c.summary)
			}
		}
		if seen != 1 {
			t.Errorf("%s is observed %d times, want once", c.message, seen)
		}
	}
}

// A post is told when its bot is there: before, no bot of the team is.
func TestSiblingsAreToldWhenTheBotsAreThere(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{channel: "telegram", channels: `"telegram": {"groupPolicy": "open"}`})
	id := l.posts("eden", "reply/1", "@seum 봐줘")[0]
	looks := make(chan struct{}, 100)
	l.sight.looked = func() {
		if len(looks) == 5 {
			l.sight.blindLocked("eden", false)
		}
		looks <- struct{}{}
	}
	l.sight.blind("eden", true)
	l.hearsPosts(id)
	l.want(id, "seum=mentioned observer:other_mentioned")
	if len(looks) < 5 {
		t.Errorf("it was decided after %d looks, want it to wait for eden's bot", len(looks))
	}
}

// blindLocked is blind for who holds the lock.
func (s *sight) blindLocked(agent string, blind bool) {
	for i := range s.bots {
		if s.bots[i].Agent == agent {
			s.bots[i].Blind = blind
		}
	}
}
