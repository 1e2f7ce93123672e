package search_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/search"
)

func (b *bundle) wantFound(t *testing.T, query string, want ...int64) {
	t.Helper()
	if got := b.find(t, query).Seqs; describe(got) != describe(append([]int64{}, want...)) {
		t.Errorf("%q finds %v, want %v", query, got, want)
	}
}

func TestFeedingFollowsTheLog(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for i := range 5 {
		b.append(t, said("배포"))
		b.await(t)
		if got := b.find(t, "배포"); got.Total != int64(i+1) {
			t.Errorf("after %d events %d are found", i+1, got.Total)
		}
	}
}

// killer ends the feeder in the middle of a transaction, as the end of the process would.
type killer struct {
	*sqlite.Side
	updates, fatal int
	kill           context.CancelFunc
}

var errKilled = errors.New("killed")

func (k *killer) Update(ctx context.Context, write func(*sql.Tx) error) error {
	return k.Side.Update(ctx, func(tx *sql.Tx) error {
		if err := write(tx); err != nil {
			return err
		}
		if k.updates++; k.updates == k.fatal {
			k.kill()
			return errKilled
		}
		return nil
	})
}

func TestKilledFeedingGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.openFile(t)
	known := 0
	for fatal := 1; fatal <= 3; fatal++ {
		ctx, kill := context.WithCancel(t.Context())
		file := &killer{Side: b.file, fatal: fatal, kill: kill}
		index, err := search.Open(ctx, search.Options{Log: b.DB, File: file, Rules: rules})
		if err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- index.Run(ctx) }()
		for range fatal {
			b.append(t, said("배포"))
			if known++; known > 0 && file.fatal > 1 {
				_ = index.Wait(ctx, int64(known))
			}
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
	}
	b.feed(t)
	b.await(t)
	if got := b.find(t, "배포"); got.Total != int64(known) {
		t.Errorf("%d events are found of %d", got.Total, known)
	}
}

// Roles and categories come from the index projection: made by other rules, they are other ones.
func TestIndexOfAnotherVersionIsRebuilt(t *testing.T) {
	t.Parallel()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.openFile(t)
	stop := b.feed(t)
	started := said("배포 시작")
	started.Type = "a2a.auto_route"
	b.append(t, started, said("리뷰"))
	b.await(t)
	if err := b.index.Forget(t.Context(), []int64{1}); err != nil {
		t.Fatal(err)
	}
	b.restart(t, stop, func() {
		if err := b.DB.Close(); err != nil {
			t.Fatal(err)
		}
		b.rules = coordination.RulesV1
		b.openLog(t)
	})
	b.feed(t)
	b.wantFound(t, "배포") // the tables, and what is found, are still of the old rules
	if err := b.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil {
		t.Fatal(err)
	}
	b.append(t, said("배포 끝"))
	b.await(t)
	b.wantFound(t, "배포", 3, 1)
}

// What the index projection has not come to is not fed, and the status says so.
func TestParkedIndexProjectionHoldsTheFeedBack(t *testing.T) {
	t.Parallel()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.append(t, said("첫째 배포"))
	if err := b.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec("UPDATE projections SET state = 'parked', parked_seq = 2, parked_error = 'x', parked_at = 1 WHERE name = 'index'")
		return err
	}, nil); err != nil {
		t.Fatal(err)
	}
	if err := b.DB.Close(); err != nil {
		t.Fatal(err)
	}
	b.openLog(t)
	b.openFile(t)
	b.append(t, said("둘째 배포"))
	b.feed(t)
	if err := b.index.Wait(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.wantFound(t, "배포", 1)
	if at := b.index.Status(); at.Seq != 1 || at.Head != 2 || at.Lag() != 1 || at.Err != nil {
		t.Errorf("status %+v, want one event behind", at)
	}
	if err := b.engine.Rebuild(t.Context(), projections.RebuildOptions{Names: []string{index.Definition(coordination.RulesV2).Name}}); err != nil {
		t.Fatal(err)
	}
	b.await(t)
	b.wantFound(t, "배포", 2, 1)
}

func TestRedactedEventsAreNotFed(t *testing.T) {
	t.Parallel()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.append(t, said("비밀 배포"), said("배포"))
	if err := b.Redact(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	b.openFile(t)
	b.feed(t)
	b.await(t)
	b.wantFound(t, "배포", 2)
	if err := b.index.Forget(t.Context(), []int64{2}); err != nil {
		t.Fatal(err)
	}
	b.wantFound(t, "배포")
}

func TestSearchFileIsReadBesideItsFeeder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.append(t, said("배포"))
	b.await(t)
	beside, err := sqlite.OpenSide(t.Context(), b.filePath(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	if err := beside.View(t.Context(), func(tx *sql.Tx) error {
		seq, err := search.Position(t.Context(), tx)
		if err == nil && seq != 1 {
			err = fmt.Errorf("position %d, want 1", seq)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
	if err := beside.Update(t.Context(), func(*sql.Tx) error { return nil }); err == nil {
		t.Error("a file that is open for reading was written")
	}
}

// Readers are told that results are incomplete from the first moment, not only once feeding has started.
func TestIndexLagsFromTheMomentItIsOpened(t *testing.T) {
	t.Parallel()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.append(t, said("first"), said("second"))
	b.openFile(t)
	if s := b.index.Status(); s.Head != 2 || s.Lag() != 2 {
		t.Errorf("status %+v, want a head of 2 and a lag of 2", s)
	}
}
