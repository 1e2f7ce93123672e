package debugger

import (
	"context"
	"database/sql"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/index"
)

// Bounds of FindTrouble, in events of types that can report errors: at a time, and in all.
const (
	troublePage = 200
	troubleMost = 20_000
)

// FindTrouble is Find for errors, by the index of event types. It gives up after many events that could have been
// errors: searched is the last seq that it has searched, found is 0 if there is no error on the way there.
func FindTrouble(ctx context.Context, log *sqlite.DB, from int64, d Direction) (found, searched int64, err error) {
	head, err := log.Head(ctx)
	if err != nil {
		return 0, 0, err
	}
	end := head.Seq
	if d == Earlier {
		end = min(1, head.Seq)
	}
	for left := troubleMost; left > 0; left -= troublePage {
		seqs, err := candidates(ctx, log, from, d)
		if err != nil {
			return 0, 0, err
		}
		for _, seq := range seqs {
			e, err := log.Event(ctx, seq)
			if err != nil {
				return 0, 0, err
			}
			if IsTrouble(&e) {
				return seq, seq, nil
			}
			from = seq
		}
		if len(seqs) < troublePage {
			return 0, end, nil
		}
	}
	return 0, from, nil
}

// candidates lists the next events of types that can report errors, the nearest first.
func candidates(ctx context.Context, log *sqlite.DB, from int64, d Direction) (seqs []int64, err error) {
	err = log.View(ctx, func(tx *sql.Tx) error {
		types, err := index.Types(ctx, tx)
		if err != nil {
			return err
		}
		types = slices.DeleteFunc(types, func(name string) bool { return ruleOf(name) == nil })
		if len(types) == 0 {
			return nil
		}
		selected, err := index.Select(ctx, tx, index.Filter{Internal: true, Types: types})
		if err != nil {
			return err
		}
		if d == Later {
			seqs, err = selected.After(ctx, tx, from, troublePage)
		} else {
			seqs, err = selected.Newest(ctx, tx, from, troublePage)
			slices.Reverse(seqs)
		}
		return err
	})
	return seqs, err
}
