package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// writeTranscripts fills a state directory of OpenClaw with sessions of 1,000 messages, lines in all.
func writeTranscripts(t *testing.T, dir string, lines int) {
	t.Helper()
	at := filepath.Join(dir, "agents", "main", "sessions")
	store := "{"
	err := os.MkdirAll(at, 0o700)
	for n := 0; n < lines && err == nil; n += 1_000 {
		id := fmt.Sprintf("t%d", n)
		if n > 0 {
			store += ","
		}
		store += fmt.Sprintf(`"agent:main:s%d":{"sessionId":%q,"updatedAt":1795888200000,"label":"label %d"}`, n, id, n)
		err = writeTranscript(filepath.Join(at, id+".jsonl"), min(1_000, lines-n))
	}
	if err := errors.Join(err, os.WriteFile(filepath.Join(at, "sessions.json"), []byte(store+"}"), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func writeTranscript(path string, lines int) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	out := bufio.NewWriter(f)
	for i := range lines {
		fmt.Fprintf(out, `{"type":"message","id":"m%d","message":{"role":"user","content":"this is message %d of a long conversation","timestamp":%d}}`+"\n",
			i, i, 1795860000000+i)
	}
	return errors.Join(out.Flush(), f.Close())
}

// kept counts the messages of a log, all and different ones, and the sessions with a label.
func (m *team) kept(t *testing.T) (all, different, labels int) {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(m.dir, database.Name), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	err = log.View(t.Context(), func(tx *sql.Tx) error {
		return errors.Join(
			tx.QueryRowContext(t.Context(), "SELECT count(*), count(DISTINCT stream_id || data) FROM events WHERE type = 'session.message'").Scan(&all, &different),
			tx.QueryRowContext(t.Context(), "SELECT count(*) FROM sessions WHERE label <> ''").Scan(&labels))
	})
	if err != nil {
		t.Fatal(err)
	}
	return all, different, labels
}

// Killed wherever it is, a migration that is repeated is complete, and has nothing twice.
func TestCrashMigration(t *testing.T) {
	t.Parallel()
	lines, seed := testscale.Of(5_000, 20_000*testscale.Times), rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	from := t.TempDir()
	writeTranscripts(t, from, lines)
	whole := &team{dir: t.TempDir()}
	started := time.Now()
	if said := whole.does(t, "migrate", "openclaw", "--from", from); said.code != exitOK {
		t.Fatalf("%+v", said)
	}
	longest := time.Since(started)
	for round := range testscale.Of(3, 8*testscale.Times) {
		m := &team{dir: t.TempDir()}
		for kills := 1 + round%2; kills > 0; kills-- {
			cmd, wait := m.command(t, "migrate", "openclaw", "--from", from)
			ctx, stop := context.WithTimeout(t.Context(), time.Duration(random.Int64N(int64(longest))))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			<-ctx.Done()
			stop()
			_ = cmd.Process.Kill() // it may be done
			wait()
		}
		if said := m.does(t, "migrate", "openclaw", "--from", from); said.code != exitOK {
			t.Fatalf("round %d: %+v", round, said)
		}
		if all, different, labels := m.kept(t); all != lines || different != lines || labels != (lines+999)/1_000 {
			t.Errorf("round %d: %d messages, %d different, %d labels; want %d and %d", round, all, different, labels, lines, (lines+999)/1_000)
		}
		if said := m.does(t, "verify"); said.code != exitOK {
			t.Errorf("round %d: %+v", round, said)
		}
		if copies, err := filepath.Glob(filepath.Join(m.dir, "openclawd-migrate-*")); err != nil || len(copies) > 0 {
			t.Errorf("round %d: left %q, %v", round, copies, err)
		}
	}
}
