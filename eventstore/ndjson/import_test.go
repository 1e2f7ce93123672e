package ndjson_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

const sample = `{"type":"task.started","agentId":"eden","ts":1770984996357,"data":{"taskId":"task_1","priority":"high"}}
{"type":"a2a.send","agentId":"eden","ts":1770985037662,"data":{"toAgent":"miri","message":"고객 문의가 늘었습니다. <@42> 확인 부탁해요 🙏"}}` + "\r" + `

{"type":"a2a.send","agentId":"eden","ts":177
not json at all
null
{"type":"   ","ts":1}
{"type":" padded ","agentId":"miri","ts":"1771584720000","data":"text","extra":{"kept":true}}
{"type":"brand.new","data":{"n":1}}
{"type":"task.started","agentId":"eden","ts":1770984996357,"data":{"taskId":"task_1","priority":"high"}}
not json at all
`

func TestImport(t *testing.T) {
	t.Parallel()
	log := newLog()
	report := mustImport(t, ndjson.New(options(log)), sample, "live")
	want := ndjson.FileReport{
		Name: "live", Bytes: int64(len(sample)), Lines: 11, Blank: 1, Accepted: 5, New: 10,
		Rejected: map[ndjson.Reason]int64{ndjson.NotJSON: 3, ndjson.NotObject: 1, ndjson.NoType: 1},
		FirstTS:  1770984996357, LastTS: 1771584720000,
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("report (-want +got):\n%s", diff)
	}

	var got []string
	for _, e := range all(t, log) {
		got = append(got, fmt.Sprintf("%s %s %s %d %s %s", e.Stream, e.Actor, e.Type, e.TS, e.Data, e.Original))
	}
	wantLog := []string{
		`agent/eden import task.started 1770984996357 {"taskId":"task_1","priority":"high"} `,
		`agent/eden import a2a.send 1770985037662 {"toAgent":"miri","message":"고객 문의가 늘었습니다. <@42> 확인 부탁해요 🙏"} `,
		`log system import.rejected 1771588800000 {"file":"live","line":4,"reason":"not_json","text":"{\"type\":\"a2a.send\",\"agentId\":\"eden\",\"ts\":177"} `,
		`log system import.rejected 1771588800000 {"file":"live","line":5,"reason":"not_json","text":"not json at all"} `,
		`log system import.rejected 1771588800000 {"file":"live","line":6,"reason":"not_object","text":"null"} `,
		`log system import.rejected 1771588800000 {"file":"live","line":7,"reason":"no_type","text":"{\"type\":\"   \",\"ts\":1}"} `,
		`agent/miri import padded 1771584720000 {} {"type":" padded ","agentId":"miri","ts":"1771584720000","data":"text","extra":{"kept":true}}`,
		`log import brand.new 1771588800000 {"n":1} {"type":"brand.new"}`,
		`agent/eden import task.started 1770984996357 {"taskId":"task_1","priority":"high"} `,
		`log system import.rejected 1771588800000 {"file":"live","line":11,"reason":"not_json","text":"not json at all"} `,
	}
	if diff := cmp.Diff(wantLog, got); diff != "" {
		t.Errorf("log (-want +got):\n%s", diff)
	}
}

// The ids are part of every log that was ever imported: they must not change.
func TestImportIDs(t *testing.T) {
	t.Parallel()
	log := newLog()
	mustImport(t, ndjson.New(options(log)), sample, "live")
	var got []string
	for _, e := range all(t, log) {
		got = append(got, e.ID.String())
	}
	want := []string{
		"019c56ee-7e05-70a9-bfee-09d6bb167699",
		"019c56ef-1f5e-781d-9f7e-45fa9a4a09e1",
		"00000000-0000-7cef-90b0-0164666c7135",
		"00000000-0000-7607-b5e2-e71ce9aa7ae0",
		"00000000-0000-7d43-8232-143c3bab1e26",
		"00000000-0000-7fc3-b58c-4c3125649271",
		"019c7aad-8c80-7e37-89db-d7cee7c173dd",
		"00000000-0000-7474-b34e-4289b55ec7a2",
		"019c56ee-7e05-706f-876e-08f26d4dc121",
		"00000000-0000-7724-a260-bf403248ef5b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("ids (-want +got):\n%s", diff)
	}
}

