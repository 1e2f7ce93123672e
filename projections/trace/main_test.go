package trace_test

import (
	"database/sql"
	"encoding/json"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/trace"
)

func TestMain(m *testing.M) {
	testscale.Checks(4, 40)
	goleak.VerifyTestMain(m)
}

// base is when the stories of these tests begin, ms since 1970.
const base = 1_790_000_000_000

func definitions() []projections.Definition {
	return []projections.Definition{runs.Definition(), flows.Definition(), index.Definition(coordination.RulesV2), conversations.Definition(coordination.RulesV2)}
}

func setup(t testing.TB) *sqlite.DB {
	t.Helper()
	db, _ := projectiontest.New(t, sqlite.Options{}, definitions()...)
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
