package responses_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
)

var (
	modelAgents  = []string{"ruda", "eden", "seum"}
	modelThreads = []string{"900", "901", "902"}
	modelTopics  = []string{"", ":인증", ":a:b"}
)

// model folds all events as coordination does, with nothing of the tables in it.
type model struct {
	t        *rapid.T
	asked    collaborate.State
	answers  response.State
	requests []asking
	now      int64 // ms after base
	id       int
	appends  []eventstore.StreamAppend // of the next transaction
}

// does takes an event into the next transaction, and folds it.
func (m *model) does(a eventstore.StreamAppend) {
	m.appends = append(m.appends, a)
	e := a.Events[0]
	if e.Actor == eventstore.ActorImport {
		return
	}
	var d coordination.A2ACollaborate
	if err := json.Unmarshal(e.Data, &d); err != nil {
		m.t.Fatal(err)
	}
	if known, ok := m.asked.Requests[d.Key]; ok && e.Type == coordination.TypeA2ACollaborateRequested && known.Redecide && known.RequestID == d.CollabID {
		delete(m.asked.Requests, d.Key) // it is taken on once more
	}
	if _, err := m.asked.Apply(e.Type, e.Data, e.TS); err != nil {
		m.t.Fatal(err)
	}
	if _, err := m.answers.Apply(e.Type, e.Data, e.TS); err != nil {
		m.t.Fatal(err)
	}
}

func (m *model) message() string {
	m.id++
	return strconv.Itoa(1_000_000_000_000_000_000 + m.id)
}

// ask takes a request on, with a key that may be another one's.
func (m *model) ask() {
	pair := rapid.Permutation(modelAgents).Draw(m.t, "pair")
	m.id++
	a := asking{id: fmt.Sprint("c", m.id), from: pair[0], target: pair[1], thread: rapid.SampledFrom(modelThreads).Draw(m.t, "thread"),
		key: rapid.SampledFrom([]string{"same:1", "same:2", "key:ruda:3"}).Draw(m.t, "key") + ":" + pair[0],
		route: rapid.SampledFrom([]collaborate.Route{collaborate.RouteNew, collaborate.RouteReused, collaborate.RouteNamed,
			collaborate.RouteShared}).Draw(m.t, "route")}
	if a.route == collaborate.RouteNew || a.route == collaborate.RouteReused {
		a.reuse = a.from + ":" + a.target + rapid.SampledFrom(modelTopics).Draw(m.t, "topic")
	}
	if a.route == collaborate.RouteNew && rapid.IntRange(0, 3).Draw(m.t, "forgets") == 0 {
		a.forgets = a.reuse
	}
	a.untracked = a.route == collaborate.RouteShared
	a.again = rapid.IntRange(0, 4).Draw(m.t, "again") == 0
	m.requests = append(m.requests, a)
	m.does(a.requested(m.now))
}

// step is one thing that happens, to a request of those that are known.
func (m *model) step() {
	what := rapid.SampledFrom([]string{"ask", "ask", "open", "send", "send", "send", "fail", "again", "unknown", "respond", "remind", "escalate", "impossible",
		"repeat", "foreign"}).Draw(m.t, "what")
	if what == "ask" || len(m.requests) == 0 {
		m.ask()
		return
	}
	a := &m.requests[rapid.IntRange(0, len(m.requests)-1).Draw(m.t, "request")]
	tracked := m.answers.Find(a.id)
	switch what {
	case "open":
		if a.route == collaborate.RouteNew && tracked == nil {
			m.does(a.opened(m.now))
		}
	case "send":
		if a.key != "" {
			m.does(a.sent(m.now, m.message(), m.message()))
			a.key = "" // once
		}
	case "fail":
		m.does(a.failed(m.now, "denied", false, rapid.SampledFrom([]string{"", a.reuse}).Draw(m.t, "forgets")))
	case "again":
		if a.key == "" || tracked != nil {
			return
		}
		m.does(a.failed(m.now, "", true, a.reuse))
		a.again = true
		m.does(a.requested(m.now))
	case "unknown":
		m.does(a.unknown(m.now))
	case "impossible":
		m.does(a.failed(m.now, "not_found", false, ""))
	case "respond":
		if e, ok := m.answers.Match(response.Message{ID: m.message(), ThreadID: a.thread, AgentID: a.target, At: base + m.now, Text: "했다"}); ok {
			d := e.Data.(response.Responded)
			m.does(event(m.now, coordination.CollabStream(d.RequestID), e.Type, e.AgentID, d))
		}
	case "remind":
		if tracked != nil {
			m.does(a.reminded(m.now, rapid.IntRange(1, 2).Draw(m.t, "step"), m.message()))
		}
	case "escalate":
		if tracked != nil {
			m.does(a.escalated(m.now, m.message(), rapid.SampledFrom([]string{"", "timeout"}).Draw(m.t, "code")))
		}
	case "repeat": // at once, of what there is
		if last := m.appends; len(last) > 0 && last[len(last)-1].Events[0].Type != coordination.TypeA2ACollaborateSent {
			m.does(last[len(last)-1])
		}
	case "foreign":
		e := a.responded(m.now, m.message())
		e.Events[0].Actor = eventstore.ActorImport
		m.does(e)
	}
}

