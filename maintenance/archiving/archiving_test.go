package archiving_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/maintenance/archiving"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/monitor/monitortest"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
	"github.com/pronto-lab/openclawd/replay/asof"
)

const rules = coordination.RulesV2

// now is long after all events of the golden logs.
func now() time.Time { return time.Date(2027, 1, 1, 12, 0, 0, 0, time.UTC) }

// bundle is a log with its tables.
type bundle struct {
	*sqlite.DB
	engine *projections.Engine
}

// open opens or creates a database.
func open(t *testing.T, path string) *bundle {
	t.Helper()
	db, err := database.OpenToWrite(t.Context(), path, "a test", now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	engine, err := projections.Start(t.Context(), db, database.Projections(rules), projections.Options{Rules: rules, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	return &bundle{db, engine}
}

// golden imports a golden log.
func (b *bundle) golden(t *testing.T, name string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "testdata", "golden", name+".ndjson"))
	if err != nil {
		t.Fatal(err)
	}
	report, err := database.NewImporter(b.DB, slog.New(slog.DiscardHandler), nil).Import(t.Context(), bytes.NewReader(text), name)
	if err != nil || report.Restored != report.Lines {
		t.Fatalf("%d of %d lines restored, %v", report.Restored, report.Lines, err)
	}
}

func (b *bundle) head(t *testing.T) int64 {
	t.Helper()
	head, err := b.Head(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return head.Seq
}

// all returns the events up to a seq.
func (b *bundle) all(t *testing.T, until int64) []eventstore.Event {
	t.Helper()
	events, err := b.Read(t.Context(), 0, int(until))
	if err != nil {
		t.Fatal(err)
	}
	return events
}

func (b *bundle) export(t *testing.T, until int64) string {
	t.Helper()
	var text strings.Builder
	if _, err := ndjson.Export(t.Context(), b, &text, ndjson.ExportOptions{Format: ndjson.FormatFull, UntilSeq: until}); err != nil {
		t.Fatal(err)
	}
	return text.String()
}

func (b *bundle) dump(t *testing.T) []string {
	t.Helper()
	return projectiontest.Dump(t, b, database.Projections(rules)...)
}

// archive archives a range, ignoring open work.
func (b *bundle) archive(t *testing.T, first, last int64) archiving.Result {
	t.Helper()
	done, err := archiving.Run(t.Context(), b.DB, &archiving.Plan{First: first, Last: last}, &archiving.Request{By: "wooin", Now: now}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

// full counts the rows up to an event that have their payload in the file.
func (b *bundle) full(t *testing.T, until int64) int {
	t.Helper()
	return projectiontest.Read(t, b, func(ctx context.Context, tx *sql.Tx) (n int, err error) {
		err = tx.QueryRowContext(ctx, `SELECT count(data) FROM events
 WHERE seq <= ? AND type NOT LIKE 'config.%' AND type NOT LIKE 'sink.%' AND type NOT LIKE 'file.%' AND type NOT LIKE 'log.%'`, until).Scan(&n)
		return n, err
	})
}

func goldenNames(t *testing.T) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "testdata", "golden", "*.ndjson"))
	if err != nil || len(files) < 8 {
		t.Fatalf("%d golden logs, %v", len(files), err)
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(filepath.Base(f), ".ndjson"))
	}
	return testscale.Of([]string{"1-every-type", "4-flows"}, names)
}

// wantEachWay compares every way to read events with their earlier content.
func (b *bundle) wantEachWay(t *testing.T, events []eventstore.Event) {
	t.Helper()
	var seqs []int64
	for i := range events {
		want := &events[i]
		seqs = append(seqs, want.Seq)
		bySeq, err := b.Event(t.Context(), want.Seq)
		byID, errID := b.EventByID(t.Context(), want.ID)
		inStream, errStream := b.ReadStream(t.Context(), want.Stream, want.Version-1, 1)
		if err = errors.Join(err, errID, errStream); err != nil || len(inStream) != 1 {
			t.Fatalf("event %d: %v, %d in its stream", want.Seq, err, len(inStream))
		}
		for _, got := range []eventstore.Event{bySeq, byID, inStream[0]} {
			if diff := cmp.Diff(*want, got); diff != "" {
				t.Fatalf("event %d (-before +archived):\n%s", want.Seq, diff)
			}
		}
	}
	got := projectiontest.Read(t, b, func(ctx context.Context, tx *sql.Tx) ([]eventstore.Event, error) { return b.EventsIn(ctx, tx, seqs) })
	if diff := cmp.Diff(events, got); diff != "" {
		t.Errorf("events in a view (-before +archived):\n%s", diff)
	}
}

