package ndjson_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// Whenever a process that mirrors is killed, each event stands in the files once and in order, and what was synced stays.
//
// Promise: mirror-once
func TestCrashWhileMirroring(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, mirroring, testscale.Of(2, 20))
}

// mirroring appends events of all sizes, over many months, while a mirror runs.
var mirroring = storetest.Scenario{
	Name: "mirror",
	Work: func(c *storetest.Child) error {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		var clock atomic.Int64 // ms
		db, err := openCrashLog(ctx, c.Dir, func() time.Time { return time.UnixMilli(clock.Load()) })
		if err != nil {
			return err
		}
		head, err := db.Head(ctx)
		if err != nil {
			return err
		}
		ended, wrote := make(chan error, 1), make(chan struct{}, 1)
		go func() {
			ended <- ndjson.NewMirror(crashMirror(db, c.Dir, func(_ string, lines int) {
				c.Ack(strconv.Itoa(lines))
				select {
				case wrote <- struct{}{}:
				default:
				}
			})).Run(ctx)
		}()
		const month = 30 * 24 * 3_600_000
		clock.Store(clockMs + head.Seq*month/100)
		for range 150 {
			clock.Add(c.Rand.Int64N(month / 25))
			data := fmt.Appendf(nil, `{"message":%q}`, strings.Repeat("가", c.Rand.IntN(1+c.Rand.IntN(20_000))))
			typ := []string{"a2a.send", "a2a.send", "run.started"}[c.Rand.IntN(3)]
			events := make([]eventstore.NewEvent, 1+c.Rand.IntN(4))
			for i := range events {
				events[i] = eventstore.NewEvent{Type: typ, AgentID: "eden", Data: json.RawMessage(data)}
			}
			if _, err := db.Append(ctx, eventstore.StreamAppend{Stream: "s", Events: events}); err != nil {
				return err
			}
			if !bookkeeping(typ) && c.Rand.IntN(4) > 0 {
				<-wrote // so that lines are written one by one and many at a time
			}
		}
		stop()
		return errors.Join(<-ended, db.Close())
	},
	Check: func(t testing.TB, dir string, acked []string) {
		db, err := openCrashLog(context.Background(), dir, time.Now)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		want := wantMirrored(t, db)
		lines := wholeLines(t, dir)
		if len(lines) > len(want) {
			t.Fatalf("%d lines for %d events", len(lines), len(want))
		}
		synced := 0
		for _, ack := range acked {
			n, err := strconv.Atoi(ack)
			if err != nil {
				t.Fatal(err)
			}
			synced += n
		}
		if len(lines) < synced {
			t.Errorf("%d lines were synced, %d are there", synced, len(lines))
		}
		wantLines(t, "what the kill has left", lines, want[:len(lines)])

		// The next start goes on from there; here on a copy, so that the child's own start is what the next round shows.
		next := t.TempDir()
		if err := os.CopyFS(filepath.Join(next, "logs"), os.DirFS(filepath.Join(dir, "logs"))); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		if mark, err := os.ReadFile(filepath.Join(dir, "mark")); err == nil {
			if err := os.WriteFile(filepath.Join(next, "mark"), mark, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		mirror := ndjson.NewMirror(crashMirror(db, next, nil))
		ended := make(chan error, 1)
		go func() { ended <- mirror.Run(ctx) }()
		head, err := db.Head(ctx)
		if err != nil {
			t.Fatal(err)
		}
		status, err := mirror.Wait(ctx, func(s ndjson.MirrorStatus) bool { return s.Seq >= head.Seq || s.Error != "" })
		if err != nil || status.Error != "" {
			t.Fatal(err, status.Error)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		wantLines(t, "after the next start", wholeLines(t, next), want)
	},
}

func openCrashLog(ctx context.Context, dir string, now func() time.Time) (*sqlite.DB, error) {
	return sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(dir, "log.db"), Durability: sqlite.DurabilityRelaxed, Now: now}) // no plug is pulled
}

func crashMirror(db *sqlite.DB, dir string, wrote func(string, int)) ndjson.MirrorOptions {
	return ndjson.MirrorOptions{Log: db, StateDir: dir, Internal: bookkeeping, Mark: filepath.Join(dir, "mark"), MaxBytes: 200_000, Wrote: wrote}
}

// wantMirrored lists the ids of the events that have a line.
func wantMirrored(t testing.TB, db *sqlite.DB) (ids []string) {
	t.Helper()
	for after := int64(0); ; {
		events, err := db.Read(context.Background(), after, sqlite.MaxPage)
		if err != nil {
			t.Fatal(err)
		}
		if len(events) == 0 {
			return ids
		}
		for _, e := range events {
			if after = e.Seq; !bookkeeping(e.Type) {
				ids = append(ids, e.ID.String())
			}
		}
	}
}

// wholeLines lists the ids of the lines in all logs, but for a last one that is cut off.
func wholeLines(t testing.TB, dir string) (ids []string) {
	t.Helper()
	paths, err := ndjson.Logs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		end := bytes.LastIndexByte(text, '\n') + 1
		if end < len(text) && i+1 < len(paths) {
			t.Errorf("the archive %s ends within a line", path)
		}
		for line := range bytes.Lines(text[:end]) {
			var e struct{ ID string }
			if err := json.Unmarshal(line, &e); err != nil {
				t.Fatalf("%s: %v in %.200q", path, err, line)
			}
			ids = append(ids, e.ID)
		}
	}
	return ids
}
