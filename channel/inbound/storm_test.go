package inbound_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
)

// Whatever is said in whatever order, however often ten bots report it, with edits, restarts and blind bots: each message has one
// verdict for each agent, its handlers run once, and no one else runs.
func TestStormsLeadToOneRunOfEachHandler(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		l := setup(t, setting{agents: team(10), logs: &buffer{}, alter: func(c *config.Config) {
			c.Discord.AllowBots = rapid.SampledFrom([]string{"no", "mentions", "yes"}).Draw(rt, "foreign bots")
			c.Discord.Collaboration.ThreadMention = rapid.SampledFrom([]string{route.Mentioned, route.Participants}).Draw(rt, "thread mention")
		}})
		defer func() { l.close() }()
		if rapid.Bool().Draw(rt, "collaborating") {
			l.collaborates("c1", "agent0", "agent1", 1)
		}
		var heard []channel.Inbound
		for range rapid.IntRange(1, 25).Draw(rt, "length") {
			l.after(time.Duration(rapid.SampledFrom([]int{0, 1, 5, 20, 70}).Draw(rt, "seconds")) * time.Second)
			switch rapid.IntRange(0, 9).Draw(rt, "kind") {
			case 0:
				l = l.reopened()
			case 1:
				l.sight.blind(rapid.SampledFrom(l.set.agents).Draw(rt, "who"), rapid.Bool().Draw(rt, "blind"))
			case 2, 3:
				if len(heard) == 0 {
					continue
				}
				in := rapid.SampledFrom(heard).Draw(rt, "again")
				if rapid.Bool().Draw(rt, "edited") {
					in.Kind, in.Message.Content = channel.Edited, "<@"+userID("agent7")+"> 봐줘"
				}
				l.hear(rt, in)
			default:
				in := l.stormMessage(rt)
				heard = append(heard, in)
				l.hear(rt, in)
			}
		}
		l.judge(rt, heard)
	})
}

func (l *fixture) stormMessage(rt *rapid.T) channel.Inbound {
	author := rapid.OneOf(rapid.SampledFrom([]string{"bora", "bora", "stranger", "foreign"}), rapid.SampledFrom(l.set.agents)).Draw(rt, "author")
	var text []string
	for _, agent := range rapid.SliceOfN(rapid.SampledFrom(l.set.agents), 0, 3).Draw(rt, "mentions") {
		text = append(text, "<@"+userID(agent)+">")
	}
	text = append(text, rapid.SampledFrom([]string{"네", "봐줘", "agent3한테 물어봐줘", "PR #7 https://a.b/c", "`code`"}).Draw(rt, "text"))
	return l.message(author, rapid.SampledFrom([]string{general, thread, thread}).Draw(rt, "place"), strings.Join(text, " "))
}

// hear has some bots tell of a message, in some order, some of them again.
func (l *fixture) hear(rt *rapid.T, in channel.Inbound) {
	for _, agent := range rapid.SliceOfN(rapid.SampledFrom(l.set.agents), 1, 12).Draw(rt, "bots") {
		in.AccountID, in.BotID = "acc-"+agent, userID(agent)
		l.Handle(l.t.Context(), in)
	}
}

