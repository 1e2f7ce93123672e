package search_test

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/conversations"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/search"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const rules = coordination.RulesV2

// epoch is when the events of these tests begin, in ms.
const epoch = 1_790_000_000_000

// bundle is a log with its projections, its search file and the index over both.
type bundle struct {
	*sqlite.DB
	engine *projections.Engine
	rules  coordination.Rules // of the projections; "": RulesV2
	dir    string
	file   *sqlite.Side
	index  *search.Index
}

// setup opens an empty log and feeds it to a search file.
func setup(t testing.TB) *bundle {
	t.Helper()
	b := &bundle{dir: t.TempDir()}
	b.openLog(t)
	b.openFile(t)
	b.feed(t)
	return b
}

func (b *bundle) openLog(t testing.TB) {
	t.Helper()
	rules := cmp.Or(b.rules, rules)
	var err error
	b.DB, err = sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(b.dir, "log.db"), Durability: sqlite.DurabilityRelaxed,
		Now: func() time.Time { return time.UnixMilli(epoch) }})
	if err != nil {
		t.Fatal(err)
	}
	db := b.DB
	t.Cleanup(func() { _ = db.Close() })
	defs := []projections.Definition{conversations.Routes(rules), index.Definition(rules), conversations.Definition(rules)}
	if b.engine, err = projections.Start(t.Context(), b.DB, defs, projections.Options{Rules: rules}); err != nil {
		t.Fatal(err)
	}
}

func (b *bundle) filePath() string { return filepath.Join(b.dir, "log.db-search.db") }

// openFile opens the search file and the index, which are not fed yet.
func (b *bundle) openFile(t testing.TB) {
	t.Helper()
	var err error
	if b.file, err = sqlite.OpenSide(t.Context(), b.filePath(), false); err != nil {
		t.Fatal(err)
	}
	file := b.file
	t.Cleanup(func() { _ = file.Close() })
	if b.index, err = search.Open(t.Context(), search.Options{Log: b.DB, File: b.file, Rules: rules}); err != nil {
		t.Fatal(err)
	}
}

// feed runs the index until the returned function is called, at the latest until the test ends.
func (b *bundle) feed(t testing.TB) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	run := b.index.Run
	go func() { ended <- run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// await waits until the index has come to the head of the log.
func (b *bundle) await(t testing.TB) {
	t.Helper()
	head, err := b.Head(t.Context())
	if err == nil {
		err = b.index.Wait(t.Context(), head.Seq)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// said is an event with a message and what else it says.
func said(message string, more ...string) eventstore.NewEvent {
	data := map[string]any{"message": message}
	for i := 0; i+1 < len(more); i += 2 {
		data[more[i]] = more[i+1]
	}
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return eventstore.NewEvent{Type: "a2a.send", Data: text, TS: epoch}
}

func (b *bundle) append(t testing.TB, events ...eventstore.NewEvent) {
	t.Helper()
	if _, err := b.Append(t.Context(), eventstore.StreamAppend{Stream: "log", Events: events}); err != nil {
		t.Fatal(err)
	}
}

func words(t testing.TB, query string) search.Words {
	t.Helper()
	w, err := search.ParseWords(query)
	if err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	return w
}

// find returns the hits of a query, all of them unless change says otherwise.
func (b *bundle) find(t testing.TB, query string, change ...func(*search.Query)) search.Hits {
	t.Helper()
	q := search.Query{Words: words(t, query), Limit: 10_000}
	for _, c := range change {
		c(&q)
	}
	var hits search.Hits
	if err := b.index.View(t.Context(), func(tx *sql.Tx) (err error) {
		hits, err = search.Find(t.Context(), tx, q)
		return err
	}); err != nil {
		t.Fatalf("%q: %v", query, err)
	}
	return hits
}

func describe(seqs []int64) string { return fmt.Sprint(seqs) }
