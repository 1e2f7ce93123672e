//go:build !race

// These compare whole tables or all answers again and again: the race detector finds nothing here that the other tests do not show, and takes minutes.

package asof_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/replay/asof"
)

func TestStateIsWhatALogThatWasStoppedThereHad(t *testing.T) {
	t.Parallel()
	log, dir := tell(t), t.TempDir()
	for seq := range int64(len(log.stops)) {
		if seq > 1 && seq%testscale.Of[int64](21, 7) != 0 && seq != int64(len(log.stops)-1) {
			continue
		}
		state := at(t, asof.Options{Log: log.DB, Dir: filepath.Join(dir, "states"), Rules: rules}, seq)
		wantTables(t, state, log.stops[seq])
		if state.Until() != seq || state.Fold.Seq() != seq {
			t.Errorf("the state ends at %d, its fold stands at %d, want %d", state.Until(), state.Fold.Seq(), seq)
		}
		if want := time.UnixMilli(began + (seq-1)*1000); seq > 0 && !state.At.Equal(want) || seq == 0 && !state.At.IsZero() {
			t.Errorf("event %d was recorded at %s, want %s", seq, state.At, want)
		}
		wantClosed(t, state)
	}
	if left, err := os.ReadDir(filepath.Join(dir, "states")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// Payloads that were moved out of the log's file are in a state as if they had not been, and back in a database
// written with Out.
func TestStateOfAnArchivedLog(t *testing.T) {
	t.Parallel()
	log := tell(t)
	const seq, first, last = 20, 1, 15
	all, err := log.Read(t.Context(), 0, seq)
	if err != nil {
		t.Fatal(err)
	}
	dir := archive.Open(database.ArchiveDir(log.Path()))
	sealed, err := dir.Seal(t.Context(), log, first, last, time.UnixMilli(began), nil)
	if err != nil {
		t.Fatal(err)
	}
	said, err := json.Marshal(coordination.LogArchived{First: first, Last: last, File: sealed.File, SHA256: sealed.SHA256})
	if err != nil {
		t.Fatal(err)
	}
	blanked, err := log.Archive(t.Context(), first, last, func(string, bool) bool { return false }, eventstore.StreamAppend{
		Stream: coordination.ArchiveStream, Events: []eventstore.NewEvent{{Type: coordination.TypeLogArchived, Data: said}}})
	if err != nil || blanked != last {
		t.Fatalf("%d payloads were blanked, %v", blanked, err)
	}
	archived, err := database.OpenToRead(t.Context(), log.Path(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer archived.Close()
	out := filepath.Join(t.TempDir(), "whole", "state.db")
	if err := os.Mkdir(filepath.Dir(out), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{"", out} {
		state := at(t, asof.Options{Log: archived, Dir: t.TempDir(), Rules: rules, Out: out}, seq)
		wantTables(t, state, log.stops[seq])
		events, err := state.Read(t.Context(), 0, 100)
		if diff := cmp.Diff(all, events); err != nil || diff != "" {
			t.Errorf("events, %v (-before +archived):\n%s", err, diff)
		}
		wantClosed(t, state)
	}
	whole, err := sqlite.Open(t.Context(), sqlite.Options{Path: out, ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	if proof, err := whole.Verify(t.Context(), false, nil); err != nil || proof.Redacted != 0 {
		t.Errorf("a file of its own verifies as %+v, %v, want nothing redacted", proof, err)
	}

	// Without the archive the payloads are unknown, although at this event they had not been archived yet.
	state := at(t, asof.Options{Log: archived, Dir: t.TempDir(), Rules: rules}, seq)
	if err := os.RemoveAll(dir.Path()); err != nil {
		t.Fatal(err)
	}
	var lost *eventstore.ArchivedError
	if _, err := state.Read(t.Context(), 0, 100); !errors.As(err, &lost) || lost.Last != last {
		t.Errorf("read without the archive: %v, want an error that names it", err)
	}
	for _, out := range []string{"", filepath.Join(t.TempDir(), "state.db")} {
		lost = nil
		if _, err := asof.Open(t.Context(), asof.Options{Log: archived, Dir: t.TempDir(), Rules: rules, Out: out}, seq, nil); !errors.As(err, &lost) {
			t.Errorf("built without the archive: %v, want an error that names it", err)
		}
	}
}
