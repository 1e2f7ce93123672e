package ndjson_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// A follower that is killed at any moment, with its producer and its store, goes on exactly: the log has what the files have, each line
// once, in order.
//
// Promise: follow-once
func TestCrashWhileFollowing(t *testing.T) {
	t.Parallel()
	storetest.Crash(t, crashing, testscale.Of(2, 20))
}

// crashing writes and rotates a log, partly with equal lines, while a follower reads it.
var crashing = storetest.Scenario{
	Name: "follow",
	Work: func(c *storetest.Child) error {
		ctx, stop := context.WithCancel(context.Background())
		defer stop()
		db, err := sqlite.Open(ctx, sqlite.Options{Path: filepath.Join(c.Dir, "openclawd.db")})
		if err != nil {
			return err
		}
		defer db.Close()
		wake := make(chan struct{})
		failed := make(chan error, 1)
		go func() { failed <- writeLogs(c, wake) }()
		o := crashOptions(c.Dir, db)
		o.Save = time.Millisecond
		go func() { failed <- ndjson.NewFollower(o).Run(ctx, wake) }()
		return <-failed
	},
	Check: func(t testing.TB, dir string, acked []string) {
		db, err := sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(dir, "openclawd.db")})
		if err != nil {
			t.Fatalf("open what the kill has left: %v", err)
		}
		defer db.Close()
		follower := ndjson.NewFollower(crashOptions(dir, db))
		defer follower.Close()
		if _, err := follower.Poll(context.Background()); err != nil {
			t.Fatal(err)
		}
		want, written := linesIn(t, dir)
		if diff := cmp.Diff(want, stored(t, db)); diff != "" {
			t.Fatalf("stored (-files +log):\n%s", diff)
		}
		for _, n := range acked {
			if !written[n] {
				t.Fatalf("acknowledged line %s is not in the files", n)
			}
		}
	},
}

func crashOptions(dir string, db *sqlite.DB) ndjson.FollowOptions {
	o := options(nil)
	o.Log, o.Restorer = db, db
	return ndjson.FollowOptions{StateDir: dir, Positions: filepath.Join(dir, "openclawd.db.import.json"), Import: o, Now: time.Now}
}

// crashLines is how much is written in one round.
const crashLines = 400

// writeLogs appends lines, some of them in two steps, and rotates now and then. It never gets far ahead of the follower.
func writeLogs(c *storetest.Child, wake chan<- struct{}) error {
	live := filepath.Join(ndjson.LogDir(c.Dir), ndjson.LiveLog)
	if err := os.MkdirAll(filepath.Dir(live), 0o700); err != nil {
		return err
	}
	number := c.Rand.Uint64() >> 1
	for cuts, end := 0, number+crashLines; number < end; {
		f, err := os.OpenFile(live, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		if _, err := f.WriteString("\n"); err != nil { // the last writer may have been killed within a line
			return err
		}
		for range 1 + c.Rand.IntN(20) {
			number++
			if err := writeLine(f, c.Rand, strconv.FormatUint(number, 10)); err != nil {
				return err
			}
			c.Ack(strconv.FormatUint(number, 10))
			if c.Rand.IntN(4) == 0 {
				wake <- struct{}{}
			}
		}
		if err := f.Close(); err != nil {
			return err
		}
		if c.Rand.IntN(4) == 0 {
			archive := ""
			for taken := error(nil); taken == nil; _, taken = os.Lstat(archive) {
				cuts++
				name := fmt.Sprintf("coordination-events-2026-02-10T08-%02d-%02d-%03dZ.ndjson", cuts/60_000, cuts/1000%60, cuts%1000)
				archive = filepath.Join(filepath.Dir(live), name)
			}
			if err := os.Rename(live, archive); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeLine writes a line that carries its number, and often one that equals others before it.
func writeLine(f *os.File, random *rand.Rand, number string) error {
	line := event(number) + "\n"
	if random.IntN(3) == 0 {
		line = event("equal") + "\n" + line
	}
	cut := random.IntN(len(line))
	if random.IntN(3) > 0 {
		cut = 0
	}
	for _, part := range []string{line[:cut], line[cut:]} {
		if _, err := f.WriteString(part); err != nil {
			return err
		}
	}
	return nil
}

// linesIn lists what the logs of a state directory hold, as stored does; and the texts of the events among that.
func linesIn(t testing.TB, dir string) (texts []string, events map[string]bool) {
	t.Helper()
	paths, err := ndjson.Logs(dir)
	if err != nil {
		t.Fatal(err)
	}
	events = map[string]bool{}
	for i, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		all := bytes.Split(content, []byte("\n"))
		for j, line := range all {
			unfinished := j == len(all)-1
			parsed, rejection := ndjson.ParseLine(line)
			switch {
			case parsed.Blank, unfinished && i == len(paths)-1:
			case rejection == nil:
				text := textOf(t, parsed.Event.Data)
				texts, events[text] = append(texts, text), true
			case unfinished:
				texts = append(texts, fmt.Sprintf("[%s %s]", ndjson.Unfinished, rejection.Text))
			default:
				texts = append(texts, fmt.Sprintf("[%s %s]", rejection.Reason, rejection.Text))
			}
		}
	}
	return texts, events
}
