package trace_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/a2a"
	"github.com/pronto-lab/openclawd/projections/conversation"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/run"
	"github.com/pronto-lab/openclawd/projections/trace"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.checks", propertyChecks); err != nil {
		panic(err)
	}
	goleak.VerifyTestMain(m)
}

// base is when the stories of these tests begin, ms since 1970.
const base = 1_790_000_000_000

func definitions() []projections.Definition {
	return []projections.Definition{run.Definition(), a2a.Definition(), index.Definition(coordination.RulesV2), conversation.Definition(coordination.RulesV2)}
}

// emptyLog is the file of a log that has its tables.
var emptyLog = storetest.File(projectiontest.Empty(func(path string) (projectiontest.Log, error) {
	return sqlite.Open(context.Background(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
}, definitions()...))

func setup(t testing.TB) *sqlite.DB {
	t.Helper()
	path := filepath.Join(t.TempDir(), "log.db")
	storetest.Copy(t, emptyLog, path)
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := projections.Start(t.Context(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
		t.Fatal(err)
	}
	return db
}

// importing brings lines into the log as an import of a file with them would.
func importing(t testing.TB, db *sqlite.DB, lines ...string) {
	t.Helper()
	im := ndjson.New(ndjson.Options{Log: db, Stream: func(typ, agentID string, data, original []byte) string {
		r := coordination.ReadRecord(coordination.RulesV2, typ, agentID, 0, 0, data, original)
		return coordination.StreamOf(&r)
	}, Reject: func(string, int64, ndjson.Rejection) (string, json.RawMessage) {
		return coordination.TypeImportRejected, json.RawMessage(`{}`)
	}})
	if _, err := im.Import(t.Context(), strings.NewReader(strings.Join(lines, "\n")+"\n"), "test.ndjson"); err != nil {
		t.Fatal(err)
	}
}

func tracing(t testing.TB, db *sqlite.DB, id string, o trace.Options) (found *trace.Trace, err error) {
	t.Helper()
	err = db.View(t.Context(), func(tx *sql.Tx) (err error) {
		found, err = trace.Of(t.Context(), tx, id, o)
		return err
	})
	return found, err
}

func traced(t testing.TB, db *sqlite.DB, id string, o trace.Options) *trace.Trace {
	t.Helper()
	found, err := tracing(t, db, id, o)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// outline is a tree in short: a line for each node, indented.
func outline(t *trace.Trace) (lines []string) {
	var visit func(n *trace.Node, depth int)
	visit = func(n *trace.Node, depth int) {
		word := string(n.Kind)
		if n.Role != "" {
			word = n.Role
		} else if n.Of != "" {
			word = n.Of
		}
		lines = append(lines, strings.Repeat("  ", depth)+word+" "+n.ID)
		for _, c := range n.Children {
			visit(c, depth+1)
		}
	}
	for _, n := range t.Roots {
		visit(n, 0)
	}
	return lines
}

// nodes are all nodes of a tree.
func nodes(t *trace.Trace) (list []*trace.Node) {
	var visit func(level []*trace.Node)
	visit = func(level []*trace.Node) {
		for _, n := range level {
			list = append(list, n)
			visit(n.Children)
		}
	}
	visit(t.Roots)
	return list
}

func node(t testing.TB, found *trace.Trace, kind trace.Kind, id string) *trace.Node {
	t.Helper()
	for _, n := range nodes(found) {
		if n.Kind == kind && n.ID == id {
			return n
		}
	}
	t.Fatalf("%s %s is not in the trace", kind, id)
	return nil
}
