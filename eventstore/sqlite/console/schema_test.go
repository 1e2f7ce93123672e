package console_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

func TestCommentsDescribeTables(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		ddl, doc string
		columns  []console.ColumnDoc
	}{
		"a table": {`-- What is
-- written down.
CREATE TABLE "notes" ( -- It grows.
  id    INTEGER PRIMARY KEY, -- seq; of (its) event
  kind  TEXT NOT NULL CHECK (kind IN ('a, b', 'c')), -- a, b or c
    -- and no other
  plain BLOB,
  "odd name" TEXT DEFAULT '-- no comment', /* quoted */
  untyped,
  last  TEXT -- the last one
  ,
  UNIQUE (id, kind), -- not a column's
  PRIMARY KEY (id)
) STRICT`, "What is written down. It grows.", []console.ColumnDoc{{"id", "INTEGER", "seq; of (its) event"}, {"kind", "TEXT", "a, b or c and no other"},
			{"plain", "BLOB", ""}, {"odd name", "TEXT", "quoted"}, {"untyped", "", ""}, {"last", "TEXT", "the last one not a column's"}}},
		"a view with columns": {"CREATE VIEW v ( -- One row per x.\n  -- Two lines.\n  a, -- text: first\n  b -- second\n) AS SELECT 1, (2) -- not this", "One row per x. Two lines.",
			[]console.ColumnDoc{{"a", "", "text: first"}, {"b", "", "second"}}},
		"a view without": {"CREATE VIEW v AS SELECT a, -- x\n (b) FROM c", "", nil},
		"nothing":        {"", "", nil},
	} {
		doc, columns := console.Describe(c.ddl)
		if diff := cmp.Diff(c.columns, columns); diff != "" || doc != c.doc {
			t.Errorf("%s: %q, want %q; columns (-want +got):\n%s", name, doc, c.doc, diff)
		}
	}
}

func TestSchemaTellsOfTablesAndViews(t *testing.T) {
	t.Parallel()
	b := setup(t, console.Limits{})
	tables, err := b.console.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]console.Table{}
	for _, table := range tables {
		found[table.Name] = table
	}
	events := found["events"]
	if events.Kind != "table" || len(events.Columns) != 17 || !cmp.Equal(events.Columns[0], console.ColumnDoc{Name: "seq", Type: "INTEGER", Doc: "gapless, assigned by the writer"}) {
		t.Errorf("events: %+v", events)
	}
	if view := found["v_events"]; view.Kind != "view" || len(view.Columns) < 20 || view.Columns[0].Name != "seq" {
		t.Errorf("v_events: %+v", view)
	}
}

func TestValuesAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	row := []any{nil, int64(math.MaxInt64), int64(math.MinInt64), 1.5, 1.0, 1e300, math.Inf(1), math.Inf(-1), "가\n\"<", "\xff", []byte{0, 255}}
	const want = `[null,9223372036854775807,-9223372036854775808,1.5,1.0,1e+300,9e999,-9e999,"가\n\"<","\ufffd","00ff"]`
	if got := string(console.AppendRow(nil, row)); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	var texts []string
	for _, v := range row {
		texts = append(texts, console.Text(v))
	}
	if got, want := fmt.Sprintf("%q", texts), `["" "9223372036854775807" "-9223372036854775808" "1.5" "1.0" "1.0e+300" "Inf" "-Inf" "가\n\"<" "\xff" "00ff"]`; got != want {
		t.Errorf("as text %s, want %s", got, want)
	}
}
