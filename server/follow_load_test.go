package server

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// A log that is appended to, rotated and truncated under load arrives completely: each line once, in order, also across restarts.
func TestServeFollowsUnderLoad(t *testing.T) {
	t.Parallel()
	underLoad(t, 3*time.Second, 3, rand.Uint64())
}

// underLoad writes for so long, with so many restarts of the follower, and compares.
func underLoad(t *testing.T, duration time.Duration, restarts int, seed uint64) {
	t.Logf("seed %d", seed)
	f := startFollowing(t)
	w := &loadWriter{random: rand.New(rand.NewPCG(seed, 0)), dir: ndjson.LogDir(f.opts.StateDir), live: f.path(ndjson.LiveLog)}
	writing, stop := context.WithTimeout(t.Context(), duration)
	defer stop()
	written := make(chan error, 1)
	go func() { written <- w.run(writing) }()
	for range restarts {
		select {
		case <-time.After(duration / time.Duration(restarts+1)):
		case <-writing.Done():
		}
		f.restart()
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	ctx, giveUp := context.WithTimeout(t.Context(), testscale.Patience)
	defer giveUp()
	head, err := f.log.Wait(ctx, w.lines)
	if err != nil {
		t.Errorf("%d of %d lines arrived: %v", head, w.lines, err)
	}
	t.Logf("%d lines, %d renamed, %d copied and truncated, %d restarts", w.lines, w.renamed, w.copied, restarts)
	checkLoad(t, f, w.lines)
}

// checkLoad compares what is stored with what was written.
func checkLoad(t *testing.T, f *followed, lines int64) {
	t.Helper()
	const page = 1000
	var at int64
	for {
		events, err := f.log.Read(t.Context(), at, page)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range events {
			if want := loadText(at); !strings.Contains(string(e.Data), `"`+want+`"`) {
				t.Fatalf("event %d: %s %s, want %s", e.Seq, e.Type, e.Data, want)
			}
			at++
		}
		if len(events) < page {
			break
		}
	}
	if at != lines {
		t.Errorf("%d events are stored of %d lines", at, lines)
	}
}

// loadText is the text of a line by its number: some are equal.
func loadText(n int64) string {
	if n%7 == 3 {
		return "equal"
	}
	return fmt.Sprintf("line %d", n)
}

// loadWriter writes as a gateway would, and rotates as gateways and tools do.
type loadWriter struct {
	random          *rand.Rand
	dir, live       string
	lines           int64
	cuts            int
	renamed, copied int
}

func (w *loadWriter) run(ctx context.Context) error {
	pace := time.NewTicker(5 * time.Millisecond)
	defer pace.Stop()
	for {
		select {
		case <-ctx.Done():
			return w.append(1)
		case <-pace.C:
		}
		lines := w.random.IntN(10)
		if w.random.IntN(500) == 0 {
			lines = 2000
		}
		err := w.append(lines)
		switch w.random.IntN(60) {
		case 0:
			err = errors.Join(err, w.rename())
		case 1:
			err = errors.Join(err, w.copyAndTruncate())
		}
		if err != nil {
			return err
		}
	}
}

// append writes lines, often cut somewhere. The first one of a log is one of its kind, as times make them in life.
func (w *loadWriter) append(lines int) error {
	if err := os.MkdirAll(w.dir, 0o700); err != nil {
		return err
	}
	file, err := os.OpenFile(w.live, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	var text strings.Builder
	for range lines {
		text.WriteString(message(loadText(w.lines)))
		w.lines++
	}
	cut := w.random.IntN(text.Len() + 1)
	for _, part := range []string{text.String()[:cut], text.String()[cut:]} {
		if _, err := file.WriteString(part); err != nil {
			return err
		}
	}
	return nil
}

func (w *loadWriter) archive() string {
	w.cuts++
	return filepath.Join(w.dir, fmt.Sprintf("coordination-events-2026-02-10T08-%02d-%02d-%03dZ.ndjson", w.cuts/60_000, w.cuts/1000%60, w.cuts%1000))
}

func (w *loadWriter) rename() error {
	if w.next() == "equal" {
		return nil
	}
	w.renamed++
	return os.Rename(w.live, w.archive())
}

func (w *loadWriter) next() string { return loadText(w.lines) }

// copyAndTruncate leaves alone a log that is so short that its copy could be taken for another log.
func (w *loadWriter) copyAndTruncate() error {
	info, err := os.Stat(w.live)
	if err != nil || info.Size() < 8<<10 || w.next() == "equal" {
		return err
	}
	text, err := os.ReadFile(w.live)
	if err != nil {
		return err
	}
	w.copied++
	return errors.Join(os.WriteFile(w.archive(), text, 0o600), os.Truncate(w.live, 0))
}
