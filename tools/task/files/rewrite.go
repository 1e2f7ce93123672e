package files

import (
	"context"
	"errors"
	"slices"
)

// Rewrite writes every file anew, also those that are as they should be, and says how many it has written. One that cannot be written keeps
// none of the others from it.
func (k *Keeper) Rewrite(ctx context.Context) (n int, err error) {
	all, err := k.everything(ctx, allMonths)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, subject.compare)
	since, _ := k.agenda.settledTo()
	var failed []error
	for _, s := range all {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		wrote, err := k.keep(ctx, s, since+1, true)
		n += wrote
		failed = append(failed, err)
	}
	return n, errors.Join(failed...)
}
