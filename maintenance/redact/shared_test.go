package redact_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/eventstore/shared/backend"
	"github.com/pronto-lab/openclawd/eventstore/shared/jetstream/natstest"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/backup"
	"github.com/pronto-lab/openclawd/maintenance/redact"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/redactions"
)

// peer is a node of several that share a log.
type peer struct {
	fixture
	log   *backend.Log
	lease shared.Lease
	stop  func() // ends following
}

// newPeer opens the database in a directory as a node that follows.
func newPeer(t *testing.T, servers *natstest.Servers, dir string) *peer {
	t.Helper()
	p := &peer{fixture: fixture{dir: dir}, stop: func() {}}
	var err error
	if p.log, err = backend.Open(t.Context(), "nats://"+servers.Address()+"/team", backend.Options{}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, database.Name)
	if p.DB, err = sqlite.Open(t.Context(), sqlite.Options{Path: path, Shared: p.log, Payloads: database.Payloads(path)}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	if p.engine, err = projections.Start(t.Context(), p.DB, database.Projections(rules), projections.Options{Rules: rules}); err != nil {
		t.Fatal(err)
	}
	p.redactor = redact.New(redact.Options{Log: p.DB, StateDir: dir, Getenv: os.Getenv, NewID: uuid.NewString, Now: time.Now,
		Rebuild: func(ctx context.Context, tell func(done, total int64)) ([]string, error) {
			return p.engine.Names(), p.engine.Rebuild(ctx, projections.RebuildOptions{Progress: tell})
		},
		Lines: func(ctx context.Context, b ndjson.BlankOptions) (ndjson.BlankReport, error) {
			b.StateDir = dir
			return ndjson.Blank(ctx, b)
		},
	})
	return p
}

func (p *peer) close() {
	if p.DB != nil {
		p.stop()
		_ = errors.Join(p.Close(), p.log.Close())
		p.DB = nil
	}
}

func (p *peer) lead(t *testing.T, name string) {
	t.Helper()
	p.stop()
	p.stop = func() {}
	var err error
	if p.lease, err = p.log.Acquire(t.Context(), name, time.Hour); err == nil {
		err = p.Lead(t.Context(), p.lease)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *peer) follow(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- p.Follow(ctx) }()
	p.stop = func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("follow: %v", err)
		}
		p.stop = func() {}
	}
}

// reach waits until a node has what another one has.
func (p *peer) reach(t *testing.T, other *peer) {
	t.Helper()
	head, err := other.Head(t.Context())
	if err == nil {
		_, err = p.Wait(t.Context(), head.Seq)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (p *peer) say(t *testing.T, n int, text string) {
	t.Helper()
	for i := range n {
		_, err := p.Append(t.Context(), eventstore.StreamAppend{Stream: "agent/eden", Events: []eventstore.NewEvent{{
			Type: "a2a.send", AgentID: "eden", Data: []byte(fmt.Sprintf(`{"message":"%s %d","fromAgent":"eden","toAgent":"ruda"}`, text, i))}}})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (p *peer) state(t *testing.T, id string) string {
	t.Helper()
	x, err := p.redactor.Redaction(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return x.State
}

// wantNowhere checks that no file of these directories has the secret.
func wantNowhere(t *testing.T, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || err == nil && !entry.Type().IsRegular() {
				return nil
			}
			content, readErr := os.ReadFile(path)
			if bytes.Contains(content, []byte(secret)) {
				t.Errorf("%s has the secret", path)
			}
			if errors.Is(readErr, fs.ErrNotExist) {
				readErr = nil
			}
			return errors.Join(err, readErr)
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Where nodes share a log, each removes redacted texts from its own files, the one that writes also from the shared log,
// and neither a node that was away nor one that comes from an older backup keeps them.
//
// Promise: redaction
func TestEachNodeForgets(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	writer, live, away := newPeer(t, servers, t.TempDir()), newPeer(t, servers, t.TempDir()), newPeer(t, servers, t.TempDir())
	writer.lead(t, "a")
	live.follow(t)
	away.follow(t)
	writer.say(t, 5, secret)
	writer.say(t, 20, "harmless")
	live.reach(t, writer)
	away.reach(t, writer)
	away.stop()
	backups := t.TempDir()
	old, err := backup.Create(t.Context(), backup.CreateOptions{Log: live.DB, Dir: backups, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	running, end := context.WithCancel(t.Context())
	defer end()
	forgotten := make(chan error, 1)
	go func() { forgotten <- live.redactor.Run(running) }()

	id, plan, err := writer.redactor.Redact(t.Context(), order)
	if err != nil || len(plan.Matches) != 5 || len(plan.Kept) != 1 || plan.Kept[0].Hint == "" {
		t.Fatalf("%+v, %v; want 5 events, and what the broker keeps for a while", plan, err)
	}
	// It is interrupted before the shared log, and resumed as by the next process.
	interrupted, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	err = writer.redactor.Finish(interrupted, func(p redaction.Progress) {
		if p.Step == "shared" {
			interrupt()
		}
	})
	if !errors.Is(err, context.Canceled) || writer.state(t, id) != redactions.Pending {
		t.Fatalf("interrupted: %v", err)
	}
	if err := writer.redactor.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if writer.state(t, id) != redactions.Forgotten {
		t.Error("the log was not told")
	}
	wantNowhere(t, writer.dir)
	wantNowhere(t, servers.Dirs...)

	live.reach(t, writer)
	for len(live.holders(t)) > 0 && t.Context().Err() == nil { // it works beside us
		if _, err := live.Head(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	end()
	if err := <-forgotten; err != nil {
		t.Error(err)
	}
	away.follow(t)
	restored := filepath.Join(t.TempDir(), "node")
	if _, _, err := backup.Restore(t.Context(), old.File, restored, database.Name, time.Now, nil); err != nil {
		t.Fatal(err)
	}
	late, empty := newPeer(t, servers, restored), newPeer(t, servers, t.TempDir())
	for _, p := range []*peer{late, empty} {
		p.follow(t)
	}
	for _, p := range []*peer{live, away, late, empty} {
		p.reach(t, writer)
		if err := p.redactor.Finish(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		wantNowhere(t, p.dir)
		if got, err := p.Head(t.Context()); err != nil || got != must(writer.Head(t.Context())) {
			t.Errorf("a node is at %+v, %v", got, err)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A redaction whose writer dies is finished by the node that writes next, which may have forgotten its own share before.
//
// Promise: redaction
func TestTheNextWriterFinishesARedaction(t *testing.T) {
	t.Parallel()
	servers := natstest.One(t)
	writer, next := newPeer(t, servers, t.TempDir()), newPeer(t, servers, t.TempDir())
	writer.lead(t, "a")
	next.follow(t)
	writer.say(t, 3, secret)
	id, _, err := writer.redactor.Redact(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	next.reach(t, writer)
	if err := next.redactor.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if next.state(t, id) != redactions.Pending {
		t.Error("a node that follows has ended a redaction")
	}
	if err := writer.log.Release(t.Context(), writer.lease); err != nil {
		t.Fatal(err)
	}
	dead := writer.dir
	writer.close()
	next.lead(t, "b")
	if err := next.redactor.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if next.state(t, id) != redactions.Forgotten {
		t.Error("the next writer did not finish it")
	}
	wantNowhere(t, next.dir)
	wantNowhere(t, servers.Dirs...)
	back := newPeer(t, servers, dead) // it had blanked the events, and not rewritten its file
	back.follow(t)
	back.reach(t, next)
	if err := back.redactor.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	wantNowhere(t, back.dir)
}