// whole writes a log into a database of its own.
func (b *bundle) whole(t *testing.T, path string) *bundle {
	t.Helper()
	n, err := archiving.WriteWhole(t.Context(), b, path, rules, now, func(int64, int64) {})
	if err != nil || n != b.head(t) {
		t.Fatalf("%d events written, %v; want %d", n, err, b.head(t))
	}
	return open(t, path)
}

func wantSamePast(t *testing.T, a, b *bundle, until int64) {
	t.Helper()
	var dumps [2][]string
	for i, log := range []*bundle{a, b} {
		state, err := asof.Open(t.Context(), asof.Options{Log: log.DB, Dir: t.TempDir(), Rules: rules}, until, nil)
		if err != nil {
			t.Fatal(err)
		}
		dumps[i] = projectiontest.Dump(t, state, database.Projections(rules)...)
		if err := state.Close(); err != nil {
			t.Error(err)
		}
	}
	if diff := cmp.Diff(dumps[1], dumps[0]); diff != "" {
		t.Errorf("tables as of %d (-restored +archived):\n%s", until, diff)
	}
}

// Below these paths answers are read by SQL, which does not see archived payloads. All others are as before.
var readBySQL = []string{"/api/routing", "/api/approvals", "/api/schedules", "/api/tools/calls", "/api/sandboxes", "/api/migrations"}

func asker(b *bundle) monitortest.Ask {
	api := monitor.New(monitor.Options{Store: b, Rules: rules, Now: now, MilestoneInterval: -1}).Handler()
	return func(path string) (int, http.Header, []byte) {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		request.Host = "localhost"
		api.ServeHTTP(answer, request)
		body, _ := io.ReadAll(answer.Body)
		return answer.Code, answer.Header(), body
	}
}

