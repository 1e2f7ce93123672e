package routing_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/route"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/routing"
)

func TestMain(m *testing.M) {
	testscale.Checks(5, 30)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970: 2026-09-21T14:13:20Z.
const base = 1_790_000_000_000

const (
	guild   = "900000000000000001"
	channel = "800000000000000001"
	thread  = "700000000000000001"
	second  = int64(1_000)
	hour    = 3_600 * second
)

// log is a log with the routing in it.
type log struct {
	*sqlite.DB
	engine *projections.Engine
	path   string
}

func setup(t testing.TB) *log {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	l := openAt(t, path)
	t.Cleanup(func() { l.close(t) })
	return l
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, routing.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{routing.Definition()}, projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		t.Fatal(errors.Join(err, db.Close()))
	}
	return &log{db, engine, path}
}

func (l *log) close(t testing.TB) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// reopen closes and opens the file, as a restart does.
func (l *log) reopen(t testing.TB) {
	t.Helper()
	l.close(t)
	*l = *openAt(t, l.path)
}

func (l *log) append(t testing.TB, appends ...eventstore.StreamAppend) eventstore.Result {
	t.Helper()
	result, err := l.Append(t.Context(), appends...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// rebuild rebuilds the tables and fails if they differ.
func (l *log) rebuild(t testing.TB) {
	t.Helper()
	live := projectiontest.Dump(t, l, routing.Definition())
	l.refold(t)
	want(t, "rebuilt", projectiontest.Dump(t, l, routing.Definition()), live)
}

func (l *log) refold(t testing.TB) {
	t.Helper()
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
}

// deciding reads within a transaction of the writer, which appends nothing.
func (l *log) deciding(t testing.TB, read func(tx eventstore.Tx) error) {
	t.Helper()
	_, err := l.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, read(tx) })
	if err != nil {
		t.Fatal(err)
	}
}

// decided is what a read gives within a transaction of the writer.
func decided[R any](t testing.TB, l *log, read func(tx eventstore.Tx) (R, error)) (r R) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		r, err = read(tx)
		return err
	})
	return r
}

func want[V any](t testing.TB, what string, got, wanted V) {
	t.Helper()
	if diff := gocmp.Diff(wanted, got, cmpopts.EquateEmpty(), cmpopts.IgnoreUnexported(route.Decision{})); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// event is one in a stream, ms after base.
func event(ms int64, stream, typ, agent string, data any) eventstore.StreamAppend {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // the types of data can be written
	}
	return eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem, Data: text}.WithTS(base + ms),
	}}
}

// said are the events of a decision, in the streams where they lie.
func said(d *route.Decision) (appends []eventstore.StreamAppend) {
	for _, e := range d.Events() {
		appends = append(appends, home(e))
	}
	return appends
}

// home is an event of a decision in the stream where it lies.
func home(e route.Event) eventstore.StreamAppend {
	stream := ""
	switch d := e.Data.(type) {
	case coordination.DiscordInbound:
		stream = coordination.MessageStream(d.MessageID)
	case coordination.Thread:
		stream = coordination.ThreadStream(d.ThreadID)
	case coordination.ThreadParticipant:
		stream = coordination.ThreadStream(d.ThreadID)
	}
	return event(e.At-base, stream, e.Type, e.AgentID, e.Data)
}

// sent tells that a delivery has posted a message.
func sent(ms int64, agent string, d coordination.DiscordOutbound) eventstore.StreamAppend {
	return event(ms, coordination.WorkStream(d.EffectID), coordination.TypeDiscordSent, agent, d)
}

// created tells that a delivery has opened a thread.
func created(ms int64, agent string, d coordination.Thread) eventstore.StreamAppend {
	return event(ms, coordination.WorkStream(d.EffectID), coordination.TypeThreadCreated, agent, d)
}

func imported(a eventstore.StreamAppend) eventstore.StreamAppend {
	for i := range a.Events {
		a.Events[i].Actor = eventstore.ActorImport
	}
	return a
}

func in(stream string, a eventstore.StreamAppend) eventstore.StreamAppend {
	a.Stream = stream
	return a
}

var team = []route.Bot{{UserID: "1001", AccountID: "acc-ruda", Agent: "ruda", Name: "루다"}, {UserID: "1002", AccountID: "acc-eden", Agent: "eden", Name: "이든"},
	{UserID: "1003", AccountID: "acc-seum", Agent: "seum", Name: "세움"}, {UserID: "1004", AccountID: "acc-dajim", Agent: "dajim", Name: "다짐"}}

var agents = []string{"dajim", "eden", "ruda", "seum"}

// user returns the Discord id of an agent or person by name.
func user(name string) string {
	for _, b := range team {
		if b.Agent == name {
			return b.UserID
		}
	}
	return map[string]string{"human": "2001", "foreign": "3001"}[name]
}

func policy() route.Policy {
	p := route.DefaultPolicy()
	p.DefaultAgent, p.RecordBots, p.Direct = "ruda", true, route.Open
	return p
}

// message is one that is sent at a time in ms after base.
func message(id string, ms int64, author, place, text string) route.Message {
	m := route.Message{ID: id, GuildID: guild, ChannelID: channel, Text: text, At: base + ms, Author: route.Author{ID: user(author), Name: author,
		Bot: author != "human"}}
	if place != channel {
		m.ThreadID = place
	}
	return m
}
