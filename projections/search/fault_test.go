package search_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections/search"
)

// witness says each error of its file's writer.
type witness struct {
	*sqlite.Side
	errs chan error
}

func (w *witness) Update(ctx context.Context, write func(*sql.Tx) error) error {
	return w.tell(w.Side.Update(ctx, write))
}

func (w *witness) Reset(ctx context.Context, setup func(*sql.Tx) error) error {
	return w.tell(w.Side.Reset(ctx, setup))
}

func (w *witness) tell(err error) error {
	if err != nil {
		w.errs <- err
	}
	return err
}

// watched feeds a file whose errors are seen, and logs to the returned buffer, which may be read after stop.
func watched(t *testing.T) (b *bundle, w *witness, logged *bytes.Buffer, stop func()) {
	t.Helper()
	b, logged = &bundle{dir: t.TempDir()}, new(bytes.Buffer)
	b.openLog(t)
	b.openFile(t)
	w = &witness{Side: b.file, errs: make(chan error, 1_000)}
	var err error
	if b.index, err = search.Open(t.Context(), search.Options{Log: b.DB, File: w, Rules: rules, Logger: slog.New(slog.NewTextHandler(logged, nil))}); err != nil {
		t.Fatal(err)
	}
	return b, w, logged, b.feed(t)
}

func TestDeletedFileIsRebuiltWhileRunning(t *testing.T) {
	t.Parallel()
	b, _, _, _ := watched(t)
	b.append(t, said("첫째 배포"))
	b.await(t)
	if err := os.Remove(b.filePath()); err != nil {
		t.Fatal(err)
	}
	b.wantFound(t, "배포", 1)
	b.append(t, said("둘째 배포"))
	for len(b.find(t, "배포").Seqs) != 2 {
		b.await(t)
	}
	beside, err := sqlite.OpenSide(t.Context(), b.filePath(), true)
	if err != nil {
		t.Fatal(err)
	}
	defer beside.Close()
	var at int64
	if err := beside.View(t.Context(), func(tx *sql.Tx) (err error) {
		at, err = search.Position(t.Context(), tx)
		return err
	}); err != nil || at != 2 {
		t.Errorf("the file that others see stands at %d (%v), want 2", at, err)
	}
}

// A full disk stops neither the log nor the search in what is there, and is reported once.
func TestFullDiskHoldsTheFeedBack(t *testing.T) {
	t.Parallel()
	b, w, logged, stop := watched(t)
	b.append(t, said("배포"))
	b.await(t)
	limit := func(pages int) {
		t.Helper()
		if err := b.file.Update(t.Context(), func(tx *sql.Tx) error {
			_, err := tx.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	limit(1)
	b.append(t, said(strings.Repeat("리뷰 파이프라인 ", 3_000)))
	for range 2 {
		var full *eventstore.DiskFullError
		if err := <-w.errs; !errors.As(err, &full) {
			t.Fatalf("fed with %v, want a full disk", err)
		}
	}
	b.wantFound(t, "배포", 1)
	if at := b.index.Status(); at.Seq != 1 || at.Lag() != 1 || at.Err == nil {
		t.Errorf("status %+v, want it to tell", at)
	}
	limit(10_000)
	b.await(t)
	b.wantFound(t, "리뷰", 2)
	if at := b.index.Status(); at.Err != nil {
		t.Errorf("afterwards: %v", at.Err)
	}
	if stop(); strings.Count(logged.String(), "cannot update the search index") != 1 {
		t.Errorf("logged:\n%s", logged)
	}
}

// While the file cannot be recreated, the feeder tries again; it must not take the process with it.
func TestFailedRebuildIsRetried(t *testing.T) {
	t.Parallel()
	b, w, _, _ := watched(t)
	b.append(t, said("배포"))
	b.await(t)
	if err := os.Remove(b.filePath()); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(b.filePath(), 0o700); err != nil {
		t.Fatal(err)
	}
	b.append(t, said("배포"))
	<-w.errs
	<-w.errs
	b.append(t, said("배포"))
	before := time.Now()
	for range 2 {
		<-w.errs
	}
	if took := time.Since(before); took < time.Second {
		t.Errorf("tried again twice within %v: a log that goes on must not hurry it", took)
	}
	var corrupt *eventstore.CorruptError
	if err := b.index.View(t.Context(), func(*sql.Tx) error { return nil }); !errors.As(err, &corrupt) {
		t.Errorf("a search meanwhile: %v", err)
	}
	if err := os.Remove(b.filePath()); err != nil {
		t.Fatal(err)
	}
	for {
		var hits search.Hits
		err := b.index.View(t.Context(), func(tx *sql.Tx) (err error) {
			hits, err = search.Find(t.Context(), tx, search.Query{Words: words(t, "배포"), Limit: 10})
			return err
		})
		if err == nil && hits.Total == 3 {
			return
		}
		if err := b.index.Wait(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
	}
}
