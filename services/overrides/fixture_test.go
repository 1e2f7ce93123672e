package overrides

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/internal/watch"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// noon is what all clocks show.
var noon = time.Date(2026, 2, 20, 12, 0, 0, 0, time.UTC)

const noonText = "2026-02-20T12:00:00.000Z"

// bundle is a real log and a real directory, with a Sync that runs between start and stop.
type bundle struct {
	*sqlite.DB
	path   string
	sync   *Sync
	looks  chan struct{}
	stop   func()
	logged strings.Builder
}

func setup(t *testing.T) *bundle {
	t.Helper()
	now := func() time.Time { return noon }
	db, _ := projectiontest.New(t, sqlite.Options{Now: now}, conversations.Definition(coordination.RulesV2))
	return &bundle{DB: db, path: filepath.Join(t.TempDir(), Name)}
}

// start runs a Sync; stop, or the end of the test, ends it.
func (b *bundle) start(t *testing.T) {
	t.Helper()
	logger := slog.New(slog.NewTextHandler(&b.logged, nil))
	watcher := watch.New(10*time.Millisecond, slog.New(slog.DiscardHandler))
	b.sync = New(Options{Path: b.path, Database: b.Path(), Agreement: database.OverridesFile(b.Path()), Log: b.DB, Watcher: watcher,
		Now: func() time.Time { return noon }, Logger: logger})
	b.looks = make(chan struct{}, 1)
	b.sync.looked = func() {
		select {
		case b.looks <- struct{}{}:
		default:
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = watcher.Run(ctx) })
	running.Go(func() { _ = b.sync.Run(ctx) })
	b.stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	t.Cleanup(b.stop)
	b.look(t)
}

// look waits for a comparison that started after the call.
func (b *bundle) look(t *testing.T) {
	t.Helper()
	for range 3 { // one may be kept, one under way
		select {
		case <-b.looks:
		case <-time.After(testscale.Patience):
			t.Fatal("no comparison")
		}
	}
}

// until waits for what is to come true after some look.
func (b *bundle) until(t *testing.T, what string, done func() bool) {
	t.Helper()
	for range 500 {
		if done() {
			return
		}
		b.look(t)
	}
	t.Fatalf("not %s: the file is\n%s\nthe log holds %v, problem %q", what, b.text(), b.held(t), b.sync.Problem())
}

// say appends an operator's word; category "" takes back.
func (b *bundle) say(t *testing.T, name, category, by string) {
	t.Helper()
	said := coordination.WorkSessionCategory{Category: coordination.Category(category), UpdatedBy: by, UpdatedAt: noonText}
	said.WorkSessionID = name
	data, err := json.Marshal(said)
	if err != nil {
		t.Fatal(err)
	}
	typ := coordination.TypeWorkSessionCategorySet
	if category == "" {
		typ = coordination.TypeWorkSessionCategoryCleared
	}
	_, err = b.Append(context.Background(), eventstore.StreamAppend{Stream: coordination.WorkSessionStream,
		Events: []eventstore.NewEvent{{Type: typ, Actor: eventstore.ActorHuman, Data: data}}})
	if err != nil {
		t.Fatal(err)
	}
}

// sayOther appends an event that says nothing of any category.
func (b *bundle) sayOther(t *testing.T) {
	t.Helper()
	_, err := b.Append(context.Background(), eventstore.StreamAppend{Stream: coordination.ConfigStream,
		Events: []eventstore.NewEvent{{Type: "test.other", Actor: eventstore.ActorSystem, Data: json.RawMessage("{}")}}})
	if err != nil {
		t.Fatal(err)
	}
}

// put writes the file as an editor does, and dates it.
func (b *bundle) put(t *testing.T, text string, modified time.Time) {
	t.Helper()
	next := b.path + ".editor"
	if err := os.WriteFile(next, []byte(text), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(next, modified, modified); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, b.path); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) text() string {
	text, err := os.ReadFile(b.path)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// held is what the log holds: "name category by at".
func (b *bundle) held(t *testing.T) []string {
	t.Helper()
	list := []string{}
	err := b.View(context.Background(), func(tx *sql.Tx) error {
		words, err := conversations.Overrides(context.Background(), tx)
		for _, o := range words {
			if o.Category != "" {
				list = append(list, strings.TrimSpace(fmt.Sprintf("%s %s %s %s", o.Name, o.Category, o.UpdatedAt, o.UpdatedBy)))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

func (b *bundle) seq(t *testing.T) int64 {
	t.Helper()
	head, err := b.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

// wantRest checks that Sync does not react to its own writes: nothing happens any more.
func (b *bundle) wantRest(t *testing.T) {
	t.Helper()
	b.look(t) // what was done right before is seen by then
	text, seq := b.text(), b.seq(t)
	for range 5 {
		b.look(t)
	}
	if b.text() != text || b.seq(t) != seq {
		t.Errorf("without a change from outside the log went from %d to %d and the file from\n%s\nto\n%s", seq, b.seq(t), text, b.text())
	}
}