// judge fails where a message has other than one verdict for an agent, or a run other than one for each that handles it.
func (l *fixture) judge(rt *rapid.T, heard []channel.Inbound) {
	handled := map[string]bool{} // run ids
	for _, in := range heard {
		verdicts := map[string]string{}
		events := l.events(coordination.MessageStream(in.Message.ID))
		for i := range events {
			d := read[coordination.DiscordInbound](l.t, &events[i])
			agents := d.Agents
			if d.Decision == string(route.Handler) {
				agents = []string{events[i].AgentID}
				if handled[d.RunID] || d.RunID != inbound.RunID(in.Message.ID, events[i].AgentID) {
					rt.Fatalf("message %s: %s runs as %q", in.Message.ID, events[i].AgentID, d.RunID)
				}
				handled[d.RunID] = true
			}
			for _, agent := range agents {
				if verdicts[agent] != "" {
					rt.Fatalf("message %s is %s and %s to %s", in.Message.ID, verdicts[agent], d.Decision, agent)
				}
				verdicts[agent] = d.Decision
			}
		}
		if len(events) == 0 {
			rt.Fatalf("message %s was heard and is not in the log", in.Message.ID)
		}
		l.sameInTables(rt, in.Message.ID, verdicts)
	}
	err := l.db.View(l.t.Context(), func(tx *sql.Tx) error {
		list, err := runs.List(l.t.Context(), tx, runs.Query{})
		for _, r := range list {
			if !handled[r.RunID] {
				rt.Fatalf("%s runs, and no agent was to handle that", r.RunID)
			}
			delete(handled, r.RunID)
		}
		return err
	})
	if err != nil {
		rt.Fatal(err)
	}
	if len(handled) > 0 {
		rt.Fatalf("handled, but not asked for: %v", handled)
	}
}

// sameInTables fails where the tables say something else than the events.
func (l *fixture) sameInTables(rt *rapid.T, messageID string, verdicts map[string]string) {
	err := l.db.View(l.t.Context(), func(tx *sql.Tx) error {
		all, err := routing.Messages(l.t.Context(), tx, routing.MessageQuery{ID: messageID})
		if err != nil || len(all) != 1 {
			return fmt.Errorf("%d messages %s: %w", len(all), messageID, err)
		}
		for _, v := range all[0].Verdicts {
			if verdicts[v.AgentID] != string(v.Mode) {
				return fmt.Errorf("message %s is %s to %s, and %s in the tables", messageID, verdicts[v.AgentID], v.AgentID, v.Mode)
			}
			delete(verdicts, v.AgentID)
		}
		if len(verdicts) > 0 {
			return fmt.Errorf("message %s: no verdict in the tables of %v", messageID, verdicts)
		}
		return nil
	})
	if err != nil {
		rt.Fatal(err)
	}
}

// Invariant 48: the handlers and observers of a channel message are the bots that see it, none is both, and as many handle it as are
// mentioned, or one without a mention.
func TestInvariant48_EveryBotHandlesOrObserves(t *testing.T) {
	t.Parallel()
	l := setup(t, setting{})
	for text, handlers := range map[string]int{"안녕": 1, "@eden": 1, "@eden @ruda": 2, "@ruda @eden @seum @dajim": 4, "@bora 안녕": 1} {
		var agents []string
		n := 0
		for _, e := range l.events(coordination.MessageStream(l.after(time.Second).says("bora", general, text))) {
			d := read[coordination.DiscordInbound](t, &e)
			if d.Decision == string(route.Handler) {
				n++
				agents = append(agents, e.AgentID)
			}
			agents = append(agents, d.Agents...)
		}
		slices.Sort(agents)
		if want := slices.Sorted(slices.Values(names)); !slices.Equal(agents, want) || n != handlers {
			t.Errorf("%q: %d handle it, and the verdicts are of %v; want %d, and %v", text, n, agents, handlers, want)
		}
	}
}

// BenchmarkHear is one message of which ten bots tell, one of ten of them twice.
func BenchmarkHear(b *testing.B) {
	l := setup(b, setting{agents: team(10), logs: &buffer{}})
	l.collaborates("c1", "agent0", "agent1", 1)
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		text, place := "안녕", general
		if n%2 == 0 {
			text, place = "<@"+userID("agent3")+"> 봐줘 https://a.b/c", thread
		}
		in := l.after(time.Second).message("bora", place, text)
		for i, agent := range l.set.agents {
			in.AccountID = "acc-" + agent
			l.Handle(b.Context(), in)
			if i == n%10 {
				l.Handle(b.Context(), in)
			}
		}
		if n%1000 == 0 {
			b.StopTimer()
			if got := l.runsOf(in.Message.ID); got == "" {
				b.Fatal("no agent runs")
			}
			b.StartTimer()
		}
	}
}
