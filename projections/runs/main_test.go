package runs_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
)

func TestMain(m *testing.M) {
	testscale.Checks(5, 60)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970.
const base = 1_790_000_000_000

// log is a log with the runs in it.
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
}, runs.Definition()))

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := projections.Start(t.Context(), db, []projections.Definition{runs.Definition()}, projections.Options{Rules: coordination.RulesV2})
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

// event is one of run r<id>, ms after base. data is the rest of its data, without the braces.
func event(ms int64, typ, id string, data ...string) eventstore.StreamAppend {
	text := strings.Join(append([]string{fmt.Sprintf(`"runId":%q`, id)}, data...), ",")
	return eventstore.StreamAppend{Stream: coordination.RunStream(id), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: "run." + typ, AgentID: "eden", Data: json.RawMessage("{" + text + "}")}.WithTS(base + ms),
	}}
}

// queued is a run in the session of agent eden's that has that name.
func queued(ms int64, id, name string, data ...string) eventstore.StreamAppend {
	return event(ms, "queued", id, append([]string{`"sessionKey":"agent:eden:` + name + `","lane":"main","cause":"agent","message":"안녕"`}, data...)...)
}

// decided is what a decision makes happen to a run.
func decided(id string, ms int64, e run.Event) eventstore.StreamAppend {
	data, err := json.Marshal(e.Data)
	if err != nil {
		panic(err) // the types of data can be written
	}
	return eventstore.StreamAppend{Stream: coordination.RunStream(id), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: e.Type, AgentID: "eden", Data: data}.WithTS(base + ms),
	}}
}

func (l *log) list(t testing.TB, q runs.Query) []run.Result {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]run.Result, error) { return runs.List(ctx, tx, q) })
}

func (l *log) byID(t testing.TB, id string) *run.Result {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (*run.Result, error) {
		r, found, err := runs.ByID(ctx, tx, id)
		if !found {
			return nil, err
		}
		return &r, err
	})
}

// deciding reads within a transaction of the writer, which appends nothing.
func (l *log) deciding(t testing.TB, read func(tx eventstore.Tx) error) {
	t.Helper()
	_, err := l.Decide(t.Context(), func(tx eventstore.Tx) ([]eventstore.StreamAppend, error) { return nil, read(tx) })
	if err != nil {
		t.Fatal(err)
	}
}

// openOf are the ids of the open runs of a session of agent eden's, in order.
func (l *log) openOf(t testing.TB, name string) (ids []string) {
	t.Helper()
	l.deciding(t, func(tx eventstore.Tx) error {
		open, err := runs.OpenOf(tx, "agent:eden:"+name)
		for _, r := range open {
			ids = append(ids, r.RunID)
		}
		return err
	})
	for i, id := range ids {
		if ahead, found := l.position(t, id); !found || ahead != i {
			t.Errorf("%s is at %d of %v (%v)", id, ahead, ids, found)
		}
	}
	return ids
}

// position is how many runs come before one.
func (l *log) position(t testing.TB, id string) (ahead int, found bool) {
	t.Helper()
	projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) (_ struct{}, err error) {
		ahead, found, err = runs.Position(ctx, tx, id)
		return struct{}{}, err
	})
	return ahead, found
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, runs.Definition())
}

// brief is what a run is, times relative to base.
func brief(r run.Result) string {
	after := func(ms int64) int64 {
		if ms == 0 {
			return 0
		}
		return ms - base
	}
	text := fmt.Sprintf("%s %s: %s %s/%s %s %s [%d %d %d]", r.RunID, r.State, r.SessionKey, r.AgentID, r.SessionID, r.Lane, r.Cause,
		after(r.QueuedAt), after(r.StartedAt), after(r.EndedAt))
	if r.RetryOf != "" {
		text += " again " + r.RetryOf
	}
	if where := r.JobID + r.WorkSessionID + r.ConversationID + r.ParentRunID; where != "" {
		text += fmt.Sprintf(" of %s in %s %s by %s", r.JobID, r.WorkSessionID, r.ConversationID, r.ParentRunID)
	}
	if o := r.Over; o != nil {
		text += strings.TrimRight(fmt.Sprintf(" | %s %s%s%s %s/%s", o.Text, o.StopReason, o.Reason, o.ErrorClass, o.Provider, o.Model), " /")
		if o.Usage != nil {
			text += fmt.Sprintf(" {%d %d %d}", o.Usage.Input, o.Usage.Output, o.Usage.Total)
		}
	}
	return text
}
