package compare_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/compare"
)

// BenchmarkTables walks two equal tables as wide as the one that has a row for each event.
func BenchmarkTables(b *testing.B) {
	const rows = 50_000
	ddl := `CREATE TABLE wide (seq INTEGER PRIMARY KEY, facet INTEGER, time REAL, time_source TEXT, from_type TEXT, to_type TEXT, role_guessed INTEGER,
 source TEXT, confidence REAL, sub_tags TEXT, secondary TEXT, version TEXT) STRICT`
	before, after := file(b, ddl), file(b, ddl)
	exec(b, before, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
 INSERT INTO wide SELECT i, i % 40, 1790000000000.5 + i, 'event', 'main', 'subagent', 0, 'rule', 0.89, '["배포"]', '[]', 'v2' FROM n`, rows)
	exec(b, after, "ATTACH ? AS other", before.Path())
	exec(b, after, "INSERT INTO wide SELECT * FROM other.wide")
	for b.Loop() {
		counts, err := compare.Tables(b.Context(), before, after, []projections.Definition{{Name: "one", Tables: []string{"wide"}}}, nil)
		if err != nil || counts[0].Rows != rows || counts[0].Differs() {
			b.Fatalf("%v, %v", counts, err)
		}
	}
	b.ReportMetric(rows*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
}
