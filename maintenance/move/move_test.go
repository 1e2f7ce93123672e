//go:build unix

package move_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/backend"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/eventstore/shared/postgres/pgtest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/move"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

const rules = coordination.RulesV2

// node is a node of a team, which runs while use does.
type node struct {
	*sqlite.DB
	shared *backend.Log // nil: it is alone
	engine *projections.Engine
}

// run runs a node with a shared log, or alone, and lets use do something with it.
func run(t *testing.T, path, url, name string, use func(*node)) {
	t.Helper()
	n := &node{}
	opts := sqlite.Options{Path: path, Durability: sqlite.DurabilityRelaxed, Payloads: database.Payloads(path)}
	if url != "" {
		var err error
		if n.shared, err = backend.Open(t.Context(), url, backend.Options{}); err != nil {
			t.Fatal(err)
		}
		defer n.shared.Close()
		opts.Shared = n.shared
	}
	db, err := sqlite.Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	n.DB = db
	if n.engine, err = projections.Start(t.Context(), db, database.Projections(rules), projections.Options{Rules: rules, Now: time.Now}); err != nil {
		t.Fatal(err)
	}
	if name != "" && url != "" {
		lease, err := n.shared.Acquire(t.Context(), name, time.Minute)
		if err == nil {
			err = db.Lead(t.Context(), lease)
		}
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = n.shared.Release(context.WithoutCancel(t.Context()), lease) }()
	}
	use(n)
}

// state is all that a node has.
type state struct {
	Head   eventstore.Head
	Events []eventstore.Event
	Tables []string
}

func (n *node) state(t *testing.T) (s state) {
	t.Helper()
	var err error
	if s.Head, err = n.Head(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s.Events, err = n.Read(t.Context(), 0, 100_000); err != nil {
		t.Fatal(err)
	}
	if _, err := n.Verify(t.Context(), false, nil); err != nil {
		t.Error(err)
	}
	s.Tables = projectiontest.Dump(t, n.DB, database.Projections(rules)...)
	return s
}

// newTeam makes the database of a team that has worked, in a directory of its own.
func newTeam(t *testing.T, more int) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), database.Name)
	run(t, path, "", "", func(n *node) {
		projectiontest.Tell(t, n, 1_790_000_000_000).Team()
		n.work(t, more)
		if err := n.Redact(t.Context(), 3); err != nil {
			t.Fatal(err)
		}
		if err := n.engine.Rebuild(t.Context(), projections.RebuildOptions{}); err != nil { // as redact does
			t.Fatal(err)
		}
	})
	return path
}

func (n *node) work(t *testing.T, more int) {
	t.Helper()
	for i := range more {
		a := eventstore.StreamAppend{Stream: fmt.Sprint("agent/eden", i%7), Events: []eventstore.NewEvent{{Type: "agent.said", AgentID: "eden", Data: []byte(fmt.Sprintf(`{"text":"word %d"}`, i))}}}
		if _, err := n.Append(t.Context(), a, a); err != nil {
			t.Fatal(err)
		}
	}
}

func options(path, from, to string) move.Options {
	return move.Options{DB: path, From: from, To: to, Node: "mover", Now: time.Now}
}

// A team that moves has the same log and the same tables everywhere, and goes on there. A node that was left behind
// follows the new log, and one that is new fills itself from it.
//
// Promise: move-store
func TestATeamMovesThereAndBack(t *testing.T) {
	t.Parallel()
	stops := []string{"nats://" + natstest.One(t).Address() + "/team"}
	if server := pgtest.Start(t); server != nil {
		stops = append(stops, server.URL(server.Address)+"&schema=team")
	}
	stops = append(stops, "")
	path, other, at := newTeam(t, 100), filepath.Join(t.TempDir(), "other.db"), ""
	for i, to := range stops {
		var before state
		run(t, path, at, "a", func(n *node) { before = n.state(t) })
		report, err := move.Run(t.Context(), options(path, at, to))
		if err != nil {
			t.Fatalf("stop %d: %v", i, err)
		}
		if report.Events != before.Head.Seq || report.Head != before.Head.Hash || to != "" && report.Copied != before.Head.Seq || report.Redacted != 1 {
			t.Errorf("stop %d: %+v, want %+v", i, report, before.Head)
		}
		run(t, path, to, "a", func(n *node) {
			if diff := cmp.Diff(before, n.state(t)); diff != "" {
				t.Fatalf("stop %d (-before +after):\n%s", i, diff)
			}
			n.work(t, 20)
			before = n.state(t)
		})
		if to == "" {
			break
		}
		run(t, other, to, "", func(n *node) {
			n.follow(t, before.Head.Seq)
			if diff := cmp.Diff(before, n.state(t)); diff != "" {
				t.Errorf("another node at stop %d (-first +this):\n%s", i, diff)
			}
		})
		at = to
	}
}

