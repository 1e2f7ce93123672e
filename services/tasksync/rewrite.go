package tasksync

import (
	"context"
	"errors"
	"slices"
)

// Rewrite writes every file again, even those in sync, and returns the number of writes. One failure does not affect the other files.
func (s *Syncer) Rewrite(ctx context.Context) (n int, err error) {
	all, err := s.everything(ctx, allMonths)
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, subject.compare)
	since, _ := s.agenda.settledTo()
	var failed []error
	for _, subj := range all {
		if ctx.Err() != nil {
			return n, ctx.Err()
		}
		wrote, err := s.sync(ctx, subj, since+1, true)
		n += wrote
		failed = append(failed, err)
	}
	return n, errors.Join(failed...)
}
