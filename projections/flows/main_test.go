package flows_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/a2a"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// eachRebuilt says whether each single history is made again too. Property tests do it in any case.
var eachRebuilt = testscale.Of(false, true)

func TestMain(m *testing.M) {
	testscale.Checks(5, 30)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970.
const base = 1_790_000_000_000

// log is a log with the flows in it.
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
}, flows.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{flows.Definition()}, projections.Options{Rules: coordination.RulesV2})
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

func (l *log) append(t testing.TB, appends ...eventstore.StreamAppend) eventstore.Result {
	t.Helper()
	result, err := l.Append(t.Context(), appends...)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func (l *log) rebuild(t testing.TB) {
	t.Helper()
	if err := l.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
}

// wantSameRebuilt fails t unless the tables are the same when they are rebuilt.
func (l *log) wantSameRebuilt(t testing.TB) {
	t.Helper()
	if !eachRebuilt {
		return
	}
	live := l.dump(t)
	l.rebuild(t)
	if diff := cmp.Diff(live, l.dump(t)); diff != "" {
		t.Errorf("rebuilt (-live +rebuilt):\n%s", diff)
	}
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, flows.Definition())
}

// event is one in a stream, ms after base.
func event(ms int64, stream, typ string, data any) eventstore.StreamAppend {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // the types of data can be written
	}
	return eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: "eden", Data: text}.WithTS(base + ms),
	}}
}

// created asks for a flow from agent eden to agent seum. It waits for its first answer unless change says otherwise.
func created(ms int64, id string, change ...func(*coordination.A2AJobCreated)) eventstore.StreamAppend {
	c := coordination.A2AJobCreated{
		Context: coordination.Context{EventRole: coordination.RoleOrchestration, ConversationID: "c-" + id, WorkSessionID: "ws_1"},
		JobID:   id, Kind: "send", FromAgent: "eden", ToAgent: "seum", Phase: "waiting", DueAtMs: base + ms + 1_000,
		RequesterSessionKey: "agent:eden:main", RequesterRunID: "r0", TargetSessionKey: "agent:seum:a2a:c-" + id, Message: "안녕 **세움**",
		MessageIntent: "question", EffectiveTurns: 2,
	}
	for _, f := range change {
		f(&c)
	}
	return event(ms, coordination.JobStream(id), coordination.TypeA2AJobCreated, c)
}

// Ways to change what created asks for.
type change = func(*coordination.A2AJobCreated)

func dispatching(c *coordination.A2AJobCreated) { c.Phase = "dispatching" }

func spawn(c *coordination.A2AJobCreated) {
	c.Kind, c.MessageIntent, c.EffectiveTurns, c.Label = "spawn", "", 0, "찾아보기"
}

func between(from, to string) change {
	return func(c *coordination.A2AJobCreated) { c.FromAgent, c.ToAgent = from, to }
}

func requester(key string) change {
	return func(c *coordination.A2AJobCreated) { c.RequesterSessionKey = key }
}

func payload(typ, subject, hash string) change {
	return func(c *coordination.A2AJobCreated) {
		c.PayloadType, c.PayloadSubject, c.PayloadHash = typ, subject, hash
	}
}

// moved is what happens to a flow.
func moved(ms int64, id, typ string, job coordination.A2AJob) eventstore.StreamAppend {
	job.EventRole, job.JobID, job.Kind, job.FromAgent, job.ToAgent = coordination.RoleOrchestration, id, "send", "eden", "seum"
	return event(ms, coordination.JobStream(id), "a2a.job."+typ, job)
}

func running(ms int64, id, phase string, due int64, runID, speaker string, more ...func(*coordination.A2AJob)) eventstore.StreamAppend {
	job := coordination.A2AJob{Phase: phase, DueAtMs: base + due, RunID: runID, Speaker: speaker, Attempt: 1}
	for _, f := range more {
		f(&job)
	}
	return moved(ms, id, "running", job)
}

func turn(n int, last string) func(*coordination.A2AJob) {
	return func(j *coordination.A2AJob) { j.Turn, j.LastText = n, last }
}

// sent is the a2a.send of a flow. payload is JSON, or "".
func sent(ms int64, id, from, to, typ, payload string) eventstore.StreamAppend {
	return event(ms, "conversation/c-"+id, coordination.TypeA2ASend, coordination.A2ASend{
		Context: coordination.Context{EventRole: coordination.RoleConversation}, FromAgent: from, ToAgent: to, Message: "안녕", RunID: id, JobID: id,
		PayloadType: typ, PayloadJSON: payload,
	})
}

