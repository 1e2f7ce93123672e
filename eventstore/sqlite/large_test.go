//go:build !race

// These tests compute or copy much in one goroutine, for which the race detector takes minutes and finds nothing.

package sqlite

import "testing"

// A commit that restarts the WAL frees only a part of what a backup has let it grow.
func TestLongWALIsCutInPortions(t *testing.T) {
	t.Parallel()
	const length = walKept + 2*walCut
	db, large := largeLog(t)
	whileRead(t, db, func() {
		for size(db.path+"-wal") < length {
			large(512 << 10)
		}
	})
	cuts := 0
	for before := size(db.path + "-wal"); before > walKept; {
		large(1)
		db.checks.round()
		large(1)
		now := size(db.path + "-wal")
		if before-now > walCut {
			t.Fatalf("%d bytes are cut off at once, from %d", before-now, before)
		}
		if now < before {
			cuts++
		}
		before = now
	}
	if cuts < 2 {
		t.Errorf("the WAL was cut %d times", cuts)
	}
}
