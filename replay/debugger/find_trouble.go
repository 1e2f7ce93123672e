package debugger

import (
	"context"
	"database/sql"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/index"
)

// FindTrouble is Find for errors, by the index that the log's own tables have of them: its cost does not depend on the length of the log.
func FindTrouble(ctx context.Context, log *sqlite.DB, from int64, d Direction) (found int64, err error) {
	err = log.View(ctx, func(tx *sql.Tx) error {
		selected, err := index.Select(ctx, tx, index.Filter{Internal: true, Failed: true})
		if err != nil {
			return err
		}
		var seqs []int64
		if d == Later {
			seqs, err = selected.After(ctx, tx, from, 1)
		} else {
			seqs, err = selected.Newest(ctx, tx, from, 1)
		}
		if len(seqs) > 0 {
			found = seqs[0]
		}
		return err
	})
	return found, err
}