func TestImportWithoutRejectOnlyCounts(t *testing.T) {
	t.Parallel()
	log := newLog()
	o := options(log)
	o.Reject = nil
	report := mustImport(t, ndjson.New(o), sample, "live")
	if report.New != 5 || report.RejectedLines() != 5 || len(all(t, log)) != 5 {
		t.Errorf("report %+v, %d events", report, len(all(t, log)))
	}
}

// However the same lines are cut into files and batches, the same events come of them, and a second import adds none.
//
// Promise: import-once
func TestImportIsRepeatable(t *testing.T) {
	t.Parallel()
	kinds := []string{
		`{"type":"x","agentId":"a","ts":5,"data":{"n":1}}`, `{"type":"x","agentId":"a","ts":5,"data":{"n":2}}`,
		`{"type":"y","agentId":"b","ts":6}`, `{"type":"no time"}`, `broken`, `{}`, ``, "  \r", "\xff",
		`{"type":"own","agentId":"a","ts":7,"data":{},"id":"0197c9a4-5b1e-7c3d-9f00-112233445566"}`,
		`{"type":"own","agentId":"a","ts":7,"data":{"other":1},"id":"0197c9a4-5b1e-7c3d-9f00-112233445566"}`,
	}
	rapid.Check(t, func(t *rapid.T) {
		logLines := rapid.SliceOfN(rapid.SampledFrom(kinds), 0, 40).Draw(t, "lines")
		importSplit := func(log *ndjson.Options, label string) {
			log.BatchEvents = rapid.IntRange(1, 10).Draw(t, label+" batch")
			im := ndjson.New(*log)
			for rest := logLines; len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(t, label+" file")
				text := strings.Join(rest[:n], "\n") + "\n"
				if _, err := im.Import(context.Background(), strings.NewReader(text), label); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
		}
		type fact struct {
			ID       eventstore.ID
			Type     string
			Original string
		}
		facts := func(o ndjson.Options) (found []fact) {
			events, err := o.Log.Read(context.Background(), 0, 1000)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				found = append(found, fact{e.ID, e.Type, string(e.Original)})
			}
			return found
		}
		once, twice := options(newLog()), options(newLog())
		importSplit(&once, "once")
		importSplit(&twice, "first")
		if diff := cmp.Diff(facts(once), facts(twice)); diff != "" {
			t.Fatalf("split differently (-one +other):\n%s", diff)
		}
		importSplit(&twice, "second")
		if diff := cmp.Diff(facts(once), facts(twice)); diff != "" {
			t.Fatalf("imported again (-once +twice):\n%s", diff)
		}
	})
}

func TestImportAgainCountsDuplicates(t *testing.T) {
	t.Parallel()
	log := newLog()
	first := mustImport(t, ndjson.New(options(log)), sample, "live")
	// The second file name makes the bodies of import.rejected differ; the line is still the same.
	second := mustImport(t, ndjson.New(options(log)), sample, "archive")
	if second.New != 0 || second.Duplicates != first.New || len(all(t, log)) != int(first.New) {
		t.Errorf("first %+v, second %+v", first, second)
	}
}

func TestImportTail(t *testing.T) {
	t.Parallel()
	const whole = `{"type":"x","agentId":"a","ts":5,"data":{}}`
	for name, tc := range map[string]struct {
		tail        string
		taken, left int64
	}{
		"whole":        {whole, 1, 0},
		"whole and CR": {whole + "\r", 1, 0},
		"half":         {whole[:20], 0, 20},
		"half a rune":  {"{\"type\":\"\xea\xb0", 0, 11},
		"a number":     {"12", 0, 2},
		"no event":     {`{"type":7}`, 0, 10},
		"space":        {"  ", 0, 0},
		"too long":     {strings.Repeat("x", ndjson.MaxLineBytes+1), 0, ndjson.MaxLineBytes + 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLog()
			text := "{}\n" + tc.tail
			report := mustImport(t, ndjson.New(options(log)), text, "live")
			if report.Accepted != tc.taken || report.Tail != tc.left || report.Bytes+report.Tail != int64(len(text)) || report.RejectedLines() != 1 {
				t.Errorf("report %+v", report)
			}
		})
	}
}

