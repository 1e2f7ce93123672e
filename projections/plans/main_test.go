package plans_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/plan"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func TestMain(m *testing.M) {
	testscale.Checks(5, 30)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970: 2026-09-21T14:13:20Z.
const base = 1_790_000_000_000

// log is a log with the plans in it.
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
}, plans.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{plans.Definition()}, projections.Options{Rules: coordination.RulesV2})
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

// event is one of a plan, ms after base.
func event(ms int64, typ, id, agent string, d coordination.Plan) eventstore.StreamAppend {
	d.PlanID, d.EventRole = id, coordination.RoleOrchestration
	data, err := json.Marshal(d)
	if err != nil {
		panic(err) // the type of data can be written
	}
	return eventstore.StreamAppend{Stream: coordination.PlanStream(id), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, AgentID: agent, Actor: eventstore.ActorAgent, Data: data}.WithTS(base + ms),
	}}
}

// submitted is a plan of an agent for a task of it, with two steps, that asks for exec.
func submitted(ms int64, id, agent, task string) eventstore.StreamAppend {
	return event(ms, coordination.TypePlanSubmitted, id, agent, coordination.Plan{Context: coordination.Context{TaskID: task, WorkSessionID: "ws_" + task},
		AgentID: agent, Title: "plan of " + id, StepsCount: 2, Steps: []string{"first", "둘째"}, ToolsRequested: []string{"exec"},
		SessionKey: "agent:" + agent + ":main"})
}

func approved(ms int64, id, agent string) eventstore.StreamAppend {
	return event(ms, coordination.TypePlanApproved, id, agent, coordination.Plan{DecidedBy: "ruda"})
}

func rejected(ms int64, id, agent string) eventstore.StreamAppend {
	return event(ms, coordination.TypePlanRejected, id, agent, coordination.Plan{DecidedBy: "영희", Reason: "너무 크다"})
}

// deciding reads within a transaction of the writer, which appends nothing.
func (l *log) deciding(t testing.TB, read func(tx eventstore.Tx) error) {
	t.Helper()
	_, err := l.Decide(context.Background(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, read(tx) })
	if err != nil {
		t.Fatal(err)
	}
}

// load is a plan as decisions see it, nil if there is none.
func (l *log) load(t testing.TB, id string) (found *plan.Plan) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		found, _, err = plans.Load(tx, id)
		return err
	})
	return found
}

// list gives the ids of plans, with their state.
func (l *log) list(t testing.TB, q plans.Query) (lines []string) {
	t.Helper()
	for _, p := range projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]plan.Plan, error) { return plans.List(ctx, tx, q) }) {
		lines = append(lines, p.ID+" "+p.Status)
	}
	return lines
}

// open are the tools that are open to an agent for a task.
func (l *log) open(t testing.TB, agent, task string) (tools string) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) error {
		plans, err := plans.Of(tx, agent, task)
		tools = strings.Join(plan.NewGate(plans, agent, task).Open(), " ")
		return err
	})
	return tools
}

func (l *log) pending(t testing.TB, agent string) (n int) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) (err error) {
		n, err = plans.PendingOf(tx, agent)
		return err
	})
	return n
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, plans.Definition())
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
