package continuations_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func TestMain(m *testing.M) {
	testscale.Checks(5, 60)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970: 2026-09-21T14:13:20Z.
const base = 1_790_000_000_000

// log is a log with how agents stand in it.
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
}, continuations.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{continuations.Definition()}, projections.Options{Rules: coordination.RulesV2})
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

// event is one of an agent in a stream, ms after base.
func event(ms int64, stream, typ, agent string, data any) eventstore.StreamAppend {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err) // the types of data can be written
	}
	return eventstore.StreamAppend{Stream: stream, Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorSystem, Data: text}.WithTS(base + ms),
	}}
}

// about is the context of something that concerns a task of agent eden's.
func about(id string) coordination.Context {
	return coordination.Context{TaskID: id, WorkSessionID: "ws_1", EventRole: coordination.RoleOrchestration}
}

// sent is a prompt to go on.
func sent(ms int64, agent, taskID, runID string, change ...func(*coordination.Continuation)) eventstore.StreamAppend {
	d := coordination.Continuation{Context: about(taskID), Reason: string(continuation.Idle), RunID: runID}
	for _, c := range change {
		c(&d)
	}
	return event(ms, "agent/"+agent, coordination.TypeContinuationSent, agent, d)
}

func reminded(ms int64, agent, taskID, runID string) eventstore.StreamAppend {
	return event(ms, "agent/"+agent, coordination.TypeResumeReminderSent, agent,
		coordination.Continuation{Context: about(taskID), Reason: string(continuation.StillBlocked), RunID: runID})
}

func asked(ms int64, agent, taskID, target, job string) eventstore.StreamAppend {
	return event(ms, coordination.TaskStream(taskID), coordination.TypeUnblockRequested, agent,
		coordination.Unblock{Context: about(taskID), TargetAgentID: target, RunID: job, RequestCount: 1})
}

// unanswered is a request that did not reach target, or, with "", the end of requests.
func unanswered(ms int64, agent, taskID, target string) eventstore.StreamAppend {
	return event(ms, coordination.TaskStream(taskID), coordination.TypeUnblockFailed, agent,
		coordination.Unblock{Context: about(taskID), TargetAgentID: target, Failures: 1})
}

func taken(ms int64, agent, taskID string) eventstore.StreamAppend {
	return event(ms, coordination.TaskStream(taskID), coordination.TypeZombieAbandoned, agent,
		coordination.ZombieAbandoned{Context: about(taskID), AgeHours: 25, ReassignCount: 1, Action: coordination.ZombieMovedToBacklog})
}

// moved is an event of a task whose data is a coordination.TaskState.
func moved(ms int64, typ, agent, taskID string) eventstore.StreamAppend {
	return event(ms, coordination.TaskStream(taskID), typ, agent, coordination.TaskState{Context: about(taskID)})
}

// over is the end of a run in the main session of its agent.
func over(ms int64, typ, agent, runID string, change ...func(*coordination.RunOver)) eventstore.StreamAppend {
	d := coordination.RunOver{RunID: runID, SessionKey: "agent:" + agent + ":main", EndedAtMs: base + ms}
	for _, c := range change {
		c(&d)
	}
	return event(ms, coordination.RunStream(runID), typ, agent, d)
}

func failed(class, text string) func(*coordination.RunOver) {
	return func(d *coordination.RunOver) { d.ErrorClass, d.Error = class, text }
}

// load is how an agent stands, as decisions see it.
func (l *log) load(t testing.TB, agent string) (state continuation.State) {
	t.Helper()
	_, err := l.Decide(context.Background(), func(tx eventstore.Tx) (_ []eventstore.StreamAppend, err error) {
		state, err = continuations.Load(tx, agent)
		return nil, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// all is how all agents stand, as people see it.
func (l *log) all(t testing.TB) map[string]continuation.State {
	t.Helper()
	states := map[string]continuation.State{}
	last := ""
	for _, row := range projectiontest.Read(t, l, continuations.List) {
		if row.AgentID <= last || row.Seq == 0 {
			t.Errorf("%s after %s, of event %d", row.AgentID, last, row.Seq)
		}
		states[row.AgentID], last = row.State, row.AgentID
	}
	return states
}

// byID is how one agent stands, as people see it; nil if nothing is known of it.
func (l *log) byID(t testing.TB, agent string) *continuations.Row {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (*continuations.Row, error) {
		row, found, err := continuations.ByID(ctx, tx, agent)
		if !found {
			return nil, err
		}
		return &row, err
	})
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, continuations.Definition())
}

// rebuild rebuilds the tables, and fails t unless they are the same.
func (l *log) rebuild(t testing.TB) {
	t.Helper()
	live := l.dump(t)
	l.refold(t)
	want(t, "rebuilt", l.dump(t), live)
}

// refold rebuilds the table.
func (l *log) refold(t testing.TB) {
	t.Helper()
	if err := l.engine.Rebuild(context.Background(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
}

func want[V any](t testing.TB, what string, got, want V) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}
