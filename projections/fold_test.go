package projections_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/projectiontest"
)

// ofRun is what makes a message one of a run.
var ofRun = regexp.MustCompile(`"runId":"[^"]*",|"by":"[^"]*",`)

// story is n appends of what happens to teams: all golden logs, again and again, each time in streams of their own.
func story(t testing.TB, n int) []eventstore.StreamAppend {
	t.Helper()
	var lines []*eventstore.Event
	for _, name := range []string{"1-every-type", "10-pairing", "11-edits", "14-schedules", "15-approvals", "1-imported", "2-sessions", "3-runs", "4-flows", "5-tasks", "6-continuation", "7-discord"} {
		for line := range strings.Lines(string(readGolden(t, name+".ndjson"))) {
			parsed, rejection := ndjson.ParseLine([]byte(line))
			if rejection != nil || parsed.Exported == nil {
				t.Fatalf("%s: no exported event: %.200s", name, line)
			}
			lines = append(lines, parsed.Exported)
		}
	}
	list := make([]eventstore.StreamAppend, n)
	for i := range list {
		round, e := i/len(lines), lines[i%len(lines)]
		again := func(text []byte) []byte {
			if rest, is := strings.CutPrefix(string(text), "{"); is && e.Type == coordination.TypeA2AJobCreated { // golden logs are older than chains of causes
				text = []byte(`{"rootRunId":"run-root",` + rest)
			}
			if e.Type == coordination.TypeSessionMessage && i%2 == round%2 { // some answers come from another program
				text = ofRun.ReplaceAll(text, nil)
			}
			if round == 0 {
				return text
			}
			// Other conversations, runs, tasks and messages.
			return []byte(strings.NewReplacer(`"c1`, fmt.Sprintf(`"%d-c1`, round), `"ws_`, fmt.Sprintf(`"ws_%d_`, round),
				`"task_`, fmt.Sprintf(`"task_%d`, round), `"run-`, fmt.Sprintf(`"run-%d-`, round)).Replace(string(text)))
		}
		list[i] = eventstore.StreamAppend{Stream: e.Stream, Events: []eventstore.NewEvent{
			eventstore.NewEvent{Type: e.Type, Ver: e.Ver, AgentID: e.AgentID, Actor: e.Actor, CorrelationID: e.CorrelationID, CausationID: e.CausationID,
				Data: again(e.Data), Original: e.Original}.WithTS(e.TS + int64(round)*3_600_000),
		}}
	}
	return list
}

func foldAtPoints(t *testing.T, events, points int) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	dice := rand.New(rand.NewPCG(seed, 0))
	b := setup(t, definitions()...)
	stops := map[int64][]string{0: b.dump(t), int64(events): nil}
	for len(stops) < points+2 {
		stops[1+dice.Int64N(int64(events)-1)] = nil
	}
	story, at := story(t, events), int64(0)
	for at < int64(events) {
		n := 1 + dice.Int64N(20)
		for i := at + 1; i <= at+n && i <= int64(events); i++ {
			if _, stop := stops[i]; stop {
				n = i - at
			}
		}
		if _, err := b.Append(t.Context(), story[at:at+n]...); err != nil {
			t.Fatalf("append: %v", err)
		}
		if at += n; dice.IntN(100) == 0 {
			b.reopen(t)
		}
		if _, stop := stops[at]; stop {
			stops[at] = slices.Concat(b.dump(t), viewsOf(t, b))
		}
	}
	b.wantLive(t)
	for _, d := range b.defs {
		for _, table := range d.Tables {
			if table == "mark_facets" && events < 16*index.BlockSize {
				continue // counts are written by the span
			}
			if len(b.texts(t, "SELECT 1 FROM "+table+" LIMIT 1")) == 0 {
				t.Errorf("the story puts nothing into %s", table)
			}
		}
	}
	stops[0] = append(stops[0], viewsOf(t, setup(t, b.defs...))...)
	for seq, want := range stops {
		scratch, _ := b.foldTo(t, seq)
		got := slices.Concat(projectiontest.Dump(t, scratch, b.defs...), viewsOf(t, scratch))
		wantSame(t, fmt.Sprintf("tables and views folded up to %d", seq), got, want)
	}
}