// A follower that continues where it stopped stores the same as one import of the whole log.
func TestImportGoesOn(t *testing.T) {
	t.Parallel()
	whole := newLog()
	mustImport(t, ndjson.New(options(whole)), sample, "live")

	log := newLog()
	im := ndjson.New(options(log))
	for offset, size := 0, 0; offset < len(sample); {
		size += 37
		report := mustImport(t, im, sample[offset:min(offset+size, len(sample))], "live")
		if report.Bytes > 0 {
			offset, size = offset+int(report.Bytes), 0
		}
	}
	if diff := cmp.Diff(typesAndIDs(all(t, whole)), typesAndIDs(all(t, log))); diff != "" {
		t.Errorf("log (-whole +followed):\n%s", diff)
	}
}

func typesAndIDs(events []eventstore.Event) (found []string) {
	for _, e := range events {
		found = append(found, e.Type+" "+e.ID.String())
	}
	return found
}

const ownID = "0197c9a4-5b1e-7c3d-9f00-112233445566"

func TestImportOwnIDs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		stored   eventstore.NewEvent
		redacted bool
		line     string
		known    bool
		original string // of the event that is new
	}{
		"mirrored line of our event": {
			stored: eventstore.NewEvent{Type: "x", AgentID: "a", TS: 5, Actor: eventstore.ActorHuman, CorrelationID: "c", Data: []byte(`{"n":1}`)},
			line:   `{"type":"x","agentId":"a","ts":5,"data":{"n":1},"id":"` + ownID + `"}`, known: true,
		},
		"formatted by another hand": {
			stored: eventstore.NewEvent{Type: "x", AgentID: "a", TS: 5, Data: []byte(`{"n":1,"m":"\u0061"}`)},
			line:   `{ "id": "` + ownID + `", "type": "x", "data": { "m": "a", "n": 1 } }`, known: true,
		},
		"redacted since": {
			stored: eventstore.NewEvent{Type: "x", AgentID: "a", TS: 5, Data: []byte(`{"secret":1}`)}, redacted: true,
			line: `{"type":"x","agentId":"a","ts":5,"data":{"secret":1},"id":"` + ownID + `"}`, known: true,
		},
		"of another event": {
			stored:   eventstore.NewEvent{Type: "x", Data: []byte(`{"n":1}`)},
			line:     `{"type":"x","agentId":"a","ts":5,"data":{"n":2},"id":"` + ownID + `"}`,
			original: `{"type":"x","agentId":"a","ts":5,"id":"` + ownID + `"}`,
		},
		"of an event of another type": {
			stored:   eventstore.NewEvent{Type: "x", Data: []byte(`{}`)},
			line:     `{"type":"y","data":{},"extra":[1],"id":"` + ownID + `"}`,
			original: `{"type":"y","extra":[1],"id":"` + ownID + `"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			log := newLog()
			tc.stored.ID = mustID(t, ownID)
			result, err := log.Append(t.Context(), eventstore.StreamAppend{Stream: "s", Events: []eventstore.NewEvent{tc.stored}})
			if err != nil {
				t.Fatal(err)
			}
			if tc.redacted {
				if err := log.Redact(t.Context(), result.Seq); err != nil {
					t.Fatal(err)
				}
			}
			text := `{"type":"before","agentId":"a","ts":4,"data":{}}` + "\n" + tc.line + "\n"
			report := mustImport(t, ndjson.New(options(log)), text, "mirror")
			wantNew := int64(2)
			if tc.known {
				wantNew = 1
			}
			if report.New != wantNew || report.Duplicates != 2-wantNew {
				t.Fatalf("report %+v", report)
			}
			events := all(t, log)
			if events[0].Redacted() != tc.redacted {
				t.Errorf("the stored event: %+v", events[0])
			}
			if last := events[len(events)-1]; !tc.known && (string(last.Original) != tc.original || last.ID == tc.stored.ID) {
				t.Errorf("id %s, original %s", last.ID, last.Original)
			}
			again := mustImport(t, ndjson.New(options(log)), text, "mirror")
			if again.New != 0 || again.Duplicates != 2 {
				t.Errorf("imported again: %+v", again)
			}
		})
	}
}

func mustID(t *testing.T, s string) eventstore.ID {
	t.Helper()
	id, err := eventstore.ParseID(s)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// A line whose event was redacted does not bring the payload back.
func TestImportAfterRedaction(t *testing.T) {
	t.Parallel()
	log := newLog()
	mustImport(t, ndjson.New(options(log)), sample, "live")
	if err := log.Redact(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	report := mustImport(t, ndjson.New(options(log)), sample, "live")
	if report.New != 0 || !all(t, log)[1].Redacted() {
		t.Errorf("report %+v", report)
	}
}

// An event that an older vocabulary imported is recognised, although it would be stored differently today.
func TestImportKnowsLinesByTheirDerivedID(t *testing.T) {
	t.Parallel()
	log := newLog()
	mustImport(t, ndjson.New(options(log)), sample, "live")
	older := newLog()
	var first []eventstore.StreamAppend
	for _, e := range all(t, log) {
		first = append(first, eventstore.StreamAppend{Stream: "older", Events: []eventstore.NewEvent{
			{ID: e.ID, Type: e.Type + ".v0", Data: []byte(`{"older":true}`)}}})
	}
	if _, err := older.Append(t.Context(), first...); err != nil {
		t.Fatal(err)
	}
	if report := mustImport(t, ndjson.New(options(older)), sample, "live"); report.New != 0 || report.Duplicates != 10 {
		t.Errorf("report %+v", report)
	}
}

func TestImportBatches(t *testing.T) {
	t.Parallel()
	line := func(agent string, size int) string {
		return `{"type":"x","agentId":"` + agent + `","ts":5,"data":{"m":"` + strings.Repeat("m", size) + `"}}` + "\n"
	}
	var got [][]string
	log := newLog()
	o := options(log)
	o.BatchEvents, o.BatchBytes = 3, 1000
	o.Log = faulty{log, func(appends []eventstore.StreamAppend) error {
		var parts []string
		for _, a := range appends {
			parts = append(parts, fmt.Sprintf("%s %d", a.Stream, len(a.Events)))
		}
		got = append(got, parts)
		return nil
	}}
	mustImport(t, ndjson.New(o), line("a", 1)+line("a", 2)+line("b", 1)+line("a", 3)+line("b", 2000)+line("a", 900)+line("a", 900), "live")
	want := [][]string{{"agent/a 2", "agent/b 1"}, {"agent/a 1"}, {"agent/b 1"}, {"agent/a 1"}, {"agent/a 1"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("appends (-want +got):\n%s", diff)
	}
}

func TestImportWaitsWhileTheQueueIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := newLog()
		o := options(log)
		refusals := 3
		o.Log = faulty{log, func([]eventstore.StreamAppend) error {
			if refusals == 0 {
				return nil
			}
			refusals--
			return &eventstore.BusyError{RetryAfter: 10 * time.Second}
		}}
		start := time.Now()
		if report := mustImport(t, ndjson.New(o), sample, "live"); report.New != 10 {
			t.Errorf("report %+v", report)
		}
		if waited := time.Since(start); waited != 30*time.Second {
			t.Errorf("waited %s", waited)
		}
	})
}

func TestImportCancelledWhileTheQueueIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := options(newLog())
		o.Log = faulty{newLog(), func([]eventstore.StreamAppend) error { return &eventstore.BusyError{RetryAfter: time.Hour} }}
		ctx, cancel := context.WithTimeout(t.Context(), testscale.Patience)
		defer cancel()
		report, err := ndjson.New(o).Import(ctx, strings.NewReader(sample), "live")
		if !errors.Is(err, context.DeadlineExceeded) || report.New != 0 || report.Bytes != 0 {
			t.Errorf("%+v, %v", report, err)
		}
	})
}

// After a failure the same importer goes on where the report ends, without counting any line twice.
func TestImportGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	text := strings.Repeat(sample, 5)
	log := newLog()
	o := options(log)
	o.BatchEvents = 4
	appends := 0
	o.Log = faulty{log, func([]eventstore.StreamAppend) error {
		if appends++; appends%3 == 0 {
			return broken
		}
		return nil
	}}
	im := ndjson.New(o)
	offset, failures := int64(0), 0
	for {
		report, err := im.Import(t.Context(), strings.NewReader(text[offset:]), "live")
		offset += report.Bytes
		if err == nil {
			break
		}
		if failures++; !errors.Is(err, broken) || failures > 20 {
			t.Fatal(err)
		}
	}
	whole := newLog()
	mustImport(t, ndjson.New(options(whole)), text, "live")
	if diff := cmp.Diff(typesAndIDs(all(t, whole)), typesAndIDs(all(t, log))); diff != "" || failures == 0 {
		t.Errorf("after %d failures (-whole +got):\n%s", failures, diff)
	}
}

func TestImportStopsBetweenBatches(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	log := newLog()
	o := options(log)
	o.BatchEvents = 2
	o.Progress = func(p ndjson.Progress) {
		if p.New == 6 {
			cancel()
		}
	}
	report, err := ndjson.New(o).Import(ctx, strings.NewReader(strings.Repeat(sample, 20)), "live")
	if !errors.Is(err, context.Canceled) || report.New != 6 || len(all(t, log)) != 6 {
		t.Errorf("%+v, %v, %d events", report, err, len(all(t, log)))
	}
}

func TestImportReadError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	log := newLog()
	report, err := ndjson.New(options(log)).Import(t.Context(), errAfter(sample+`{"type"`, broken), "live")
	if !errors.Is(err, broken) || report.New != 10 || report.Bytes != int64(len(sample)) {
		t.Errorf("%+v, %v", report, err)
	}
}

func TestImportFiles(t *testing.T) {
	t.Parallel()
	state := t.TempDir()
	if err := os.Mkdir(filepath.Join(state, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	line := func(n int) string { return fmt.Sprintf(`{"type":"x%d","agentId":"a","ts":%d,"data":{}}`, n, n) + "\n" }
	for name, text := range map[string]string{
		"coordination-events.ndjson":                          line(4) + `{"ty`,
		"coordination-events-2026-02.ndjson":                  line(3),
		"coordination-events-2026-01.ndjson":                  line(1),
		"coordination-events-2026-02-10T08-00-00-000Z.ndjson": line(2),
	} {
		if err := os.WriteFile(filepath.Join(state, "logs", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	paths, err := ndjson.Logs(state)
	if err != nil {
		t.Fatal(err)
	}
	log := newLog()
	o := options(log)
	var progress []string
	o.Progress = func(p ndjson.Progress) {
		progress = append(progress, fmt.Sprintf("%d/%d %d of %d", p.File, p.Files, p.Bytes, p.Size))
	}
	report, err := ndjson.New(o).ImportFiles(t.Context(), paths)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, e := range all(t, log) {
		types = append(types, e.Type)
	}
	if diff := cmp.Diff([]string{"x1", "x2", "x3", "x4"}, types); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
	want := ndjson.FileReport{Bytes: 4 * int64(len(line(1))), Lines: 4, Accepted: 4, New: 4, Tail: 4, FirstTS: 1, LastTS: 4}
	if diff := cmp.Diff(want, report.Total()); diff != "" {
		t.Errorf("total (-want +got):\n%s", diff)
	}
	if want := []string{"1/4 45 of 45", "2/4 45 of 45", "3/4 45 of 45", "4/4 45 of 49"}; !slices.Equal(progress, want) {
		t.Errorf("progress %v", progress)
	}

	missing := filepath.Join(state, "nowhere")
	report, err = ndjson.New(options(newLog())).ImportFiles(t.Context(), []string{paths[0], missing, paths[1]})
	if !errors.Is(err, os.ErrNotExist) || len(report.Files) != 2 || report.Files[1].Name != missing {
		t.Errorf("missing file: %+v, %v", report, err)
	}
}
