package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
)

// openHarness makes a store for the conformance suite in a directory of its own.
func openHarness(t testing.TB, now func() time.Time) storetest.Harness {
	return harnessAt(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: now})
}

func harnessAt(t testing.TB, opts sqlite.Options) storetest.Harness {
	t.Helper()
	db, err := sqlite.Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	return storetest.Harness{
		Log: db, Restorer: db, Redact: db.Redact, Close: db.Close,
		Reopen: func(t testing.TB) storetest.Harness { return harnessAt(t, opts) },
	}
}

// Promise: acknowledged
// Promise: gapless
// Promise: append-once
func TestStore(t *testing.T) { storetest.Run(t, openHarness) }

// Promise: gapless
func TestStoreBehavesLikeItsModel(t *testing.T) { storetest.RunProperty(t, openHarness) }

// Newest gives of each stream what ReadStream gives last, of however many streams at once.
func TestNewest(t *testing.T) {
	t.Parallel()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Durability: sqlite.DurabilityRelaxed})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	const streams = 1203
	var appends []eventstore.StreamAppend
	var asked []string
	for i := range streams {
		name := fmt.Sprintf("file/%d", i)
		asked = append(asked, name, name+"/none")
		a := eventstore.StreamAppend{Stream: name}
		for n := range 1 + i%3 {
			a.Events = append(a.Events, eventstore.NewEvent{Type: "file.written", Data: fmt.Appendf(nil, `{"n":%d}`, n)})
		}
		appends = append(appends, a)
	}
	if _, err := db.Append(t.Context(), appends...); err != nil {
		t.Fatal(err)
	}
	newest, err := db.Newest(t.Context(), asked)
	if err != nil || len(newest) != streams {
		t.Fatalf("%d streams, want %d: %v", len(newest), streams, err)
	}
	for i := range streams {
		e := newest[fmt.Sprintf("file/%d", i)]
		if want := fmt.Sprintf(`{"n":%d}`, i%3); e.Version != int64(1+i%3) || string(e.Data) != want || e.Stream != fmt.Sprintf("file/%d", i) {
			t.Fatalf("stream %d: %+v, want version %d and %s", i, e, 1+i%3, want)
		}
	}
	if none, err := db.Newest(t.Context(), nil); len(none) != 0 || err != nil {
		t.Errorf("of no stream: %v, %v", none, err)
	}
}
