package sqlite

import (
	"sync/atomic"

	"github.com/pronto-lab/openclawd/eventstore"
)

// marks counts the commits of this process. Both counters are odd while a commit is under way that will change them: what
// a reader sees then is either state.
type marks struct{ commits, rewrites atomic.Uint64 }

func (m *marks) begin(rewrites bool) {
	m.commits.Add(1)
	if rewrites {
		m.rewrites.Add(1)
	}
}

func (m *marks) end(rewrites bool) {
	m.commits.Add(1)
	if rewrites {
		m.rewrites.Add(1)
	}
}

// Mark names the present state of the log and its tables. It is the zero Mark for a log that is open for reading only,
// which others change, and for one that is closed.
func (db *DB) Mark() eventstore.Mark {
	if db.writer == nil || db.closed.Load() {
		return eventstore.Mark{}
	}
	// Counters begin at 2, so that no state of a log has the zero Mark.
	return eventstore.Mark{Commits: db.marks.commits.Load() + 2, Rewrites: db.marks.rewrites.Load() + 2}
}