// answered is an a2a.response in a flow.
func answered(ms int64, id, from, to string, more ...func(*coordination.A2AResponse)) eventstore.StreamAppend {
	r := coordination.A2AResponse{Context: coordination.Context{EventRole: coordination.RoleConversation}, FromAgent: from, ToAgent: to, Message: "그래", JobID: id}
	for _, f := range more {
		f(&r)
	}
	return event(ms, "conversation/c-"+id, coordination.TypeA2AResponse, r)
}

// in puts an append elsewhere.
func in(stream string, a eventstore.StreamAppend) eventstore.StreamAppend {
	a.Stream = stream
	return a
}

func imported(a eventstore.StreamAppend) eventstore.StreamAppend {
	for i := range a.Events {
		a.Events[i].Actor = eventstore.ActorImport
	}
	return a
}

func (l *log) list(t testing.TB, q flows.Query) []flows.Row {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]flows.Row, error) { return flows.List(ctx, tx, q) })
}

// ids are those of the flows that are listed.
func (l *log) ids(t testing.TB, q flows.Query) (ids []string) {
	t.Helper()
	for _, r := range l.list(t, q) {
		ids = append(ids, r.JobID)
	}
	return ids
}

func (l *log) handoffs(t testing.TB, q flows.HandoffQuery) []flows.Handoff {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]flows.Handoff, error) { return flows.Handoffs(ctx, tx, q) })
}

// deciding reads within a transaction of the writer, which appends nothing.
func deciding[R any](t testing.TB, l *log, read func(tx eventstore.Tx) (R, error)) (result R) {
	t.Helper()
	_, err := l.Decide(t.Context(), func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
		result, err = read(tx)
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// load is a flow as a decision sees it, nil if there is none.
func (l *log) load(t testing.TB, id string) *a2a.Flow {
	t.Helper()
	return deciding(t, l, func(tx eventstore.Tx) (*a2a.Flow, error) {
		f, found, err := flows.Load(tx, id)
		if found != (f != nil) {
			t.Errorf("found %v: %+v", found, f)
		}
		return f, err
	})
}

// gate is how the permits of a target stand: those that are held, those that are waited for, and whose turn it is.
func (l *log) gate(t testing.TB, target string) string {
	t.Helper()
	return deciding(t, l, func(tx eventstore.Tx) (string, error) {
		active, waiting, err := flows.Permits(tx, target)
		if err != nil {
			return "", err
		}
		next, err := flows.Next(tx, target)
		return strings.TrimSpace(fmt.Sprint(active, " active, ", waiting, " waiting ", next)), err
	})
}

func (l *log) children(t testing.TB, key string) int {
	t.Helper()
	return deciding(t, l, func(tx eventstore.Tx) (int, error) { return flows.Children(tx, key) })
}

// brief is what a flow is, times relative to base.
func brief(r flows.Row) string {
	text := fmt.Sprintf("%s %s %s>%s %s", r.JobID, r.Kind, r.FromAgent, r.ToAgent, r.Phase)
	if r.RunID != "" {
		text += fmt.Sprintf(" run %s/%d turn %d", r.RunID, r.Attempt, r.Turn)
	}
	text += fmt.Sprintf(" [%d %d %d]", after(r.CreatedAt), after(r.ChangedAt), after(r.EndedAt))
	if r.DueAt != 0 {
		text += fmt.Sprint(" due ", after(r.DueAt))
	}
	if r.Resumed > 0 {
		text += fmt.Sprint(" resumed ", r.Resumed)
	}
	for _, s := range r.Said {
		text += fmt.Sprintf(" %s:%q", s.Agent, s.Text)
	}
	return strings.TrimSpace(text + " " + r.Outcome + " " + r.Reason)
}

func after(ms int64) int64 {
	if ms == 0 {
		return 0
	}
	return ms - base
}

func (l *log) byID(t testing.TB, id string) (r flows.Row, found bool) {
	t.Helper()
	r = projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (r flows.Row, err error) {
		r, found, err = flows.ByID(ctx, tx, id)
		return r, err
	})
	return r, found
}
