package redact_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/archive"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/maintenance/archiving"
	"github.com/pronto-lab/openclawd/maintenance/redact"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/redactions"
	"github.com/pronto-lab/openclawd/replay/asof"
)

const (
	rules  = coordination.RulesV2
	secret = "하늘색코끼리-secret-42"
	lines  = 40 // of the log; every tenth contains the secret
)

// fixture is a log in a state directory, with a redactor.
type fixture struct {
	*sqlite.DB
	redactor *redact.Redactor
	dir      string
	engine   *projections.Engine
}

// open imports a coordination log that contains a secret. change may be nil.
func open(t *testing.T, change func(*redact.Options)) *fixture {
	t.Helper()
	d := &fixture{dir: t.TempDir()}
	var text strings.Builder
	for n := range lines {
		said := "harmless"
		if n%10 == 3 {
			said = "the word is " + secret
		}
		fmt.Fprintf(&text, `{"type":"a2a.send","agentId":"eden","ts":%d,"data":{"n":"n%d","message":%q,"fromAgent":"eden","toAgent":"ruda"}}`+"\n", 1771588800000+n, n, said)
	}
	logs := ndjson.LogDir(d.dir)
	if err := os.MkdirAll(logs, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(logs, "coordination-events.ndjson"), []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var err error
	if d.DB, err = database.OpenToWrite(t.Context(), filepath.Join(d.dir, database.Name), "a test", time.Now); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close() })
	if d.engine, err = projections.Start(t.Context(), d.DB, database.Projections(rules), projections.Options{Rules: rules}); err != nil {
		t.Fatal(err)
	}
	report, err := database.NewImporter(d.DB, nil, nil).Import(t.Context(), strings.NewReader(text.String()), "coordination-events.ndjson")
	if err != nil || report.New != lines {
		t.Fatalf("%+v, %v", report, err)
	}
	o := redact.Options{Log: d.DB, StateDir: d.dir, Archives: database.Archives(d.DB), Alone: true, Getenv: os.Getenv, NewID: uuid.NewString, Now: time.Now,
		Rebuild: func(ctx context.Context, tell func(done, total int64)) ([]string, error) {
			return d.engine.Names(), d.engine.Rebuild(ctx, projections.RebuildOptions{Progress: tell})
		},
		Lines: func(ctx context.Context, b ndjson.BlankOptions) (ndjson.BlankReport, error) {
			b.StateDir = d.dir
			return ndjson.Blank(ctx, b)
		},
	}
	if change != nil {
		change(&o)
	}
	d.redactor = redact.New(o)
	return d
}

// archive moves the events up to a seq into an archive.
func (d *fixture) archive(t *testing.T, until int64) {
	t.Helper()
	_, err := archiving.Run(t.Context(), d.DB, &archiving.Plan{First: 1, Last: until}, &archiving.Request{Now: time.Now}, nil)
	if err != nil {
		t.Fatal(err)
	}
}

