package sqlite_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// says is an event that holds a text.
func says(text string) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: "said", Events: []eventstore.NewEvent{{Type: "a2a.send", AgentID: "eden", Data: []byte(`{"message":"` + text + `"}`)}}}
}

// tells is the event that records a redaction.
func tells(name string) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: "redaction/" + name, Expect: eventstore.Exactly(0), Events: []eventstore.NewEvent{{Type: "log.redacted", Data: []byte(`{}`)}}}
}

func TestRedactByBlanksAndTellsAtOnce(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, says("secret"))
	mustAppend(t, db, says("kept"))
	_, err := db.RedactBy(t.Context(), func(tx eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
		return []int64{1}, []eventstore.StreamAppend{tells("a")}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for seq, redacted := range map[int64]bool{1: true, 2: false, 3: false} {
		if e, err := db.Event(t.Context(), seq); err != nil || e.Redacted() != redacted {
			t.Errorf("event %d: redacted %t, %v; want %t", seq, e.Redacted(), err, redacted)
		}
	}
	verify(t, db, 3)
}

// What is refused blanks nothing, whatever else is stored with it.
func TestRedactByLeavesNothingWhereItIsRefused(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, says("kept"))
	mustAppend(t, db, tells("a"))
	refused := errors.New("no")
	for name, decide := range map[string]func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error){
		"by the stream": func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
			return []int64{1}, []eventstore.StreamAppend{tells("a")}, nil
		},
		"by itself": func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) { return []int64{1}, nil, refused },
		"for a bad name": func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
			return []int64{1}, []eventstore.StreamAppend{{Stream: "x", Events: []eventstore.NewEvent{{}}}}, nil
		},
	} {
		var others sync.WaitGroup
		for range 8 {
			others.Go(func() { _, _ = db.Append(context.Background(), says("kept")) })
		}
		if _, err := db.RedactBy(t.Context(), decide); err == nil {
			t.Errorf("%s: it was not refused", name)
		}
		others.Wait()
	}
	if _, err := db.RedactBy(t.Context(), func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) { return []int64{1}, nil, nil }); err != nil {
		t.Errorf("nothing to tell: %v", err)
	}
	if e, err := db.Event(t.Context(), 1); err != nil || e.Redacted() {
		t.Errorf("event 1: %v, redacted %t; want it as it was", err, e.Redacted())
	}
	proof, err := db.Verify(t.Context(), false, nil)
	if err != nil || proof.Redacted != 0 {
		t.Errorf("%+v, %v", proof, err)
	}
}

// After Compact nothing is left of what was blanked, in no encoding, in no file; appends and reads go on meanwhile.
func TestCompactLeavesNothingOfWhatWasBlanked(t *testing.T) {
	t.Parallel()
	const secret = "하늘색코끼리"
	db := openNew(t)
	for i := range 50 {
		text := strings.Repeat("kept ", 100)
		if i%5 == 0 {
			text = strings.Repeat(secret+" ", 100+i)
		}
		mustAppend(t, db, says(text))
	}
	for seq := int64(1); seq <= 50; seq += 5 {
		if err := db.Redact(t.Context(), seq); err != nil {
			t.Fatal(err)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	var others sync.WaitGroup
	for range 2 {
		others.Go(func() {
			for ctx.Err() == nil {
				if _, err := db.Append(context.WithoutCancel(ctx), says("more")); err != nil {
					t.Errorf("append: %v", err)
				}
				if _, err := db.Read(context.WithoutCancel(ctx), 0, 10); err != nil {
					t.Errorf("read: %v", err)
				}
			}
		})
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	stop()
	others.Wait()
	proof, err := db.Verify(t.Context(), false, nil)
	if err != nil || proof.Redacted != 10 {
		t.Errorf("%+v, %v", proof, err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	for _, end := range []string{"", "-wal", "-shm"} {
		text, err := os.ReadFile(db.Path() + end)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(secret)) || bytes.Contains(text, []byte("코끼리")) {
			t.Errorf("the text is still in openclawd.db%s", end)
		}
	}
}

// The WAL is empty once Compact has returned, although the file stays open.
func TestCompactEmptiesTheWAL(t *testing.T) {
	t.Parallel()
	db := openNew(t)
	mustAppend(t, db, says("secret"))
	if err := db.Redact(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := db.Compact(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := db.Gauges().WALBytes; n != 0 {
		t.Errorf("the WAL has %d bytes, want none", n)
	}
	reader, err := sqlite.Open(t.Context(), sqlite.Options{Path: db.Path(), ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if err := reader.Compact(t.Context()); err == nil {
		t.Error("a log that is open for reading was rewritten")
	}
	if _, err := reader.RedactBy(t.Context(), nil); err == nil {
		t.Error("a log that is open for reading was redacted")
	}
}
