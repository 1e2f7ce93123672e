package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/internal/wait"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

const toRedact = "하늘색코끼리-secret-42"

// toldTeam is a state directory in which agents have told a secret, and no one serves.
func toldTeam(t *testing.T) *team {
	t.Helper()
	m := startTeam(t, 4)
	for _, args := range [][]string{
		{"agent", "the word is " + toRedact, "--agent", "eden"},
		{"tools", "call", "task_start", `{"description": "keep ` + toRedact + `", "steps": [{"content": "hide ` + toRedact + `"}]}`},
		{"agent", "harmless", "--agent", "seum"},
	} {
		if said := m.does(t, args...); said.code != exitOK {
			t.Fatalf("%q: %+v", args, said)
		}
	}
	for late := time.Now().Add(testscale.Patience); len(m.holding(t)) < 3; { // its file, its line and its event
		if err := wait.For(t.Context(), 10*time.Millisecond); err != nil || time.Now().After(late) {
			t.Fatalf("the secret stands only in %q, %v", m.holding(t), err)
		}
	}
	if code := m.end(syscall.SIGTERM); code != exitOK {
		t.Fatalf("serve ended with %d", code)
	}
	return m
}

// holding names the files that hold the secret.
func (m *team) holding(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(m.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // it is gone by now
		}
		if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte(toRedact)) {
			names = append(names, strings.TrimPrefix(path, m.dir))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// copied is another team with the same files.
func (m *team) copied(t *testing.T) *team {
	t.Helper()
	c := &team{dir: filepath.Join(t.TempDir(), "team")}
	if err := os.CopyFS(c.dir, os.DirFS(m.dir)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.end(os.Kill) })
	return c
}

// sound proves that a log verifies, and that its tables are what a rebuild gives.
func (m *team) sound(t *testing.T) {
	t.Helper()
	log, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(m.dir, database.Name)})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if proof, err := log.Verify(t.Context(), false, nil); err != nil || proof.Redacted == 0 {
		t.Errorf("%+v, %v", proof, err)
	}
	defs := database.Projections(coordination.RulesV2)
	before := projectiontest.Dump(t, log, defs...)
	engine, err := projections.Start(t.Context(), log, defs, projections.Options{Rules: coordination.RulesV2})
	if err == nil {
		err = engine.Rebuild(t.Context(), projections.RebuildOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, projectiontest.Dump(t, log, defs...)); diff != "" {
		t.Errorf("tables are not what a rebuild gives: %s", diff)
	}
}

// Without a server the command does everything itself, and says what it did.
func TestRedactWithoutAServer(t *testing.T) {
	t.Parallel()
	m := toldTeam(t)
	if said := m.does(t, "redact", "--text", toRedact, "--dry-run"); said.code != exitOK || !strings.Contains(said.stdout, "session.message") || len(m.holding(t)) == 0 {
		t.Errorf("dry run: %+v", said)
	}
	if said := m.does(t, "redact", "--text", toRedact); said.code != exitConfig || !strings.Contains(said.stderr, "--yes") {
		t.Errorf("no one can be asked: %+v", said)
	}
	if said := m.does(t, "redact", "--text", toRedact, "--yes", "--reason", "about "+toRedact); said.code != exitFailed {
		t.Errorf("a reason that holds the text: %+v", said)
	}
	said := m.does(t, "redact", "--text", toRedact, "--yes", "--reason", "told by mistake", "--json")
	var answer struct {
		Redaction struct {
			State string
			Lines int64
			Kept  []coordination.RedactionTrace
		}
	}
	if err := json.Unmarshal([]byte(said.stdout), &answer); said.code != exitOK || err != nil || answer.Redaction.State != "forgotten" || answer.Redaction.Lines == 0 ||
		len(answer.Redaction.Kept) > 0 {
		t.Fatalf("%+v, %v", said, err)
	}
	if left := m.holding(t); len(left) > 0 {
		t.Errorf("left in %q", left)
	}
	m.sound(t)
	if said := m.does(t, "redact", "--resume"); said.code != exitOK || said.stdout != "nothing to resume\n" {
		t.Errorf("resume: %+v", said)
	}
	if said := m.does(t, "redact", "--text", toRedact, "--yes"); said.code != exitFailed || !strings.Contains(said.stderr, "No event contains that text") {
		t.Errorf("once more: %+v", said)
	}
	m.start(t)
	if said := m.does(t, "agent", "still there?", "--agent", "eden"); said.code != exitOK {
		t.Errorf("afterwards: %+v", said)
	}
	if left := m.holding(t); len(left) > 0 {
		t.Errorf("told again in %q", left)
	}
}

// Killed wherever it is, a redaction is finished by redact --resume or by the next server, and ends as if no one had killed it.
//
// Promise: redaction
func TestCrashRedaction(t *testing.T) {
	t.Parallel()
	rounds, seed := 3, rand.Uint64()
	if text, ok := os.LookupEnv(storetest.EnvCrashRounds); ok {
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		rounds = n
	}
	if text, ok := os.LookupEnv(storetest.EnvCrashSeedBase); ok {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		seed = n
	}
	t.Logf("%s=%d", storetest.EnvCrashSeedBase, seed)
	random := rand.New(rand.NewPCG(seed, 0))
	original := toldTeam(t)
	whole := original.copied(t)
	started := time.Now()
	if said := whole.does(t, "redact", "--text", toRedact, "--yes"); said.code != exitOK {
		t.Fatalf("%+v", said)
	}
	longest := time.Since(started)
	for round := range rounds {
		m := original.copied(t)
		delay := time.Duration(random.Int64N(int64(longest)))
		cmd, wait := m.command(t, "redact", "--text", toRedact, "--yes")
		ctx, stop := context.WithTimeout(t.Context(), delay)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
		_ = cmd.Process.Kill() // it may be done
		wait()
		byServer := round%2 == 1
		if !m.startedRedaction(t) { // it was killed before anything was blank: nothing has happened
			if said := m.does(t, "redact", "--text", toRedact, "--yes"); said.code != exitOK {
				t.Errorf("round %d, killed after %s: %+v", round, delay, said)
			}
		} else if byServer {
			m.start(t)
			m.awaitsRedactions(t)
			if code := m.end(syscall.SIGTERM); code != exitOK {
				t.Errorf("round %d: serve ended with %d: %s", round, code, m.output)
			}
		} else if said := m.does(t, "redact", "--resume"); said.code != exitOK {
			t.Errorf("round %d, killed after %s: %+v", round, delay, said)
		}
		if left := m.holding(t); len(left) > 0 {
			t.Errorf("round %d, killed after %s, by a server %t: left in %q", round, delay, byServer, left)
		}
		m.sound(t)
	}
}

// startedRedaction reports whether the log says that payloads were blanked.
func (m *team) startedRedaction(t *testing.T) bool {
	t.Helper()
	log, err := database.OpenToRead(t.Context(), filepath.Join(m.dir, database.Name), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	for after := int64(0); ; {
		events, err := log.Read(t.Context(), after, 1000)
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			if after = events[i].Seq; events[i].Type == coordination.TypeLogRedacted {
				return true
			}
		}
		if len(events) < 1000 {
			return false
		}
	}
}

// awaitsRedactions waits until the server has finished what was interrupted.
func (m *team) awaitsRedactions(t *testing.T) {
	t.Helper()
	m.until(t, "the redaction is over", func() bool {
		var answer struct{ Redactions []struct{ State string } }
		m.get(t, "/api/redactions", &answer)
		return len(answer.Redactions) == 1 && answer.Redactions[0].State == "forgotten"
	})
}
