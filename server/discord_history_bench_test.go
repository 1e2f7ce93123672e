package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/channel/inbound"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
)

const (
	pastGuild   = "900000000000000001"
	pastPlaces  = 20    // channels, and as many threads
	pastRecent  = 1_000 // messages of the last minutes, which each past has
	pastMany    = 100_000
	pastGap     = 8 * 24 * time.Hour // between the others and these: longer than anything is kept in mind
	pastSamples = 300
	pastPerson  = "200000000000002001"
)

// lookout are bots that see everything.
type lookout []route.Bot

func (l lookout) Sight(string, string, string) []route.Bot       { return append([]route.Bot(nil), l...) }
func (l lookout) Known(string) (p collaborate.Place, known bool) { return p, false }
func (l lookout) ChannelName(string) string                      { return "" }
func (l lookout) Resolve(text string) string                     { return text }

// pastLog is a log in which much was said in Discord, and much asked, most of it days ago, and a monitor that decides about the next
// message.
type pastLog struct {
	b       *testing.B
	db      *sqlite.DB
	bots    lookout
	options inbound.Options
	monitor *inbound.Service
	heard   inbound.DecisionStats
	now     int64 // ms since 1970
	said    int   // messages
	pending []eventstore.StreamAppend
}

func newPastLog(b *testing.B, messages int) *pastLog {
	b.Helper()
	p := &pastLog{b: b, now: time.Date(2026, 2, 20, 8, 0, 0, 0, time.UTC).UnixMilli()}
	db, err := sqlite.Open(b.Context(), sqlite.Options{Path: filepath.Join(b.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	if _, err := projections.Start(b.Context(), db, database.Projections(coordination.RulesV2), projections.Options{Rules: coordination.RulesV2}); err != nil {
		b.Fatal(err)
	}
	p.db = db
	c := config.Default()
	c.Discord.RequireMention = true
	for i := range crowdBots {
		p.bots = append(p.bots, route.Bot{UserID: pastBot(i), AccountID: fmt.Sprint("a", i), Agent: fmt.Sprint("agent", i)})
		c.Agents = append(c.Agents, config.Agent{ID: fmt.Sprint("agent", i), Default: i == 0})
	}
	models := catalogue.New(c, catalogue.Options{})
	logger, ids := slog.New(slog.DiscardHandler), 0
	inForce := func() *config.Config { return c }
	runs := runqueue.New(runqueue.Options{Log: db, Config: inForce, Models: func() *catalogue.Catalogue { return models }, Now: time.Now,
		NewID: func() string { ids++; return fmt.Sprint("id-", ids) }})
	p.options = inbound.Options{Log: db, Queue: runs, Bots: p.bots, Config: inForce, Now: time.Now, Logger: logger, Heard: func(h inbound.DecisionStats) { p.heard = h }}
	p.forget()
	p.fill(messages - pastRecent)
	p.now += pastGap.Milliseconds()
	p.fill(pastRecent)
	return p
}

func pastBot(i int) string     { return fmt.Sprint(400_000_000_000_000_000 + i) }
func pastChannel(i int) string { return fmt.Sprint(800_000_000_000_000_000 + i%pastPlaces) }
func pastThread(i int) string  { return fmt.Sprint(700_000_000_000_000_000 + i%pastPlaces) }

// message is the next one that the person writes, a second after the one before.
func (p *pastLog) message(thread bool, text string) route.Message {
	p.said++
	p.now += 1_000
	m := route.Message{ID: fmt.Sprint(1_400_000_000_000_000_000 + p.said), GuildID: pastGuild, ChannelID: pastChannel(p.said), At: p.now, Text: text,
		Author: route.Author{ID: pastPerson, Name: "병욱"}}
	if thread {
		m.ThreadID = pastThread(p.said)
	}
	return m
}

// fill has n messages decided about: in channels and threads, each tenth of them for an agent, and as often one agent asks another one.
func (p *pastLog) fill(n int) {
	p.b.Helper()
	policy := route.DefaultPolicy()
	policy.DefaultAgent, policy.RequireMention = "agent0", true
	for i := range n {
		text := fmt.Sprintf("메시지 %d: PR #%d https://github.com/pronto-lab/openclawd/pull/%d", i, i%300, i%300)
		if i%10 == 0 {
			text = "<@" + pastBot(i/10%crowdBots) + "> " + text
		}
		m := p.message(i%3 == 0, text)
		d := route.Decide(&route.Situation{Message: m, Bots: p.bots, Policy: policy, Participants: route.Attendance{}})
		for _, e := range d.Events() {
			stream := coordination.MessageStream(m.ID)
			if strings.HasPrefix(e.Type, "thread.") {
				stream = coordination.ThreadStream(m.Place())
			}
			p.happens(stream, e.Type, e.AgentID, e.At, e.Data)
		}
		if i%10 == 5 {
			p.asks(i / 10)
		}
	}
	p.flush()
}

// asks has one agent ask another one, and be answered.
func (p *pastLog) asks(n int) {
	p.b.Helper()
	id, from, to := fmt.Sprint("c", p.said), n%crowdBots, (n+1+n/crowdBots%(crowdBots-1))%crowdBots
	in := coordination.Context{EventRole: coordination.RoleOrchestration, WorkSessionID: "ws_1"}
	asked := coordination.A2ACollaborate{Context: in, CollabID: id, FromAgent: fmt.Sprint("agent", from), ToAgent: fmt.Sprint("agent", to)}
	requested, sent, answered := asked, asked, asked
	requested.Key, requested.Content, requested.Base, requested.Mode, requested.Message = "key "+id, "hash", p.now, "new_thread", "코드 리뷰 부탁해요"
	requested.SessionKey, requested.RunID, requested.ParentChannelID = "agent:"+asked.FromAgent+":main", "run-"+id, pastChannel(n)
	sent.ThreadID, sent.ThreadName, sent.ParentChannelID, sent.GuildID, sent.MessageIDs = pastThread(n), "[협업]", pastChannel(n), pastGuild, []string{fmt.Sprint(p.said)}
	sent.FromAccountID, sent.TargetBotID, sent.SentAt, sent.Tracked, sent.Message = fmt.Sprint("a", from), pastBot(to), p.now, true, requested.Message
	sent.ReuseKey = asked.FromAgent + ":" + asked.ToAgent + ":review " + id
	answered.ThreadID, answered.MessageID, answered.RespondedAt = sent.ThreadID, fmt.Sprint(p.said, "1"), p.now+500
	stream := coordination.CollabStream(id)
	p.happens(stream, coordination.TypeA2ACollaborateRequested, asked.FromAgent, p.now, requested)
	p.happens(coordination.WorkStream("collab/"+id), coordination.TypeThreadCreated, asked.FromAgent, p.now, coordination.Thread{Context: in, ThreadID: sent.ThreadID,
		ChannelID: sent.ParentChannelID, GuildID: pastGuild, Name: sent.ThreadName, Kind: "collab", EffectID: "collab/" + id, CollabID: id, ReuseKey: sent.ReuseKey,
		FromAgent: asked.FromAgent, ToAgent: asked.ToAgent})
	p.happens(stream, coordination.TypeA2ACollaborateSent, asked.FromAgent, p.now, sent)
	p.happens(stream, coordination.TypeA2ACollaborateResponded, asked.ToAgent, p.now, answered)
}

// happens stores an event, soon.
func (p *pastLog) happens(stream, typ, agent string, at int64, data any) {
	p.b.Helper()
	text, err := json.Marshal(data)
	if err != nil {
		p.b.Fatal(err)
	}
	p.pending = append(p.pending, eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem, Data: text}.WithTS(at)}})
	if len(p.pending) >= 1_000 {
		p.flush()
	}
}

