package routing_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/routing"
)

const (
	otherChannel = "800000000000000002"
	otherThread  = "700000000000000002"
)

var places = []string{channel, otherChannel, thread, otherThread}

func isThread(place string) bool { return place == thread || place == otherThread }

// model is what coordination/route folds of the events that lie where they should.
type model struct {
	attendance route.Attendance
	guard      *route.Guard
	history    *route.History
	ledger     *route.Ledger
	known      map[string]bool // threads
	posts      map[string]routing.Post
	reports    map[string]report // by thread
	openings   int
	now        int64 // ms after base
	messages   []route.Message
	late       bool // messages may come later than others that were sent after them
}

func newModel() *model {
	return &model{attendance: route.Attendance{}, guard: &route.Guard{}, history: route.NewHistory(route.HistoryLimit, route.HistoryTTL),
		ledger: route.NewLedger(10_000), known: map[string]bool{}, posts: map[string]routing.Post{}, reports: map[string]report{}}
}

// report is what a thread was last opened for.
type report struct {
	of string
	n  int // the how manieth opening it was
}

// reportOf is the thread that was opened last for a conversation.
func (m *model) reportOf(conversation string) (thread string) {
	newest := -1
	for at, r := range m.reports {
		if r.of == conversation && r.n > newest {
			thread, newest = at, r.n
		}
	}
	return thread
}

// fold folds events that lie where they should.
func (m *model) fold(t *rapid.T, appends ...eventstore.StreamAppend) []eventstore.StreamAppend {
	for _, a := range appends {
		e := &a.Events[0]
		for _, apply := range []func(string, string, []byte, int64) (bool, error){m.attendance.Apply, m.guard.Apply, m.history.Apply, m.ledger.Apply} {
			if _, err := apply(e.Type, e.AgentID, e.Data, e.TS); err != nil {
				t.Fatalf("%s %s: %v", e.Type, e.Data, err)
			}
		}
		var d struct{ ThreadID string }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			t.Fatal(err)
		}
		if isThread(d.ThreadID) {
			m.known[d.ThreadID] = true
		}
	}
	return appends
}

func (m *model) attends(thread string) route.Attendance {
	if m.known[thread] {
		return m.attendance
	}
	return nil
}

// draw is what happens next: events that are appended.
func (m *model) draw(t *rapid.T) []eventstore.StreamAppend {
	m.now += second * rapid.SampledFrom([]int64{0, 1, 5, 20, 61, 400, 90_000}).Draw(t, "seconds")
	switch rapid.SampledFrom([]string{"message", "message", "message", "message", "burst", "collaborate", "sent", "created", "due", "elsewhere"}).Draw(t, "do") {
	case "burst":
		m.late = false
		var appends []eventstore.StreamAppend
		for range rapid.IntRange(5, 40).Draw(t, "messages") {
			m.now++
			appends = append(appends, m.hear(t, rapid.SampledFrom([]string{"ruda", "foreign"}).Draw(t, "author"), channel, "PR #7")...)
		}
		return appends
	case "collaborate":
		at := rapid.SampledFrom([]string{thread, otherThread}).Draw(t, "thread")
		var appends []eventstore.StreamAppend
		for _, e := range m.attendance.Collaborating(at, team[0], team[rapid.IntRange(1, 3).Draw(t, "to")], base+m.now, route.HistoryTTL) {
			appends = append(appends, home(e))
		}
		return m.fold(t, appends...)
	case "sent":
		return m.post(t)
	case "created":
		conversation := rapid.SampledFrom([]string{"", "c1", "c2"}).Draw(t, "report of")
		m.openings++
		d := coordination.Thread{EffectID: fmt.Sprint("effect ", m.now), ThreadID: rapid.SampledFrom([]string{thread, otherThread}).Draw(t, "thread"), ChannelID: channel,
			GuildID: guild, Kind: "collab"}
		if conversation != "" {
			d.Kind, d.ReportOf = "report", conversation
			m.reports[d.ThreadID] = report{conversation, m.openings}
		} else {
			m.reports[d.ThreadID] = report{m.reports[d.ThreadID].of, m.openings}
		}
		return m.fold(t, created(m.now, "", d))
	case "due":
		var appends []eventstore.StreamAppend
		released, _ := m.guard.Due(base + m.now)
		for _, p := range released {
			appends = append(appends, home(route.Released(p, base+m.now)))
		}
		left, _ := m.attendance.Due(base+m.now, route.HistoryTTL)
		for _, e := range left {
			appends = append(appends, home(e))
		}
		return m.fold(t, appends...)
	case "elsewhere":
		return m.elsewhere(t)
	}
	words := rapid.SliceOfN(rapid.SampledFrom([]string{"<@1001>", "<@1002>", "<@1003>", "<@1004>", "네", "PR #7", "https://a.b/c"}), 1, 3).Draw(t, "words")
	author := rapid.SampledFrom([]string{"human", "foreign", "ruda", "eden", "seum", "dajim"}).Draw(t, "author")
	return m.hear(t, author, rapid.SampledFrom(places).Draw(t, "place"), fmt.Sprint(words))
}

