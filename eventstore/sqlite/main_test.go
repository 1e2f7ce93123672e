package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/storetest"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/continuations"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/flows"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/permissions"
	"github.com/pronto-lab/openclawd/projections/plans"
	"github.com/pronto-lab/openclawd/projections/responses"
	"github.com/pronto-lab/openclawd/projections/routing"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/tasks"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// These make this binary a second process: one that has the named file open until its standard input ends, one that appends to it
// and says so after each append, or one that reads it without our schema.
const (
	envRead        = "OPENCLAWD_TEST_READ"
	envStatement   = "OPENCLAWD_TEST_STATEMENT" // what it reads
	envHold        = "OPENCLAWD_TEST_HOLD"
	envAcknowledge = "OPENCLAWD_TEST_ACKNOWLEDGE"
	envAppends     = "OPENCLAWD_TEST_APPENDS" // how many

	acknowledgement = "acknowledged"
)

func TestMain(m *testing.M) {
	testscale.Checks(10, 0)
	if path, ok := os.LookupEnv(envHold); ok {
		hold(path)
	}
	if path, ok := os.LookupEnv(envAcknowledge); ok {
		acknowledge(path)
	}
	if path, ok := os.LookupEnv(envRead); ok {
		readPlainly(path)
	}
	storetest.CrashMain(m, appending, appendingShared, migrating)
}

func acknowledge(path string) {
	err := func() error {
		appends, err := strconv.Atoi(os.Getenv(envAppends))
		if err != nil {
			return err
		}
		db, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
		if err != nil {
			return err
		}
		if _, err := projections.Start(context.Background(), db, definitions(), projections.Options{Rules: coordination.RulesV2}); err != nil {
			return err
		}
		for i := range appends {
			if _, err := db.Append(context.Background(), send(i)); err != nil {
				return err
			}
			fmt.Println(acknowledgement, i)
		}
		return db.Close()
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func hold(path string) {
	if _, err := sqlite.Open(context.Background(), sqlite.Options{Path: path, Owner: "the other one"}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("open")
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0) // without closing the file
}

// readPlainly prints the rows of a statement, their columns with | between.
func readPlainly(path string) {
	err := func() error {
		db, err := sqlite.OpenPlain(path, 1)
		if err != nil {
			return err
		}
		rows, err := db.Query(os.Getenv(envStatement))
		if err != nil {
			return err
		}
		defer rows.Close()
		names, err := rows.Columns()
		if err != nil {
			return err
		}
		cells := make([]sql.NullString, len(names))
		into := make([]any, len(names))
		for i := range cells {
			into[i] = &cells[i]
		}
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				return err
			}
			line := make([]string, len(cells))
			for i := range cells {
				line[i] = cells[i].String
			}
			fmt.Println(strings.Join(line, "|"))
		}
		return errors.Join(rows.Err(), rows.Close(), db.Close())
	}()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// elsewhere has another process read a file, which then closes it.
func elsewhere(t testing.TB, path, statement string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self)
	cmd.Env = append(os.Environ(), envRead+"="+path, envStatement+"="+statement)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", statement, err, out)
	}
	return strings.TrimSpace(string(out))
}

// holdOpen starts a process that has path open, and returns its id and what kills it.
func holdOpen(t *testing.T, path string) (pid int, kill func()) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), envHold+"="+path)
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	killed := false
	kill = func() {
		if killed {
			return
		}
		killed = true
		_ = cmd.Process.Kill() // fails only when it has ended
		_ = cmd.Wait()         // tells that it was killed
		_ = stdin.Close()
	}
	t.Cleanup(kill)
	if _, err := bufio.NewReader(stdout).ReadString('\n'); err != nil {
		t.Fatalf("the other process did not open the file: %v", err)
	}
	return cmd.Process.Pid, kill
}

// epoch is the time of the clocks in these tests.
const epoch = 1_790_000_000_000

func atEpoch() time.Time { return time.UnixMilli(epoch) }

// open opens a log until the test ends.
func open(t testing.TB, opts sqlite.Options) *sqlite.DB {
	t.Helper()
	db, err := sqlite.Open(t.Context(), opts)
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	t.Cleanup(func() { closeLog(t, db) })
	return db
}