// follow lets a node follow until it has an event.
func (n *node) follow(t *testing.T, until int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- n.Follow(ctx) }()
	if _, err := n.Wait(ctx, until); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatalf("follow: %v", err)
	}
}

// A log that was left takes no lease: a node that was not told of the move cannot write to it. A move may, from any machine.
func TestALogThatWasLeftIsClosed(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	first, second := "nats://"+servers.Address()+"/first", "nats://"+servers.Address()+"/second"
	path := newTeam(t, 5)
	for _, step := range [][2]string{{"", first}, {first, second}} {
		if _, err := move.Run(t.Context(), options(path, step[0], step[1])); err != nil {
			t.Fatal(err)
		}
	}
	log, err := backend.Open(t.Context(), first, backend.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	var held *shared.HeldError
	if _, err := log.Acquire(t.Context(), "b", time.Minute); !errors.As(err, &held) || held.Node == "mover" {
		t.Errorf("the lease of the log that was left: %v", err)
	}
	back := options(path, second, first)
	back.Node = "on another machine"
	if _, err := move.Run(t.Context(), back); err != nil {
		t.Errorf("back to the log that was left: %v", err)
	}
}

func TestMovesThatAreRefusedChangeNothing(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	at := func(stream string) string { return "nats://" + servers.Address() + "/" + stream }
	path, stranger := newTeam(t, 30), newTeam(t, 31)
	if _, err := move.Run(t.Context(), options(stranger, "", at("taken"))); err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		o    move.Options
		want any
	}{
		"another log":          {options(path, "", at("taken")), new(*move.TargetError)},
		"the same log":         {options(path, at("taken"), at("taken")), new(*eventstore.InvalidError)},
		"the file itself":      {options(path, "", ""), new(*eventstore.InvalidError)},
		"no such log to end":   {options(path, at("missing"), ""), new(error)},
		"no database":          {options(filepath.Join(t.TempDir(), "x.db"), "", at("fresh")), new(error)},
		"not an address":       {options(path, "", "nats://user:s3cret@x"), new(*eventstore.InvalidError)},
		"another log, shorter": {options(newTeam(t, 40), "", at("taken")), new(*move.TargetError)},
		"more events already":  {options(newTeam(t, 2), "", at("taken")), new(*move.TargetError)},
	} {
		for _, dry := range []bool{true, false} {
			tc.o.DryRun = dry
			tc.o.Switch = func(context.Context) error { t.Errorf("%s: switched", name); return nil }
			_, err := move.Run(t.Context(), tc.o)
			if err == nil || !errors.As(err, tc.want) {
				t.Errorf("%s (dry run: %t): %v, want %T", name, dry, err, tc.want)
			} else if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	run(t, path, "", "", func(n *node) { // as a server has it
		var locked *eventstore.LockedError
		if _, err := move.Run(t.Context(), options(path, "", at("fresh"))); !errors.As(err, &locked) {
			t.Errorf("while a server runs: %v", err)
		}
	})
}

// While another node writes the log that is to be left, nothing moves.
func TestARunningNodeIsNotLeftBehind(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	first, second := "nats://"+servers.Address()+"/first", "nats://"+servers.Address()+"/second"
	path, other := newTeam(t, 5), filepath.Join(t.TempDir(), "other.db")
	if _, err := move.Run(t.Context(), options(path, "", first)); err != nil {
		t.Fatal(err)
	}
	run(t, other, first, "b", func(n *node) {
		var held *move.HeldError
		if _, err := move.Run(t.Context(), options(path, first, second)); !errors.As(err, &held) || held.Node != "b" {
			t.Errorf("while node b writes: %v", err)
		}
		n.work(t, 10)
	})
	report, err := move.Run(t.Context(), options(path, first, second))
	if err != nil || report.Fetched != 20 {
		t.Errorf("%+v, %v; want the 20 events of the other node", report, err)
	}
}

func TestDryRunCreatesNothing(t *testing.T) {
	t.Parallel()
	url := "nats://" + natstest.One(t).Address() + "/team"
	path := newTeam(t, 5)
	o := options(path, "", url)
	o.DryRun = true
	report, err := move.Run(t.Context(), o)
	if err != nil || report.Copied != report.Events || report.Found != 0 || report.Events == 0 {
		t.Errorf("%+v, %v", report, err)
	}
	if _, err := backend.Open(t.Context(), url, backend.Options{Existing: true}); !errors.Is(err, eventstore.ErrNotFound) {
		t.Errorf("the stream after a dry run: %v", err)
	}
}

// Whenever a move is interrupted, it is resumed, and the target has the log once.
func TestAMoveThatIsInterruptedIsResumed(t *testing.T) {
	t.Parallel()
	url := "nats://" + natstest.One(t).Address() + "/team"
	path := newTeam(t, 800) // several records
	var want state
	run(t, path, "", "", func(n *node) { want = n.state(t) })
	for _, at := range []string{move.StepCheck, move.StepCopy, move.StepVerify, ""} {
		ctx, cancel := context.WithCancel(t.Context())
		var told atomic.Int64
		o := options(path, "", url)
		o.Tell = func(step string, done, _ int64) {
			if step == at && (done > 0 || at == move.StepCheck) && told.Add(1) == 1 {
				cancel()
			}
		}
		report, err := move.Run(ctx, o)
		cancel()
		switch {
		case at != "" && !errors.Is(err, context.Canceled):
			t.Fatalf("interrupted at %s: %+v, %v", at, report, err)
		case at == "" && (err != nil || report.Found+report.Copied != want.Head.Seq || report.Found == 0):
			t.Fatalf("resumed: %+v, %v", report, err)
		}
	}
	run(t, path, url, "a", func(n *node) {
		if diff := cmp.Diff(want, n.state(t)); diff != "" {
			t.Error(diff)
		}
	})
}

// The setting is written so that the rest of the file stays, and written again without harm.
func TestTheSettingIsWritten(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "openclaw.json")
	const before = "{\n  // the team\n  agents: { list: [{ id: \"eden\" }] },\n}\n"
	if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
		t.Fatal(err)
	}
	noVariables := func(string) string { return "" }
	for range 2 {
		if err := move.NewSetting(config.ReadDocument(file, noVariables), "nats://ann:s3cret@n1/team", false, "0123456789abcdef").Write(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	loaded, _ := config.Load(file, noVariables)
	if got := loaded.SharedLog(); got != (config.SharedLog{URL: "nats://ann:s3cret@n1/team", HasToken: true}) {
		t.Errorf("the setting is %+v", got)
	}
	if err := move.NewSetting(config.ReadDocument(file, noVariables), "", false, "").Write(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil || strings.Contains(string(text), "cluster") || !strings.Contains(string(text), "// the team") {
		t.Errorf("%s, %v", text, err)
	}
}

// The file of a node takes no appends without its shared log, until the sharing is ended; that needs no shared log.
func TestACopyIsNotWrittenAlone(t *testing.T) {
	t.Parallel()
	path := newTeam(t, 5)
	if _, err := move.Run(t.Context(), options(path, "", "nats://"+natstest.One(t).Address()+"/team")); err != nil {
		t.Fatal(err)
	}
	var copied *shared.CopyError
	if _, err := database.OpenToWrite(t.Context(), path, "import", time.Now); !errors.As(err, &copied) {
		t.Errorf("a copy is opened to write: %v", err)
	}
	if _, err := move.Run(t.Context(), options(path, "", "")); err != nil {
		t.Fatal(err)
	}
	run(t, path, "", "", func(n *node) { n.work(t, 1) })
}

// What a person asks for reads the configuration, changes it, and says so without the password.
func TestARequestGoesThereAndBack(t *testing.T) {
	t.Parallel()
	path := newTeam(t, 5)
	url := "nats://" + strings.Replace(natstest.One(t).Address(), "127.0.0.1", "ann:s3cret@127.0.0.1", 1) + "/team"
	file := filepath.Join(filepath.Dir(path), "openclaw.json")
	ask := func(to string) (string, error) {
		var said strings.Builder
		r := move.Request{Options: move.Options{DB: path, To: to, Now: time.Now}, Configured: true, Token: "0123456789abcdef"}
		answer, err := r.Run(t.Context(), config.ReadDocument(file, func(string) string { return "" }))
		if err == nil {
			err = answer.Write(&said, &said)
		}
		return said.String(), err
	}
	var setting *config.SettingError
	for _, to := range []string{"", "file", "nats://x"} {
		if _, err := ask(to); !errors.As(err, &setting) || setting.Setting != "--to" {
			t.Errorf("--to %q: %v", to, err)
		}
	}
	if err := move.NewSetting(config.ReadDocument(file, func(string) string { return "" }), url, false, "0123456789abcdef").Write(t.Context()); err != nil {
		t.Fatal(err) // before the move, as people may do
	}
	for _, to := range []string{url, "file"} {
		said, err := ask(to)
		if err != nil || !strings.HasPrefix(said, "moved ") && !strings.HasPrefix(said, "note: ") || !strings.Contains(said, "changed "+file) || strings.Contains(said, "s3cret") {
			t.Errorf("--to %q: %s, %v", to, said, err)
		}
	}
	if loaded, _ := config.Load(file, func(string) string { return "" }); loaded.SharedLog().URL != "" {
		t.Error("the configuration still names a shared log")
	}
}