func (p *pastLog) flush() {
	p.b.Helper()
	if len(p.pending) == 0 {
		return
	}
	if _, err := p.db.Append(p.b.Context(), p.pending...); err != nil {
		p.b.Fatal(err)
	}
	p.pending = nil
}

// forget has the monitor be as after a restart.
func (p *pastLog) forget() { p.monitor = inbound.New(p.options) }

// hears passes a message to the monitor and returns what was reported.
func (p *pastLog) hears(thread bool, text string) channel.Inbound {
	m := p.message(thread, text)
	in := channel.Inbound{Kind: channel.Created, AccountID: "a1", BotID: pastBot(1), Message: channel.Message{ID: m.ID, GuildID: m.GuildID, ChannelID: m.Place(),
		Content: text, At: m.At, Author: channel.Author{User: channel.User{ID: pastPerson, Name: "병욱"}}}}
	if thread {
		in.Message.ParentID = m.ChannelID
	}
	p.monitor.Handle(p.b.Context(), in)
	return in
}

// reads is how long reading takes within a transaction that appends nothing.
func (p *pastLog) reads(read func(eventstore.Tx) error) (took time.Duration) {
	p.b.Helper()
	_, err := p.db.Decide(p.b.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		began := time.Now()
		err := read(tx)
		took = time.Since(began)
		return nil, err
	})
	if err != nil {
		p.b.Fatal(err)
	}
	return took
}