// openNew opens a fresh log.
func openNew(t testing.TB) *sqlite.DB {
	t.Helper()
	return open(t, sqlite.Options{Path: filepath.Join(t.TempDir(), "log.db"), Now: atEpoch})
}

func closeLog(t testing.TB, db *sqlite.DB) {
	t.Helper()
	if err := db.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// definitions are those of the program.
func definitions() []projections.Definition {
	return []projections.Definition{
		conversations.Routes(coordination.RulesV2), sessions.Definition(), runs.Definition(), workqueue.Definition(), flows.Definition(), tasks.Definition(),
		continuations.Definition(), schedules.Definition(), permissions.Definition(), plans.Definition(), routing.Definition(), responses.Definition(),
		index.Definition(coordination.RulesV2), conversations.Definition(coordination.RulesV2),
	}
}

func project(t testing.TB, log projections.Log) *projections.Engine {
	t.Helper()
	engine, err := projections.Start(t.Context(), log, definitions(), projections.Options{Rules: coordination.RulesV2, Now: atEpoch})
	if err != nil {
		t.Fatalf("start projections: %v", err)
	}
	return engine
}

// fill makes a closed file with n events and their projections, and returns its path.
func fill(t testing.TB, path string, n int) string {
	t.Helper()
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path, Now: atEpoch})
	if err != nil {
		t.Fatalf("open: %v", err)
	}
	defer closeLog(t, db)
	project(t, db)
	for i := range n {
		mustAppend(t, db, send(i))
	}
	return path
}

func fillNew(t testing.TB, n int) string {
	t.Helper()
	return fill(t, filepath.Join(t.TempDir(), "log.db"), n)
}

func mustAppend(t testing.TB, db *sqlite.DB, appends ...eventstore.StreamAppend) eventstore.Result {
	t.Helper()
	result, err := db.Append(t.Context(), appends...)
	if err != nil {
		t.Fatalf("append: %v", err)
	}
	return result
}

// send is message i between two agents, in one of a few streams.
func send(i int) eventstore.StreamAppend {
	return to(fmt.Sprintf("conversation/c%d", i%3), message(i))
}

func to(stream string, events ...eventstore.NewEvent) eventstore.StreamAppend {
	return eventstore.StreamAppend{Stream: stream, Events: events}
}

func message(i int) eventstore.NewEvent {
	return eventstore.NewEvent{Type: coordination.TypeA2ASend, AgentID: "main", Data: object(map[string]any{
		"workSessionId": fmt.Sprintf("ws_%d", i%5), "conversationId": fmt.Sprintf("c%d", i%3), "fromAgent": "main", "toAgent": "ruda",
		"message": fmt.Sprintf("배포 %d", i), "taskId": fmt.Sprintf("t%d", i%2),
	})}.WithTS(epoch + int64(i))
}

func event(data string) eventstore.NewEvent {
	return eventstore.NewEvent{Type: "task.started", AgentID: "main", Data: json.RawMessage(data)}
}

func object(fields map[string]any) json.RawMessage {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return text
}

// id is a different one for each n.
func id(n byte) eventstore.ID { return eventstore.DerivedID(epoch, eventstore.Hash{n}) }

func head(t testing.TB, db *sqlite.DB) int64 {
	t.Helper()
	h, err := db.Head(t.Context())
	if err != nil {
		t.Fatalf("head: %v", err)
	}
	return h.Seq
}

// verify fails t unless the log is sound and has n events.
func verify(t testing.TB, db *sqlite.DB, n int64) {
	t.Helper()
	proof, err := db.Verify(t.Context(), false, nil)
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	if proof.Events != n || !proof.QuickCheck {
		t.Fatalf("verified %+v, want %d events", proof, n)
	}
}

// alter runs statements on a closed or open file, bypassing the store.
func alter(t testing.TB, path string, statements ...string) {
	t.Helper()
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// wantAs returns err as an E, or fails t.
func wantAs[E error](t testing.TB, err error) E {
	t.Helper()
	var target E
	if !errors.As(err, &target) {
		t.Fatalf("error is %T (%v), want %T", err, err, target)
	}
	return target
}

// wantHint fails t unless err is a *CorruptError with a hint.
func wantHint(t testing.TB, err error) {
	t.Helper()
	if corrupt := wantAs[*eventstore.CorruptError](t, err); corrupt.Hint() == "" {
		t.Errorf("%v has no hint", err)
	}
}