func TestLostArchiveIsAnErrorAndNoRedaction(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b := open(t, filepath.Join(dir, database.Name))
	b.golden(t, "5-tasks")
	last := b.head(t)
	redact(t, b, 3)
	m := b.archive(t, 1, last+1).Archives[0]
	redact(t, b, 5)
	if _, err := database.Archives(b.DB).Forget(t.Context(), []int64{5}); err != nil {
		t.Fatal(err)
	}
	for _, seq := range []int64{3, 5} {
		if e, err := b.Event(t.Context(), seq); err != nil || !e.Redacted() {
			t.Errorf("event %d: redacted %v, %v; want it redacted", seq, e.Redacted(), err)
		}
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		lose func() error
	}{
		{"the file", func() error {
			return os.Remove(filepath.Join(dir, "archive", fmt.Sprintf("1-%d.2.ndjson.zst", last+1)))
		}},
		{"the directory", func() error { return os.RemoveAll(filepath.Join(dir, "archive")) }},
	} {
		t.Run(c.what, func(t *testing.T) {
			if err := c.lose(); err != nil {
				t.Fatal(err)
			}
			b := open(t, filepath.Join(dir, database.Name))
			defer b.Close()
			log, err := database.OpenToRead(t.Context(), b.Path(), now)
			if err != nil {
				t.Fatal(err)
			}
			defer log.Close()
			_, errRead := log.Read(t.Context(), 0, 100)
			_, errEvent := log.Event(t.Context(), 7)
			_, errExport := ndjson.Export(t.Context(), log, io.Discard, ndjson.ExportOptions{Format: ndjson.FormatFull})
			_, errVerify := log.Verify(t.Context(), true, nil)
			_, errPast := asof.Open(t.Context(), asof.Options{Log: log, Dir: t.TempDir(), Rules: rules}, last, nil)
			for by, err := range map[string]error{"read": errRead, "event": errEvent, "export": errExport, "verify": errVerify, "past": errPast,
				"rebuild": b.engine.Rebuild(t.Context(), projections.RebuildOptions{})} {
				gone, ok := errors.AsType[*eventstore.ArchivedError](err)
				if !ok || gone.First != m.First || gone.Last != m.Last || !strings.HasPrefix(gone.File, filepath.Join(dir, "archive")) {
					t.Errorf("%s: %v, want an *ArchivedError that names the file", by, err)
				}
			}
			err = log.View(t.Context(), func(tx *sql.Tx) error {
				events, err := log.EventsIn(t.Context(), tx, []int64{7, 8})
				if err != nil || len(events) != 2 || !events[0].Redacted() {
					t.Errorf("in answers: %d events, %v; want two that are blank", len(events), err)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// redact blanks an event as openclawd redact does.
func redact(t *testing.T, b *bundle, seq int64) {
	t.Helper()
	id := fmt.Sprint("r", seq)
	data, err := json.Marshal(coordination.LogRedacted{Context: coordination.Context{EventRole: coordination.RoleObservability}, RedactionID: id, Seqs: []int64{seq}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.RedactBy(t.Context(), func(eventstore.Tx) ([]int64, []eventstore.StreamAppend, error) {
		return []int64{seq}, []eventstore.StreamAppend{{Stream: "redaction/" + id, Events: []eventstore.NewEvent{{Type: coordination.TypeLogRedacted, Data: data}}}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A retry is recognised, or refused, by the archived payload.
func TestRetryOfAnArchivedEventGetsItsFirstAnswer(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), database.Name))
	id, err := eventstore.ParseID("01890000-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	say := func(text string) (eventstore.Result, error) {
		return b.Append(t.Context(), eventstore.StreamAppend{Stream: "agent/eden", Events: []eventstore.NewEvent{
			{ID: id, Type: "agent.said", AgentID: "eden", Data: json.RawMessage(`{"text":"` + text + `"}`)}}})
	}
	first, err := say("one")
	if err != nil {
		t.Fatal(err)
	}
	b.archive(t, 1, 1)
	again, err := say("one")
	if err != nil || !again.Events[0].Duplicate || again.Events[0].Seq != first.Events[0].Seq {
		t.Errorf("the same again: %+v, %v; want a duplicate of %d", again, err, first.Events[0].Seq)
	}
	if _, err := say("two"); err == nil {
		t.Error("another body under the same id was accepted")
	} else if _, ok := errors.AsType[*eventstore.IDReuseError](err); !ok {
		t.Errorf("another body under the same id: %v, want an *IDReuseError", err)
	}
}

func TestPlanSaysWhatIsStillNeeded(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), database.Name))
	story := projectiontest.Tell(t, b, now().UnixMilli()-1_000_000)
	for range 20 {
		story.Say("", "agent.said", "eden", map[string]string{"text": "early"})
	}
	plan := func() *archiving.Plan {
		t.Helper()
		p, err := archiving.Prepare(t.Context(), b.DB, &archiving.Request{Until: b.head(t), Now: now})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := plan(); p.First != 1 || p.Last != 20 || len(p.Needed) != 0 {
		t.Errorf("nothing is open: %+v, want 1 to 20", p)
	}
	queued := b.head(t) + 1
	story.Queue("eden", coordination.RunQueued{RunID: "run-1", SessionKey: "agent:eden:main", Lane: "main", Message: "go"})
	story.Say("", "agent.said", "eden", map[string]string{"text": "late"})
	p := plan()
	if p.Last >= queued || len(p.Needed) == 0 || !strings.Contains(fmt.Sprint(p.Needed), "run run-1 of eden is queued") {
		t.Errorf("a run is open since %d: %+v", queued, p)
	}
	p, err := archiving.Prepare(t.Context(), b.DB, &archiving.Request{Until: b.head(t), Keep: 15, Now: now})
	if err != nil || p.Last > b.head(t)-15 {
		t.Errorf("up to %d, %v; want the newest 15 kept", p.Last, err)
	}
	p, err = archiving.Prepare(t.Context(), b.DB, &archiving.Request{Before: time.UnixMilli(0).Add(time.Hour), Now: now})
	if err != nil || p.Last != 0 {
		t.Errorf("before anything was stored: up to %d, %v; want nothing", p.Last, err)
	}
}

func TestArchiveOfAnotherLogIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	a, b := open(t, filepath.Join(dir, "a", database.Name)), open(t, filepath.Join(dir, "b", database.Name))
	a.golden(t, "4-flows")
	b.golden(t, "5-tasks")
	a.archive(t, 1, 20)
	if err := os.Rename(filepath.Join(dir, "a", "archive"), filepath.Join(dir, "b", "archive")); err != nil {
		t.Fatal(err)
	}
	_, err := archiving.Prepare(t.Context(), b.DB, &archiving.Request{Until: 10, Now: now})
	if _, ok := errors.AsType[*archiving.ForeignError](err); !ok {
		t.Errorf("%v, want a *ForeignError", err)
	}
}

func TestConfigurationStaysInTheFile(t *testing.T) {
	t.Parallel()
	b := open(t, filepath.Join(t.TempDir(), database.Name))
	if _, err := database.ApplyTeam(t.Context(), b.DB, coordination.ConfigApplied{}); err != nil {
		t.Fatal(err)
	}
	last := b.head(t)
	b.archive(t, 1, last)
	kept := projectiontest.Read(t, b, func(ctx context.Context, tx *sql.Tx) (n int, err error) {
		err = tx.QueryRowContext(ctx, "SELECT count(data) FROM events WHERE type IN ('config.applied', 'log.archived')").Scan(&n)
		return n, err
	})
	if kept < 2 {
		t.Errorf("%d payloads of configurations and of the log's own records are in the file, want all", kept)
	}
	list, err := database.Archives(b.DB).List()
	if err != nil || len(list) != 1 || list[0].Events != last {
		t.Errorf("%+v, %v; want one archive that has them too", list, err)
	}
}
