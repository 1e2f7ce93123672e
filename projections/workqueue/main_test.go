package workqueue_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

func TestMain(m *testing.M) {
	testscale.Checks(3, 40)
	goleak.VerifyTestMain(m)
}

// base is what times in these tests are relative to, ms since 1970.
const base = 1_790_000_000_000

// log is a log with the queue in it.
type log struct {
	*sqlite.DB
	engine *projections.Engine
}

func setup(t testing.TB) *log {
	t.Helper()
	l := openAt(t, emptyAt(t, t.TempDir()))
	t.Cleanup(func() { l.close(t) })
	return l
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, workqueue.Definition()))

// emptyAt puts an empty log into a directory.
func emptyAt(t testing.TB, dir string) (path string) {
	t.Helper()
	path = filepath.Join(dir, "log.db")
	storetest.Copy(t, emptyLog, path)
	return path
}

func open(path string) (*log, error) {
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		return nil, err
	}
	engine, err := projections.Start(context.Background(), db, []projections.Definition{workqueue.Definition()}, projections.Options{Rules: coordination.RulesV2})
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return &log{db, engine}, nil
}

// openAt opens a log that the caller must close.
func openAt(t testing.TB, path string) *log {
	t.Helper()
	l, err := open(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (l *log) close(t testing.TB) {
	t.Helper()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// event is one of an effect, in the effect's stream. data is its data without the braces.
func event(effectID, typ, data string) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: work.Stream(effectID), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: typ, Data: json.RawMessage("{" + data + "}")}.WithTS(base)}}
}

// ask asks for an effect of kind k in pool p.
func ask(effectID, key, owner string, dueAt int64) eventstore.StreamAppend {
	return event(effectID, coordination.TypeWorkScheduled,
		fmt.Sprintf(`"effectId":%q,"kind":"k","key":%q,"pool":"p","owner":%q,"dueAtMs":%d`, effectID, key, owner, dueAt))
}

func (l *log) append(t testing.TB, appends ...eventstore.StreamAppend) {
	t.Helper()
	if _, err := l.Append(t.Context(), appends...); err != nil {
		t.Fatal(err)
	}
}

// decide reads as one who decides does.
func decide[R any](t testing.TB, l *log, read func(tx eventstore.Tx) (R, error)) (result R) {
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

func (l *log) ready(t testing.TB, pool string, now int64, limit int, kinds ...string) (ids []string) {
	t.Helper()
	for _, i := range decide(t, l, func(tx eventstore.Tx) ([]workqueue.Item, error) {
		return workqueue.Ready(tx, pool, now, limit, kinds...)
	}) {
		ids = append(ids, i.EffectID)
	}
	return ids
}

func (l *log) list(t testing.TB, q workqueue.Query) []workqueue.Item {
	t.Helper()
	return projectiontest.Read(t, l, func(ctx context.Context, tx *sql.Tx) ([]workqueue.Item, error) { return workqueue.List(ctx, tx, q) })
}

func (l *log) dump(t testing.TB) []string {
	t.Helper()
	return projectiontest.Dump(t, l, workqueue.Definition())
}
