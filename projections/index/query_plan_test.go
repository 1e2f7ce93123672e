package index

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// TestReadsUseIndexes: no read walks through a table that grows with the log.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	for name, c := range map[string]struct {
		query string
		args  []any
		uses  string
	}{
		"hours":    {selectHours, []any{1, 2}, "SEARCH facet_hours USING PRIMARY KEY (hour>? AND hour<?)"},
		"spans":    {selectBlockTimes, []any{1, 2, 1.0, 2.0}, "SEARCH block_times USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"of block": {selectBlockBits, []any{"[1]", 1, 2}, "SEARCH b USING INDEX facet_blocks_by_facet (facet_id=? AND block>? AND block<?)"},
		"count":    {countEvents, []any{1.0, 2.0, "[1]", 1.0, 2.0}, "SEARCH e USING INTEGER PRIMARY KEY (rowid>? AND rowid<?)"},
		"blocks":   {selectBlocks, []any{"[1]", 1, 2}, "SEARCH b USING INDEX facet_blocks_by_facet (facet_id=? AND block>? AND block<?)"},
		"in time":  {selectInTime, []any{"[1]", 1.0, 2.0}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"entries":  {selectEntries, []any{"[1]"}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"active":   {selectActivities, []any{`["eden"]`}, "SEARCH a USING PRIMARY KEY (agent=?)"},
		"marks":    {selectMarkFacets, []any{"eden", 0}, "SEARCH mark_facets USING PRIMARY KEY (agent=? AND failed=?)"},
		"marked":   {selectMarked, []any{"[1]", "eden", 0, 1, 2}, "SEARCH m USING INDEX mark_blocks_by_mark (agent=? AND failed=? AND block>? AND block<?)"},
		"span":     {selectSpan, []any{"eden", 0, 1, 2}, "SEARCH m USING INDEX mark_blocks_by_mark (agent=? AND failed=? AND block>? AND block<?)"},
		"agents":   {selectSpanAgents, []any{1, 2}, "SEARCH mark_blocks USING PRIMARY KEY (block>? AND block<?)"},
		"bits":     {selectMarkBits, []any{"eden", 0, 1, 2}, "SEARCH m USING INDEX mark_blocks_by_mark (agent=? AND failed=? AND block>? AND block<?)"},
		"session":  {selectOfNames, []any{`["ws_1"]`}, "SEARCH e USING PRIMARY KEY (session_id=?)"},
		"times":    {selectTimes, []any{"[1]"}, "SEARCH e USING INTEGER PRIMARY KEY (rowid=?)"},
		"roster":   {selectRoster, nil, "SEARCH projections USING PRIMARY KEY (name=?)"},
	} {
		t.Run(name, func(t *testing.T) {
			projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
		})
	}
}