func (b *bundle) wantLive(t testing.TB) {
	t.Helper()
	for name, s := range b.statuses(t) {
		if s.State != projections.Live {
			t.Fatalf("projection %s is %s at %d: %s", name, s.State, s.ParkedSeq, s.ParkedError)
		}
	}
}

// viewsOf writes down the rows of every view.
func viewsOf(t testing.TB, log projectiontest.Viewer) (lines []string) {
	t.Helper()
	for _, view := range schemaOf(t, log, "view") {
		name := strings.TrimPrefix(view, "view ")
		if name == "events" || name == "streams" { // tables of a log
			continue
		}
		lines = append(lines, projectiontest.Read(t, log, func(ctx context.Context, tx *sql.Tx) (rows []string, err error) {
			columns, err := textsOf(ctx, tx, "SELECT 'quote(' || name || ')' FROM pragma_table_xinfo('"+name+"')")
			if err != nil {
				return nil, err
			}
			return textsOf(ctx, tx, "SELECT '"+name+": ' || "+strings.Join(columns, " || ', ' || ")+" FROM "+name+" ORDER BY 1")
		})...)
	}
	return lines
}

// schemaOf lists the kinds and names of what is in a file, whether a connection or the file has it.
func schemaOf(t testing.TB, log projectiontest.Viewer, kinds ...string) []string {
	t.Helper()
	return projectiontest.Read(t, log, func(ctx context.Context, tx *sql.Tx) ([]string, error) {
		return textsOf(ctx, tx, `SELECT type || ' ' || name FROM (SELECT type, name FROM sqlite_schema UNION ALL SELECT type, name FROM sqlite_temp_schema)
 WHERE type IN ('`+strings.Join(kinds, "', '")+`') ORDER BY 1`)
	})
}

func textsOf(ctx context.Context, tx *sql.Tx, query string) (list []string, err error) {
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		list = append(list, text)
	}
	return list, rows.Err()
}

// foldTo makes a scratch of b up to an event.
func (b *bundle) foldTo(t testing.TB, until int64) (*sqlite.Scratch, *projections.Fold) {
	t.Helper()
	scratch := b.scratch(t, until)
	fold := projections.NewFold(scratch, b.defs, rules)
	if err := fold.Run(t.Context(), b, until, nil); err != nil {
		t.Fatalf("fold up to %d: %v", until, err)
	}
	if fold.Seq() != until {
		t.Fatalf("the fold stands at %d, want %d", fold.Seq(), until)
	}
	return scratch, fold
}