// BenchmarkDiscordHistory compares what a message costs after 100,000 others, most of them days ago, with what it costs after 1,000, by turns: the
// median of each, in µs, and their ratio, which should stay near 1. recorded and twice hold commits, with synchronous=NORMAL.
func BenchmarkDiscordHistory(b *testing.B) {
	few, many := newPastLog(b, pastRecent), newPastLog(b, pastMany)
	mentioned := func(p *pastLog) string { return fmt.Sprintf("<@%s> 봐줘 https://a.b/c", pastBot(p.said%crowdBots)) }
	for _, of := range []struct {
		name string
		take func(*pastLog) time.Duration
	}{
		{"handled", func(p *pastLog) time.Duration { p.hears(false, mentioned(p)); return p.heard.Deciding }},  // the decision, with what the agent has observed, and its run
		{"thread", func(p *pastLog) time.Duration { p.hears(true, mentioned(p)); return p.heard.Deciding }},    // the same, with who takes part
		{"observed", func(p *pastLog) time.Duration { p.hears(false, "그냥 하는 말 #7"); return p.heard.Deciding }}, // the decision
		{"recorded", func(p *pastLog) time.Duration { p.hears(false, "그냥 하는 말 #7"); return p.heard.Whole }},    // with what ten agents keep of it
		{"participants", func(p *pastLog) time.Duration { // of a thread
			return p.reads(func(tx eventstore.Tx) error {
				attendance, err := routing.Attendance(tx, pastThread(1))
				if err == nil && len(attendance) == 0 {
					err = errors.New("a thread has no participants, want those who were mentioned")
				}
				return err
			})
		}},
		{"reuse", func(p *pastLog) time.Duration { // what a request depends on: those before, and the threads that are kept
			return p.reads(func(tx eventstore.Tx) error {
				state, err := responses.Between(tx, "agent1", "agent2", p.now)
				if err == nil && len(state.Threads) == 0 {
					err = errors.New("no thread is kept, want one")
				}
				return err
			})
		}},
		{"twice", func(p *pastLog) time.Duration { // a message that is in the log but not in memory
			in := p.hears(false, "또 같은 말")
			p.forget()
			began := time.Now()
			p.monitor.Handle(p.b.Context(), in)
			return time.Since(began)
		}},
		{"remembered", func(p *pastLog) time.Duration { // a message that another bot has reported
			in := p.hears(false, "또 같은 말")
			began := time.Now()
			p.monitor.Handle(p.b.Context(), in)
			return time.Since(began)
		}},
	} {
		b.Run(of.name, func(b *testing.B) {
			for range b.N {
				var short, long []float64
				for range pastSamples {
					short = append(short, float64(of.take(few).Nanoseconds())/1e3)
					long = append(long, float64(of.take(many).Nanoseconds())/1e3)
				}
				b.ReportMetric(quantile(short, 0.5), "µs/1k")
				b.ReportMetric(quantile(long, 0.5), "µs/100k")
				b.ReportMetric(quantile(long, 0.5)/quantile(short, 0.5), "ratio")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}
