//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package projections_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/internal/testscale"
)

func TestRebuildReadsEveryPage(t *testing.T) {
	t.Parallel()
	for _, m := range manners {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, definitions()...)
			const events = 200
			for batch := range slices.Chunk(talks(events), 23) {
				b.append(t, batch...)
			}
			want := b.dump(t)
			paces := []struct{ page, live, offline int }{{10, 25, 25}, {199, 200, 200}, {1, 1, 1}, {10, 10, 10}, {50, 7, 7}, {200, 200, 200}, {201, 1, 1}}
			for _, pace := range paces[:testscale.Of(2, len(paces))] {
				var last, total int64
				opts := m.opts
				opts.Progress = func(d, of int64) { last, total = d, of }
				b.engine.SetPace(pace.page, pace.live, pace.offline)
				b.rebuild(t, opts)
				wantSame(t, fmt.Sprintf("tables rebuilt at pace %+v", pace), b.dump(t), want)
				if last != events || total != events {
					t.Errorf("pace %+v: progress ended at %d of %d", pace, last, total)
				}
			}
		})
	}
}

func TestRebuiltTablesKeepTheirViewsAndIndexes(t *testing.T) {
	t.Parallel()
	for _, m := range manners {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, definitions()...)
			b.append(t, talks(40)...)
			names, views, plans := b.objects(t), b.views(t), b.plans(t)
			for round := range testscale.Of(2, 4) {
				b.engine.SetSmall(10 * (1 - round/2)) // then all tables with rows in them are put aside
				b.rebuild(t, m.opts)
				want := names
				if round%2 == 0 {
					want = other(names)
				}
				if diff := cmp.Diff(want, b.objects(t)); diff != "" {
					t.Fatalf("tables and indexes after rebuild %d (-want +got):\n%s", round+1, diff)
				}
				if diff := cmp.Diff(views, b.views(t)); diff != "" {
					t.Errorf("rows of the views after rebuild %d (-want +got):\n%s", round+1, diff)
				}
				if diff := cmp.Diff(plans, strings.ReplaceAll(b.plans(t), "_b (", " (")); diff != "" {
					t.Errorf("query plans after rebuild %d (-want +got):\n%s", round+1, diff)
				}
				b.reopen(t)
			}
		})
	}
}