func (b *bundle) scratch(t testing.TB, until int64) *sqlite.Scratch {
	t.Helper()
	scratch, err := sqlite.CreateScratch(t.Context(), sqlite.ScratchOptions{Path: filepath.Join(t.TempDir(), "scratch.db"), Log: b.path, Until: until})
	if err != nil {
		t.Fatalf("make a scratch: %v", err)
	}
	t.Cleanup(func() {
		if err := scratch.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return scratch
}

func step(t testing.TB, target projections.Target, fold *projections.Fold, e *eventstore.Event) {
	t.Helper()
	if err := target.Update(t.Context(), func(tx eventstore.Tx) error { return fold.Step(tx, e) }); err != nil {
		t.Fatalf("step to %d: %v", e.Seq, err)
	}
	if fold.Seq() != e.Seq {
		t.Fatalf("after the step to %d the fold stands at %d", e.Seq, fold.Seq())
	}
}

// A step whose transaction is not committed has not been, once the fold has looked where the tables stand.
func TestFoldResumes(t *testing.T) {
	t.Parallel()
	const events, from = 300, 200
	b := setup(t, definitions()...)
	if _, err := b.Append(t.Context(), story(t, events)...); err != nil {
		t.Fatal(err)
	}
	want := b.dump(t)
	log, err := b.Read(t.Context(), 0, int(events))
	if err != nil {
		t.Fatal(err)
	}
	scratch, fold := b.foldTo(t, from)
	before := projectiontest.Dump(t, scratch, b.defs...)
	changed := errors.New("changed my mind")
	for fold.Seq() < events {
		e := &log[fold.Seq()]
		if err := scratch.Update(t.Context(), func(tx eventstore.Tx) error { return errors.Join(fold.Step(tx, e), changed) }); !errors.Is(err, changed) {
			t.Fatal(err)
		}
		if err := scratch.Update(t.Context(), fold.Resume); err != nil {
			t.Fatalf("resume: %v", err)
		}
		if fold.Seq() != e.Seq-1 {
			t.Fatalf("after a step to %d that was not, the fold stands at %d", e.Seq, fold.Seq())
		}
		if e.Seq == from+1 {
			wantSame(t, "tables after a step that was not", projectiontest.Dump(t, scratch, b.defs...), before)
		}
		if e.Seq%2 == 0 { // else the fold has written nothing since it resumed
			step(t, scratch, fold, e)
		} else if err := fold.Run(t.Context(), b, e.Seq, nil); err != nil {
			t.Fatal(err)
		}
	}
	wantSame(t, "tables at the end", projectiontest.Dump(t, scratch, b.defs...), want)

	fresh := b.scratch(t, events)
	again := projections.NewFold(fresh, b.defs, rules)
	if err := fresh.Update(t.Context(), again.Resume); err != nil || again.Seq() != 0 {
		t.Errorf("where nothing was folded the fold resumes at %d, %v, want 0", again.Seq(), err)
	}
	other := definitions()
	other[0].Version = "another"
	if err := scratch.Update(t.Context(), projections.NewFold(scratch, other, rules).Resume); err == nil {
		t.Error("tables of another version were taken for ours")
	}
	if err := scratch.Update(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec("UPDATE projections SET seq = 7 WHERE name = 'task'")
		return errors.Join(err, fold.Resume(tx))
	}); err == nil {
		t.Error("tables that stand at different events were resumed from")
	}
}

func TestFoldThatCannotGoOn(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	b.append(t, talks(100)...)
	log, err := b.Read(t.Context(), 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	fold := projections.NewFold(b.scratch(t, 100), b.defs, rules)
	if err := fold.Run(t.Context(), b, 101, nil); err == nil {
		t.Error("a fold went on after the end of the log")
	}
	scratch := b.scratch(t, 100)
	fold = projections.NewFold(scratch, b.defs, rules)
	if err := scratch.Update(t.Context(), func(tx eventstore.Tx) error { return fold.Step(tx, &log[1]) }); err == nil {
		t.Error("a fold took the second event first")
	}

	failing := counter{name: "failing", version: "1", kind: projections.ReadModel, apply: func(_ eventstore.Tx, e *projections.Event) error {
		if e.Seq == 50 {
			panic("boom")
		}
		return nil
	}}
	scratch = b.scratch(t, 100)
	if err := scratch.Update(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec("CREATE TABLE failing_counts" + countsTable)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	err = projections.NewFold(scratch, withCounters(failing), rules).Run(t.Context(), b, 100, nil)
	if failed := wantAs[*projections.ApplyError](t, err); failed.Seq != 50 || failed.Projection != "failing" {
		t.Errorf("failed with %+v, want that of failing at 50", failed)
	}

	fold = projections.NewFold(b.scratch(t, 100), b.defs, rules)
	fold.SetPace(10, 20)
	ctx, cancel := context.WithCancel(t.Context())
	if err := fold.Run(ctx, b, 100, func(done, _ int64) {
		if done >= 50 {
			cancel()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Errorf("a fold that was broken off: %v, want %v", err, context.Canceled)
	}
	if fold.Seq() == 100 {
		t.Error("a fold that was broken off came to its end")
	}
}

// Configurations are followed, and checkpoints keep the one that held at their event.
func TestFoldKeepsTheConfigurationOfItsEvent(t *testing.T) {
	t.Parallel()
	b := setup(t, definitions()...)
	for _, config := range configs[:2] {
		b.append(t, eventstore.NewEvent{Type: coordination.TypeConfigApplied, Data: []byte(config)}, talk(1))
	}
	contexts := func(seq int64) []string {
		scratch, _ := b.foldTo(t, seq)
		return projectiontest.Read(t, scratch, func(ctx context.Context, tx *sql.Tx) ([]string, error) {
			return textsOf(ctx, tx, "SELECT DISTINCT context FROM projections")
		})
	}
	for seq, want := range map[int64]string{0: "{}", 2: "에덴", 4: "세움"} {
		if got := contexts(seq); len(got) != 1 || !strings.Contains(got[0], want) {
			t.Errorf("at %d the context is %q, want one that says %s", seq, got, want)
		}
	}
}
