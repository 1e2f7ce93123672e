package responses_test

import (
	"context"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/responses"
)

func TestMain(m *testing.M) {
	testscale.Checks(5, 30)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970: 2026-09-21T14:13:20Z.
const base = 1_790_000_000_000

// log is a log with the requests in it.
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
}, responses.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{responses.Definition()}, projections.Options{Rules: coordination.RulesV2})
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

// event is one of a stream, ms after base.
func event(ms int64, stream, typ, agent string, d any) eventstore.StreamAppend {
	data, err := json.Marshal(d)
	if err != nil {
		panic(err) // the types of data can be written
	}
	return eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorAgent, Data: data}.WithTS(base + ms),
	}}
}

// asking is a request as it is taken on, and what follows of it.
type asking struct {
	id, from, target string
	thread           string // where it is going, or is opened
	route            collaborate.Route
	key, reuse       string
	forgets          string
	again            bool
	untracked        bool
}

// asks is that eden is asked by ruda, in a new thread.
func asks(id string) asking {
	return asking{id: id, from: "ruda", target: "eden", thread: "900", route: collaborate.RouteNew, key: "same:" + id, reuse: "ruda:eden"}
}

func (a asking) requested(ms int64) eventstore.StreamAppend {
	hop, thread := 1, a.thread
	if a.route == collaborate.RouteNew {
		thread = ""
	}
	return event(ms, coordination.CollabStream(a.id), coordination.TypeA2ACollaborateRequested, a.from, coordination.A2ACollaborate{
		Context:  coordination.Context{WorkSessionID: "ws_1", TaskID: "task_1", Hop: &hop, EventRole: coordination.RoleOrchestration},
		CollabID: a.id, Key: a.key, Content: "hash of " + a.id, Base: base + ms, FromAgent: a.from, ToAgent: a.target, Mode: string(a.route), ThreadID: thread,
		ThreadName: "name of " + a.id, ParentChannelID: "100", GuildID: "500", SessionKey: "agent:" + a.from + ":main", RunID: "run_" + a.id, Message: "코드 리뷰 " + a.id, Forgets: a.forgets,
		Again: a.again})
}

// opened lies in the stream of the delivery's work.
func (a asking) opened(ms int64) eventstore.StreamAppend {
	return event(ms, coordination.WorkStream("collab/"+a.id), coordination.TypeThreadCreated, a.from, coordination.Thread{
		Context: coordination.Context{EventRole: coordination.RoleOrchestration}, ThreadID: a.thread, ChannelID: "100", GuildID: "500", Name: "[협업] 루다 → 이든",
		Kind: "collab", EffectID: "collab/" + a.id, CollabID: a.id, ReuseKey: a.reuse, FromAgent: a.from, ToAgent: a.target})
}

func (a asking) sent(ms int64, messages ...string) eventstore.StreamAppend {
	return event(ms, coordination.CollabStream(a.id), coordination.TypeA2ACollaborateSent, a.from, collaborate.Sent{
		Context: coordination.Context{WorkSessionID: "ws_1", TaskID: "task_1", EventRole: coordination.RoleOrchestration}, RequestID: a.id, ReuseKey: a.reuse,
		ThreadID: a.thread, ThreadName: "[협업] 루다 → 이든", ChannelID: "100", FromAgent: a.from, FromAccount: a.from + "-bot", TargetAgent: a.target,
		TargetBot: "77", MessageIDs: messages, Original: "코드 리뷰 " + a.id, SentAt: base + ms - 1, Tracked: !a.untracked})
}

func (a asking) failed(ms int64, code string, again bool, forgets string) eventstore.StreamAppend {
	return event(ms, coordination.CollabStream(a.id), coordination.TypeA2ACollaborateFailed, a.from, coordination.A2ACollaborate{CollabID: a.id,
		ErrorCode: code, ErrorMessage: "Discord says no", Redecide: again, Forgets: forgets})
}

func (a asking) unknown(ms int64) eventstore.StreamAppend {
	return event(ms, coordination.CollabStream(a.id), coordination.TypeDiscordDeliveryUnknown, a.from, collaborate.Failed{RequestID: a.id,
		Code: collaborate.CodeUnknown})
}

func (a asking) responded(ms int64, message string) eventstore.StreamAppend {
	return event(ms, coordination.CollabStream(a.id), coordination.TypeA2ACollaborateResponded, a.from, response.Responded{RequestID: a.id, ThreadID: a.thread,
		FromAgent: a.from, TargetAgent: a.target, MessageID: message, RespondedAt: base + ms})
}

func (a asking) reminded(ms int64, step int, message string) eventstore.StreamAppend {
	return event(ms, coordination.CollabStream(a.id), coordination.TypeCollabReminded, a.from, response.Notified{RequestID: a.id, ThreadID: a.thread, Step: step, Of: 3,
		MessageID: message})
}

func (a asking) escalated(ms int64, message, code string) eventstore.StreamAppend {
	return event(ms, coordination.CollabStream(a.id), coordination.TypeCollabEscalated, a.from, response.Notified{RequestID: a.id, ThreadID: a.thread, Step: 3, Of: 3,
		MessageID: message, Error: code})
}

// deciding reads within a transaction of the writer, which appends nothing.
func (l *log) deciding(t testing.TB, read func(tx eventstore.Tx) error) {
	t.Helper()
	_, err := l.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, read(tx) })
	if err != nil {
		t.Fatal(err)
	}
}

// load is a request as decisions see it; its Seq is 0 if there is none.
func (l *log) load(t testing.TB, id string) (r responses.Row) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		r, _, err = responses.Load(tx, id)
		return err
	})
	return r
}

func (l *log) between(t testing.TB, from, target string, ms int64) (s collaborate.State) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		s, err = responses.Between(tx, from, target, base+ms)
		return err
	})
	return s
}

func (l *log) open(t testing.TB, thread, target string) (s response.State) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		s, err = responses.Open(tx, thread, target)
		return err
	})
	return s
}

func (l *log) lastIn(t testing.TB, thread string) (r responses.Row) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		r, _, err = responses.LastIn(tx, thread)
		return err
	})
	return r
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, responses.Definition())
}

// rebuild rebuilds the tables, and fails t unless they are the same.
func (l *log) rebuild(t testing.TB) {
	t.Helper()
	live := l.dump(t)
	if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	want(t, "rebuilt", l.dump(t), live)
}

func want[V any](t testing.TB, what string, got, want V) {
	t.Helper()
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