// within is what a pure state says to a decision between two agents at a time, ms after base.
func (m *model) within(from, target string, ms int64) collaborate.State {
	at := base + ms
	s := collaborate.State{Requests: maps.Clone(m.asked.Requests), Pairs: map[string][]int64{}, Threads: map[string]collaborate.Kept{}}
	asked := map[string]string{}
	for _, a := range m.requests {
		asked[a.id] = a.from
	}
	maps.DeleteFunc(s.Requests, func(_ string, e collaborate.Earlier) bool {
		return at-e.At >= collaborate.SameRequest.Milliseconds() || asked[e.RequestID] != from
	})
	for pair, times := range m.asked.Pairs {
		if pair != min(from, target)+"::"+max(from, target) {
			continue
		}
		for _, one := range times {
			if at-one < time.Hour.Milliseconds() {
				s.Pairs[pair] = append(s.Pairs[pair], one)
			}
		}
	}
	for key, k := range m.asked.Threads {
		for _, topic := range modelTopics {
			if key == from+":"+target+topic && at-k.LastUsedAt < (7*24*time.Hour).Milliseconds() {
				s.Threads[key] = k
			}
		}
	}
	return s
}

// lines describes the model, as got describes a log.
func (m *model) lines() (lines []string) {
	for _, from := range modelAgents {
		for _, target := range modelAgents {
			if from != target {
				lines = append(lines, describe("between "+from+" and "+target, m.within(from, target, m.now)))
			}
		}
	}
	for _, a := range m.requests {
		if r := m.answers.Find(a.id); r != nil {
			lines = append(lines, describe("request "+a.id, *r))
		}
	}
	for _, thread := range modelThreads {
		for _, target := range modelAgents {
			lines = append(lines, m.matched(thread, target, &m.answers)...)
		}
	}
	return lines
}

// matched is what messages of an agent in a thread answer: plain ones, replies to whatever stands there, repeated ones, and those that the
// requests are.
func (m *model) matched(thread, agent string, s *response.State) (lines []string) {
	next := strconv.Itoa(1_000_000_000_000_000_000 + m.id + 1)
	try := func(msg response.Message) {
		msg.ThreadID, msg.AgentID, msg.At, msg.Text = thread, agent, base+m.now, "했다"
		e, ok := s.Match(msg)
		lines = append(lines, describe(fmt.Sprintf("%s of %s in %s, reply to %s", msg.ID, agent, thread, msg.ReplyTo), []any{e.Data, ok}))
	}
	try(response.Message{ID: next})
	for _, r := range m.answers.Requests {
		if r.ThreadID != thread {
			continue
		}
		for _, id := range slices.Concat(r.MessageIDs, r.SystemIDs, []string{r.AnswerID}) {
			if id != "" {
				try(response.Message{ID: next, ReplyTo: id})
				try(response.Message{ID: id})
			}
		}
	}
	return lines
}

func describe(what string, v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // states can be written
	}
	return what + ": " + string(text)
}

// got describes what a log answers.
func (l *log) got(t *rapid.T, m *model) (lines []string) {
	err := l.View(context.Background(), func(tx *sql.Tx) error {
		r := projections.Reading(context.Background(), tx)
		for _, from := range modelAgents {
			for _, target := range modelAgents {
				if from == target {
					continue
				}
				s, err := responses.Between(r, from, target, base+m.now)
				if err != nil {
					return err
				}
				lines = append(lines, describe("between "+from+" and "+target, s))
			}
		}
		for _, a := range m.requests {
			if m.answers.Find(a.id) == nil {
				continue
			}
			row, _, err := responses.Load(r, a.id)
			if err != nil {
				return err
			}
			row.Hop = nil // known from before it was sent
			lines = append(lines, describe("request "+a.id, row.Request))
		}
		for _, thread := range modelThreads {
			for _, target := range modelAgents {
				s, err := responses.Open(r, thread, target)
				if err != nil {
					return err
				}
				lines = append(lines, m.matched(thread, target, &s)...)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// Whatever is asked and answered, in transactions of any size, with the program opened again in between, over minutes or weeks: decisions read
// from the tables what the pure folds say of the same events, and the tables are the same when they are rebuilt.
func TestDecisionsReadWhatThePureFoldsSay(t *testing.T) {
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
		m := &model{t: rt}
		pauses := []time.Duration{0, time.Millisecond, time.Second, 4 * time.Minute, collaborate.SameRequest, 20 * time.Minute, time.Hour, response.Keep,
			25 * time.Hour, 7 * 24 * time.Hour, 8 * 24 * time.Hour}
		for range rapid.IntRange(1, 10).Draw(rt, "transactions") {
			m.appends = nil
			m.now += rapid.SampledFrom(pauses).Draw(rt, "pause").Milliseconds()
			m.ask() // what is too old, the pure folds forget with the next event
			for range rapid.IntRange(0, 6).Draw(rt, "events") {
				m.step()
				m.now += rapid.SampledFrom([]int64{0, 1, 1000}).Draw(rt, "ms")
			}
			l.append(t, m.appends...)
			if rapid.IntRange(0, 4).Draw(rt, "reopen") == 0 {
				l.reopen(t)
			}
			if diff := gocmp.Diff(m.lines(), l.got(rt, m)); diff != "" {
				rt.Fatalf("-pure folds +tables:\n%s", diff)
			}
		}
		live := projectiontest.Dump(t, l, responses.Definition())
		if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
			rt.Fatal(err)
		}
		if diff := gocmp.Diff(live, projectiontest.Dump(t, l, responses.Definition())); diff != "" {
			rt.Fatalf("rebuilt (-live +rebuilt):\n%s", diff)
		}
	})
}