// hear decides about a message by what the model knows.
func (m *model) hear(t *rapid.T, author, at, text string) []eventstore.StreamAppend {
	ms := m.now
	if m.late {
		ms -= rapid.Int64Range(0, 30_000).Draw(t, "late")
	}
	s := route.Situation{Bots: team, Policy: policy(), Participants: m.attends(at), Guard: m.guard}
	s.Message = message(fmt.Sprint(5_000_000+len(m.messages)), ms, author, at, text)
	if at == otherChannel {
		s.Message.ChannelID, s.Message.ThreadID = otherChannel, ""
	}
	s.Message.System = author == "dajim" && rapid.Bool().Draw(t, "system")
	m.messages = append(m.messages, s.Message)
	if rapid.IntRange(0, 20).Draw(t, "broken") == 0 {
		var appends []eventstore.StreamAppend
		for _, e := range route.Undecided(&s.Message) {
			appends = append(appends, home(e))
		}
		return m.fold(t, appends...)
	}
	d := route.Decide(&s)
	return m.fold(t, said(&d)...)
}

func (m *model) post(t *rapid.T) []eventstore.StreamAppend {
	p := routing.Post{MessageID: fmt.Sprint(6_000_000 + rapid.IntRange(0, 20).Draw(t, "post")), ThreadID: rapid.SampledFrom([]string{"", thread}).Draw(t, "thread"),
		AgentID: rapid.SampledFrom([]string{"", "ruda"}).Draw(t, "agent"), AccountID: "acc-ruda", Purpose: "reply", EffectID: fmt.Sprint("reply ", m.now), RunID: "r1",
		System: rapid.Bool().Draw(t, "system"), At: base + m.now}
	if p.PlaceID = p.ThreadID; p.PlaceID == "" {
		p.PlaceID = channel
	}
	if _, known := m.posts[p.MessageID]; !known {
		m.posts[p.MessageID] = p
	}
	return m.fold(t, sent(m.now, p.AgentID, coordination.DiscordOutbound{EffectID: p.EffectID, ChannelID: channel, ThreadID: p.ThreadID, GuildID: guild,
		MessageID: p.MessageID, AccountID: p.AccountID, Purpose: p.Purpose, RunID: p.RunID, System: p.System}))
}

// elsewhere is something that changes nothing: it was imported, or lies in a stream that is not its home.
func (m *model) elsewhere(t *rapid.T) []eventstore.StreamAppend {
	var all []eventstore.StreamAppend
	d := route.Decide(&route.Situation{Bots: team, Policy: policy(), Participants: route.Attendance{}, Message: message("777", m.now, "ruda", thread, "<@1002> <@1003>")})
	all = append(all, said(&d)...)
	all = append(all, home(route.Released(thread, base+m.now)), event(m.now, coordination.ThreadStream(channel), coordination.TypeThreadSuspended, "",
		coordination.Thread{ThreadID: channel, ChannelID: channel, Reason: "bot_rate", UntilMs: base + m.now + hour}))
	all = append(all, created(m.now, "", coordination.Thread{EffectID: "other", ThreadID: otherThread, ChannelID: channel}),
		sent(m.now, "ruda", coordination.DiscordOutbound{EffectID: "other", ChannelID: channel, ThreadID: thread, MessageID: "778"}))
	a := rapid.SampledFrom(all).Draw(t, "what")
	if rapid.Bool().Draw(t, "imported") {
		return []eventstore.StreamAppend{imported(a)}
	}
	return []eventstore.StreamAppend{in(rapid.SampledFrom([]string{"log", "agent/ruda", "discord/778", "thread/12", "work/another"}).Draw(t, "stream"), a)}
}