// telling counts the events with the secret that readers get, by each way of reading.
func (d *fixture) telling(t *testing.T) (n int) {
	t.Helper()
	count := func(events []eventstore.Event, err error) {
		if err != nil {
			t.Fatal(err)
		}
		for i := range events {
			n += strings.Count(string(events[i].Data), secret)
		}
	}
	count(d.Read(t.Context(), 0, sqlite.MaxPage))
	for seq := int64(1); seq <= lines; seq++ {
		e, err := d.Event(t.Context(), seq)
		count([]eventstore.Event{e}, err)
	}
	seqs := make([]int64, lines)
	for i := range seqs {
		seqs[i] = int64(i) + 1
	}
	shown := func(s interface {
		View(context.Context, func(*sql.Tx) error) error
		EventsIn(context.Context, *sql.Tx, []int64) ([]eventstore.Event, error)
	}) {
		if err := s.View(t.Context(), func(tx *sql.Tx) error {
			count(s.EventsIn(t.Context(), tx, seqs))
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	shown(d)
	state, err := asof.Open(t.Context(), asof.Options{Log: d.DB, Dir: t.TempDir(), Rules: rules}, lines, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer state.Close()
	shown(state)
	var text strings.Builder
	if _, err := ndjson.Export(t.Context(), d, &text, ndjson.ExportOptions{Format: ndjson.FormatFull}); err != nil {
		t.Fatal(err)
	}
	return n + strings.Count(text.String(), secret)
}

// holders returns the files that contain the secret, with archives unpacked.
func (d *fixture) holders(t *testing.T) (names []string) {
	t.Helper()
	err := filepath.WalkDir(d.dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".zst") {
			var unpacked *zstd.Decoder
			if unpacked, err = zstd.NewReader(bytes.NewReader(content)); err == nil {
				content, err = io.ReadAll(unpacked)
				unpacked.Close()
			}
		}
		if bytes.Contains(content, []byte(secret)) {
			names = append(names, filepath.Base(path))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

var order = &redaction.Order{Text: secret, By: "민수", Reason: "told by mistake"}

// As soon as payloads are blank, no reader gets them from the archives that still have them: not as of earlier
// events, not in another process, not after a kill. In the end the archives have forgotten them, and the log
// verifies.
func TestWhatIsBeingRedactedIsToldFromNoArchive(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	d.archive(t, lines/2)
	if n := d.telling(t); n != 5*4 {
		t.Fatalf("the secret is read %d times before, want 4 by each of 5 ways", n)
	}
	id, plan, err := d.redactor.Redact(t.Context(), order)
	if err != nil || len(plan.Matches) != 4 {
		t.Fatalf("%+v, %v; want 4 events", plan, err)
	}
	if n := d.telling(t); n != 0 {
		t.Errorf("before the archives have forgotten it the secret is read %d times", n)
	}
	other, err := database.OpenToRead(t.Context(), d.DB.Path(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if n := (&fixture{DB: other}).telling(t); n != 0 {
		t.Errorf("another process reads it %d times", n)
	}
	if left := d.holders(t); len(left) == 0 {
		t.Error("no file holds the secret before the end: the test is void")
	}
	if err := d.redactor.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	x, err := d.redactor.Redaction(t.Context(), id)
	if err != nil || x.State != redactions.Forgotten || len(x.Archives) != 1 || len(x.Kept) != 0 {
		t.Errorf("%+v, %v; want one archive rewritten, and nothing kept", x, err)
	}
	if n := d.telling(t); n != 0 {
		t.Errorf("in the end the secret is read %d times", n)
	}
	if left := d.holders(t); len(left) > 0 {
		t.Errorf("left in %q", left)
	}
	if proof, err := d.Verify(t.Context(), false, nil); err != nil || proof.Redacted != 4 || proof.Archived == 0 {
		t.Errorf("%+v, %v; want 4 redacted, and the others archived", proof, err)
	}
	whole := filepath.Join(t.TempDir(), "whole.db")
	if _, err := archiving.WriteWhole(t.Context(), d, whole, rules, time.Now, func(int64, int64) {}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(whole); err != nil || bytes.Contains(text, []byte(secret)) {
		t.Errorf("a database made of log and archives holds the secret (%v)", err)
	}
}

// An archive that a kill has left without its manifest is reported, with a hint, as long as it exists.
func TestArchivesWithoutManifestAreTold(t *testing.T) {
	t.Parallel()
	d := open(t, nil)
	dir := database.Archives(d.DB)
	m, err := dir.Seal(t.Context(), d.DB, 1, lines/2, time.Now(), nil)
	if err == nil {
		err = os.Remove(filepath.Join(dir.Path(), "1-20.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
	plan, err := d.redactor.Find(t.Context(), order)
	if err != nil || len(plan.Kept) != 1 || plan.Kept[0].Place != filepath.Join(dir.Path(), m.File) {
		t.Fatalf("before: %+v, %v; want %s", plan, err, m.File)
	}
	id, _, err := d.redactor.Redact(t.Context(), order)
	if err == nil {
		err = d.redactor.Finish(t.Context(), nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	if x, err := d.redactor.Redaction(t.Context(), id); err != nil || len(x.Kept) != 1 || !strings.Contains(x.Kept[0].Hint, "manifest") {
		t.Errorf("%+v, %v; want that archive among what is kept", x, err)
	}
}

// If the rewritten files would not fit, nothing is blanked; space for SQLite's temporary files counts too.
func TestRedactionNeedsRoom(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		beside, temporary int64
		want              string
	}{
		"enough":             {1 << 40, 1 << 40, ""},
		"little beside":      {1 << 20, 1 << 40, redact.CodeNoRoom},
		"little for a while": {1 << 40, 1 << 20, redact.CodeNoRoom},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			temporary := t.TempDir()
			d := open(t, func(o *redact.Options) {
				o.Getenv = func(name string) string { return map[string]string{"SQLITE_TMPDIR": temporary}[name] }
				o.Free = func(path string) (int64, bool) {
					if path == temporary {
						return tc.temporary, true
					}
					return tc.beside, true
				}
			})
			head, err := d.Head(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, _, err = d.redactor.Redact(t.Context(), order)
			var refused *redaction.Refusal
			if tc.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			if !errors.As(err, &refused) || refused.Reason != tc.want || !refused.NoRoom {
				t.Fatalf("%v, want %s", err, tc.want)
			}
			if after, err := d.Head(t.Context()); err != nil || after.Seq != head.Seq || d.telling(t) == 0 {
				t.Errorf("the log went from %d to %d (%v), or was blanked", head.Seq, after.Seq, err)
			}
		})
	}
}

// If only the file's space could not be freed, for example because of a long read, the next attempt starts with that
// step.
func TestSpaceAloneIsTriedAgain(t *testing.T) {
	t.Parallel()
	rebuilds := 0
	d := open(t, func(o *redact.Options) {
		rebuild := o.Rebuild
		o.Rebuild = func(ctx context.Context, tell func(done, total int64)) ([]string, error) {
			rebuilds++
			return rebuild(ctx, tell)
		}
	})
	id, _, err := d.redactor.Redact(t.Context(), order)
	if err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	if err := d.redactor.Finish(ctx, func(p redaction.Progress) {
		if p.Step == "space" {
			interrupt()
		}
	}); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want it interrupted", err)
	}
	if x, err := d.redactor.Redaction(t.Context(), id); err != nil || x.State != redactions.Pending {
		t.Fatalf("%+v, %v; want it pending", x, err)
	}
	if err := d.redactor.Finish(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	x, err := d.redactor.Redaction(t.Context(), id)
	if err != nil || x.State != redactions.Forgotten || x.Lines != 4 || len(x.Projections) != len(d.engine.Names()) {
		t.Errorf("%+v, %v; want the first attempt's work in the record", x, err)
	}
	if left := d.holders(t); rebuilds != 1 || len(left) > 0 {
		t.Errorf("tables were rebuilt %d times, want once; left in %q", rebuilds, left)
	}
}

var _ redact.Archives = (*archive.Dir)(nil)
