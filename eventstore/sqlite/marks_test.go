package sqlite_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

// A mark changes with each commit, and says which of them did more than append.
func TestMarks(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	last := db.Mark()
	if !last.Settled() || !last.Intact() {
		t.Fatalf("%+v of a log at rest", last)
	}
	for _, c := range []struct {
		what     string
		do       func()
		rewrites bool
	}{
		{"an append", func() { mustAppend(t, db, says("secret")) }, false},
		{"a redaction with its event", func() {
			_, err := db.RedactBy(t.Context(), func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
				return []int64{1}, []eventstore.StreamAppend{tells("a")}, nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}, true},
		{"another append", func() { mustAppend(t, db, says("x")) }, false},
		{"a redaction", func() {
			if err := db.Redact(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
		}, true},
	} {
		c.do()
		now := db.Mark()
		if both := last.Until(now); both.Settled() || both.Intact() == c.rewrites {
			t.Errorf("%s: from %+v to %+v", c.what, last, now)
		}
		if !now.Settled() || !now.Intact() || now.Until(now) != now {
			t.Errorf("%+v after %s", now, c.what)
		}
		last = now
	}
	// While a commit is under way the state has no name.
	if err := db.Exclusive(t.Context(), func(eventstore.Tx) error {
		if now := db.Mark(); now != last {
			t.Errorf("%+v before the commit, want %+v", now, last)
		}
		return nil
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil || db.Mark() != (eventstore.Mark{}) {
		t.Errorf("%+v of a closed log, %v", db.Mark(), err)
	}
	if (eventstore.Mark{}).Settled() || (eventstore.Mark{}).Intact() || (eventstore.Mark{Commits: 3, Rewrites: 3}).Settled() || (eventstore.Mark{Commits: 3, Rewrites: 3}).Intact() {
		t.Error("an unknown state has a name")
	}
}