// same fails unless the tables say what the model does.
func (m *model) same(t *rapid.T, l *log) {
	now := base + m.now
	equal := func(what string, got, wanted any) {
		if diff := gocmp.Diff(wanted, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(route.Decision{})); diff != "" {
			t.Fatalf("%s (-model +log):\n%s", what, diff)
		}
	}
	_, err := l.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) {
		for _, msg := range m.messages[max(0, len(m.messages)-50):] {
			d, err := routing.Earlier(tx, msg.ID)
			if err != nil {
				return nil, err
			}
			equal("earlier "+msg.ID, d, m.ledger.Earlier(msg.ID))
		}
		for _, at := range places {
			if isThread(at) {
				p, err := routing.Attendance(tx, at)
				if err != nil {
					return nil, err
				}
				if (p == nil) == m.known[at] {
					t.Fatalf("attendance of %s is %v, known: %v", at, p, m.known[at])
				}
				equal("attendance of "+at, p[at], m.attendance[at])
			}
			h, err := routing.History(tx, at, agents, route.HistoryLimit, route.HistoryTTL, now)
			if err != nil {
				return nil, err
			}
			for _, agent := range agents {
				equal("history of "+agent+" in "+at, h.Of(agent, at, now), m.history.Of(agent, at, now))
				g, err := routing.Guard(tx, at, agent)
				if err != nil {
					return nil, err
				}
				equal("talk in "+at, g.Places[at], m.guard.Places[at])
				for _, other := range agents {
					equal("pair of "+agent+" and "+other, g.Pairs[route.PairKey(agent, other)], m.guard.Pairs[route.PairKey(agent, other)])
				}
			}
		}
		due, next, err := routing.Suspended(tx, now)
		if err != nil {
			return nil, err
		}
		wantDue, wantNext := m.guard.Due(now)
		equal("suspended", append(due, fmt.Sprint(next)), append(wantDue, fmt.Sprint(wantNext)))
		for id, wanted := range m.posts {
			p, found, err := routing.PostOf(tx, id)
			if err != nil || !found {
				return nil, fmt.Errorf("post %s is not known: %w", id, err)
			}
			wanted.Seq = p.Seq
			equal("post "+id, p, wanted)
		}
		for _, conversation := range []string{"c1", "c2"} {
			got, err := routing.ReportOf(tx, conversation, channel)
			if err != nil {
				return nil, err
			}
			equal("reports of "+conversation, got, m.reportOf(conversation))
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// Whatever is said in Discord, in transactions of any size, with the program opened again in between: what decisions read in the tables is what
// coordination/route folds of the same events, and is the same when the tables are rebuilt.
func TestDecisionsReadWhatRouteFolds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp(t.TempDir(), "log")
		if err != nil {
			rt.Fatal(err)
		}
		path := filepath.Join(dir, "log.db")
		storetest.Copy(t, emptyLog, path)
		l := openAt(t, path)
		defer func() { l.close(t) }()
		m := newModel()
		m.late = rapid.Bool().Draw(rt, "late ones")
		for range rapid.IntRange(1, 12).Draw(rt, "transactions") {
			var appends []eventstore.StreamAppend
			for range rapid.IntRange(1, 6).Draw(rt, "steps") {
				appends = append(appends, m.draw(rt)...)
			}
			for some := range slices.Chunk(appends, rapid.SampledFrom([]int{1, 3, 200}).Draw(rt, "cut")) {
				l.append(t, some...)
			}
			if rapid.IntRange(0, 3).Draw(rt, "reopen") == 0 {
				l.reopen(t)
			}
			m.same(rt, l)
		}
		live := projectiontest.Dump(t, l, routing.Definition())
		if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
			rt.Fatal(err)
		}
		if diff := gocmp.Diff(live, projectiontest.Dump(t, l, routing.Definition())); diff != "" {
			rt.Fatalf("rebuilt (-live +rebuilt):\n%s", diff)
		}
	})
}
