package index_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// TestMarksAreCountedAtAnyEnd: what is not in mark_facets and mark_blocks yet counts like what is, wherever a block or a span of blocks
// ends, and wherever the program was started again.
func TestMarksAreCountedAtAnyEnd(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	ctx, def := context.Background(), index.Definition(coordination.RulesV2)
	opts := sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed}
	log, engine := projectiontest.New(t, opts, def)

	agents := []string{"eden", "seum", "dajim", "Miru"}
	concern, failures := map[string][]int64{}, []int64{} // seqs
	const span = 16 * index.BlockSize
	// The last event of a block, the first of the next one, the same for a span, and places in between.
	for _, end := range []int64{3, index.BlockSize - 1, index.BlockSize, 700, span - 1, span, span + 1, span + 2*index.BlockSize + 9} {
		var batch []eventstore.NewEvent
		head, err := log.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for seq := head.Seq + 1; seq <= end; seq++ {
			from, to := agents[random.IntN(len(agents))], agents[random.IntN(len(agents))]
			for _, agent := range slices.Compact([]string{from, to}) {
				concern[strings.ToLower(agent)] = append(concern[strings.ToLower(agent)], seq)
			}
			typ := coordination.TypeA2ASend
			if random.IntN(5) == 0 {
				typ = coordination.TypeDiscordSendFailed
				failures = append(failures, seq)
			}
			data, _ := json.Marshal(map[string]any{"fromAgent": from, "toAgent": to, "conversationId": fmt.Sprint("c", random.IntN(3)), "reason": "disk full"})
			batch = append(batch, eventstore.NewEvent{Type: typ, AgentID: from, Data: data})
		}
		for part := range slices.Chunk(batch, 200) {
			if _, err := log.Append(ctx, eventstore.StreamAppend{Stream: "s", Events: part}); err != nil {
				t.Fatal(err)
			}
		}
		check := func() {
			t.Helper()
			for agent, want := range concern {
				checkMarked(t, log, index.Filter{Agent: agent}, want)
			}
			checkMarked(t, log, index.Filter{Failed: true}, failures)
			counts := projectiontest.Read(t, log, func(ctx context.Context, tx *sql.Tx) (*index.Histogram, error) {
				return index.Count(ctx, tx, 1, end, 1, index.ByAgent)
			})
			for i, agent := range counts.Groups {
				if got := counts.Buckets[0].Counts[i]; got != int64(len(concern[agent])) {
					t.Errorf("at %d: histogram has %d events of %s, want %d", end, got, agent, len(concern[agent]))
				}
			}
			if len(counts.Groups) != len(concern) || counts.Buckets[0].Problems != int64(len(failures)) {
				t.Errorf("at %d: histogram names %v and %d failures, want %d agents and %d failures",
					end, counts.Groups, counts.Buckets[0].Problems, len(concern), len(failures))
			}
		}
		check()
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		log, engine = projectiontest.Open(t, opts, def)
		check()
	}
	want := projectiontest.Dump(t, log, def)
	if err := engine.Rebuild(ctx, projections.RebuildOptions{Names: []string{def.Name}}); err != nil {
		t.Fatal(err)
	}
	if got := projectiontest.Dump(t, log, def); !slices.Equal(got, want) {
		t.Errorf("a rebuild gives other tables")
	}
}

// checkMarked compares the count and all pages of a selection with the seqs that it must have.
func checkMarked(t *testing.T, log projectiontest.Viewer, filter index.Filter, want []int64) {
	t.Helper()
	filter.Internal = true
	got := projectiontest.Read(t, log, func(ctx context.Context, tx *sql.Tx) ([]int64, error) {
		s, err := index.Select(ctx, tx, filter)
		if err != nil {
			return nil, err
		}
		if s.Matched != int64(len(want)) {
			t.Errorf("%+v matches %d events, want %d", filter, s.Matched, len(want))
		}
		return s.Newest(ctx, tx, math.MaxInt64, len(want)+1)
	})
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%+v selects %v, want %v", filter, got, want)
	}
}
