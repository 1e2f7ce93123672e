package workqueue

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// Neither looking for what is ready nor any other read walks through what waits; lanes are as many as there are owners.
func TestReadsUseIndexes(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	for name, c := range map[string]struct {
		query string
		args  []any
		uses  string
	}{
		"item":      {selectItem, []any{"s"}, "SEARCH w USING INDEX sqlite_autoindex_work_1 (stream=?)"},
		"key":       {selectKey, []any{"k"}, "SEARCH work_keys USING PRIMARY KEY (key=?)"},
		"owners":    {selectOwners, []any{"p"}, "SEARCH work_lanes USING PRIMARY KEY (pool=?)"},
		"at once":   {atOnce, []any{"p", "o", "k", 9}, "SEARCH work_keys USING COVERING INDEX work_keys_ready (pool=? AND owner=? AND kind=? AND ready_at=?)"},
		"when due":  {whenDue, []any{"p", "o", "k", 1, 9}, "SEARCH work_keys USING COVERING INDEX work_keys_ready (pool=? AND owner=? AND kind=? AND ready_at>? AND ready_at<?)"},
		"keys":      {selectKeys, []any{`["k"]`}, "SEARCH k USING PRIMARY KEY (key=?)"},
		"list":      {fromWork + inOrder, []any{0, 9}, "SEARCH w USING INTEGER PRIMARY KEY (rowid>?)"},
		"dead":      {fromWork + ofState(Dead) + inOrder, []any{0, 9}, "SEARCH w USING INDEX work_dead (seq>?)"},
		"newest":    {fromWork + ofState(Dead) + newest, []any{0, 9}, "SEARCH w USING INDEX work_dead (seq>?)"},
		"first":     {selectFirstWaiting, []any{"p", "o"}, "SEARCH w USING INDEX work_waiting (pool=? AND owner=?)"},
		"tried of":  {selectTried, []any{"k", "k"}, "SEARCH k USING INDEX work_keys_ready (pool=?)"},
		"given up":  {selectGivenUp, []any{"k", 9}, "SEARCH w USING INDEX work_dead (seq>?)"},
		"leased of": {selectLeased, []any{"k"}, "SEARCH w USING INDEX work_leased (seq>?)"},
		"leased":    {fromWork + ofState(Leased) + inOrder, []any{0, 9}, "SEARCH w USING INDEX work_leased (seq>?)"},
	} {
		t.Run(name, func(t *testing.T) {
			projectiontest.WantPlan(t, db, c.uses, c.query, c.args...)
			if steps := projectiontest.Plan(t, db, c.query, c.args...); strings.Contains(steps, "TEMP B-TREE") {
				t.Errorf("it reads all before it gives the first:\n%s", steps)
			}
		})
	}
	for name, c := range map[string]struct {
		query, uses string
		args        []any
	}{
		"heads":  {selectHeads, "SEARCH k USING COVERING INDEX work_keys_ready (pool=? AND owner=? AND kind=? AND ready_at>?)", nil},
		"busy":   {selectBusy, "SCAN work_lanes", []any{"o", "k"}}, // there is a row for each owner with something to do
		"lanes":  {selectLanes, "SEARCH w USING COVERING INDEX work_waiting (pool=? AND owner=?)", nil},
		"oldest": {selectOldest, "SEARCH w USING INDEX work_waiting (pool=? AND owner=?)", []any{"k"}},
	} {
		t.Run(name, func(t *testing.T) {
			steps := projectiontest.Plan(t, db, c.query, c.args...)
			if !strings.Contains(steps, c.uses) || strings.Contains(steps, "TEMP B-TREE") || strings.Contains(steps, "SCAN k") || strings.Contains(steps, "SCAN w\n") {
				t.Errorf("want %s:\n%s", c.uses, steps)
			}
		})
	}
}
