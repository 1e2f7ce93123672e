package server

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/server/settings"
)

// patches reads all config.patched events.
func (r *reloading) patches(t *testing.T) []eventstore.Event {
	t.Helper()
	events, err := r.Program.log.ReadStream(t.Context(), coordination.ConfigPatchStream, 0, 10_000)
	if err != nil {
		t.Fatal(err)
	}
	return events
}

// patched merges raw into the file as it is.
func (c *configuration) patched(t *testing.T, raw string) *config.Document {
	t.Helper()
	d, err := c.Document()
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := d.Patch(raw)
	if err != nil {
		t.Fatal(err)
	}
	return next
}

func TestWrittenConfigurationIsInForceAtOnce(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{agents: {list: [{id: 'eden'}]}, taskMonitor: {port: 0}}`},
		func(o *Options) { o.API = "" })
	c := r.newConfiguration()
	next := c.patched(t, `{taskMonitor: {writeToken: 'hunter2hunter2', port: 4000}, agents: {list: [{id: 'seum'}]}}`)
	what := coordination.ConfigPatched{Method: "config.patch", HashBefore: next.BaseHash(), HashAfter: next.Hash(),
		Changed: []string{"taskMonitor.port"}}
	waiting, err := c.Write(t.Context(), next, what)
	if err != nil || !slices.Equal(waiting, []string{"taskMonitor.host, taskMonitor.port"}) {
		t.Fatalf("waiting %q, %v", waiting, err)
	}
	if got := c.InForce(); len(got.Agents) != 2 || got.TaskMonitor.WriteToken != "hunter2hunter2" {
		t.Errorf("in force: %+v", got.Agents)
	}
	if none, right := r.mayWrite(t, ""), r.mayWrite(t, "hunter2hunter2"); none != 401 || right != 200 {
		t.Errorf("without the token %d, with it %d", none, right)
	}

	// The watcher also sees the change, but nothing happens twice.
	r.rereads(t)
	patches, applied := r.patches(t), r.applied(t)
	if len(patches) != 1 || len(applied) != 2 || patches[0].Seq > applied[1].Seq || !strings.Contains(string(patches[0].Data), next.Hash()) {
		t.Errorf("%d changes, %d applied", len(patches), len(applied))
	}
	entries, err := os.ReadDir(r.opts.StateDir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), "."+settings.FileName) {
			t.Errorf("%s is left, %v", e.Name(), err)
		}
	}
}

func TestOneOfManyWritesWins(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{x: 0}`})
	c := r.newConfiguration()
	const writers = 6
	results := make([]error, writers)
	var all sync.WaitGroup
	nexts := make([]*config.Document, writers)
	for i := range nexts {
		nexts[i] = c.patched(t, `{x: `+string(rune('1'+i))+`}`)
	}
	for i, next := range nexts {
		all.Go(func() { _, results[i] = c.Write(t.Context(), next, coordination.ConfigPatched{HashAfter: next.Hash()}) })
	}
	all.Wait()
	won := 0
	for _, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, config.ErrChanged):
			t.Error(err)
		}
	}
	d, err := c.Document()
	if patches := r.patches(t); won != 1 || len(patches) != 1 || err != nil || !strings.Contains(string(patches[0].Data), d.Hash()) {
		t.Errorf("%d won, %d changes in the log, %v", won, len(patches), err)
	}
}

// While the log accepts nothing a client's change is in force and not lost, and no second one is accepted; later the log records it.
func TestChangeThatTheLogDoesNotTakeIsToldLater(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{agents: {list: [{id: 'eden'}]}}`})
	c := r.newConfiguration()
	r.fill(t)
	next := c.patched(t, `{agents: {list: [{id: 'seum'}]}}`)
	if _, err := c.Write(t.Context(), next, coordination.ConfigPatched{Method: "config.patch", HashAfter: next.Hash()}); err != nil {
		t.Fatal(err)
	}
	d, err := c.Document()
	if err != nil || d.Hash() != next.Hash() || len(c.InForce().Agents) != 2 || len(r.patches(t)) > 0 {
		t.Errorf("%d agents in force, %d changes in the log, %v", len(c.InForce().Agents), len(r.patches(t)), err)
	}
	another := c.patched(t, `{agents: {list: [{id: 'third'}]}}`)
	_, err = c.Write(t.Context(), another, coordination.ConfigPatched{HashAfter: another.Hash()})
	if full, ok := errors.AsType[*eventstore.DiskFullError](err); !ok || full.Hint() == "" {
		t.Errorf("a second change: %v", err)
	}

	r.limitPages(t, 1<<30)
	r.log.until(t, "configuration applied agents=2") // unused
	patches := r.patches(t)
	if len(patches) != 1 || !strings.Contains(string(patches[0].Data), next.Hash()) {
		t.Errorf("%d changes in the log", len(patches))
	}
	if _, err := c.Write(t.Context(), another, coordination.ConfigPatched{HashAfter: another.Hash()}); err != nil || len(r.patches(t)) != 2 {
		t.Errorf("%d changes in the log, %v", len(r.patches(t)), err)
	}
}

// A client whose change may be lost is told so; the change is in force and in the log nevertheless.
func TestChangeThatMayNotSurviveAPowerCutIsToldSo(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{agents: {list: [{id: 'eden'}]}}`})
	c := r.newConfiguration()
	broken := errors.New("input/output error")
	c.write = func(next *config.Document, note []byte) error { return errors.Join(next.Write(note), broken) }
	next := c.patched(t, `{agents: {list: [{id: 'seum'}]}}`)
	waiting, err := c.Write(t.Context(), next, coordination.ConfigPatched{Method: "config.patch", HashAfter: next.Hash()})
	if !errors.Is(err, broken) || waiting == nil {
		t.Errorf("waiting %v, %v", waiting, err)
	}
	if patches := r.patches(t); len(c.InForce().Agents) != 2 || len(patches) != 1 || !strings.Contains(string(patches[0].Data), next.Hash()) {
		t.Errorf("%d agents in force, %d changes in the log", len(c.InForce().Agents), len(patches))
	}
}

// fill leaves the log without room for another event.
func (r *reloading) fill(t *testing.T) {
	t.Helper()
	r.limitPages(t, 1)
	for n := 64 << 10; n > 0; {
		_, err := r.Program.log.Append(t.Context(), eventstore.StreamAppend{Stream: "system/filler", Events: []eventstore.NewEvent{
			{Type: "test.filler", Actor: eventstore.ActorSystem, Data: []byte(`{"x":"` + strings.Repeat("x", n) + `"}`)},
		}})
		if _, full := errors.AsType[*eventstore.DiskFullError](err); full {
			n /= 4
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func (r *reloading) limitPages(t *testing.T, pages int) {
	t.Helper()
	if err := r.Program.log.Exclusive(t.Context(), func(tx eventstore.Tx) error {
		_, err := tx.Exec(fmt.Sprintf("PRAGMA max_page_count = %d", pages))
		return err
	}, nil); err != nil {
		t.Fatal(err)
	}
}

// A document is read once as long as none of its files changes, and always if that cannot be determined.
func TestDocumentIsReadAgainWhenAFileMoves(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{$include: 'team.json5', x: 1}`, "team.json5": `{agents: {list: []}}`})
	c := r.newConfiguration()
	document := func() *config.Document {
		d, err := c.Document()
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	old := time.Now().Add(-time.Hour)
	writes := func(name, text string, at time.Time) {
		r.write(t, name, text)
		if err := os.Chtimes(filepath.Join(r.opts.StateDir, name), at, at); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{settings.FileName, "team.json5"} {
		if err := os.Chtimes(filepath.Join(r.opts.StateDir, name), old, old); err != nil {
			t.Fatal(err)
		}
	}
	document() // finds what is included
	d := document()
	if again := document(); again != d {
		t.Error("read again though nothing moved")
	}
	for _, tt := range []struct{ name, text, want string }{
		{settings.FileName, `{$include: 'team.json5', x: 2}`, `"x":2`}, // of the same size
		{"team.json5", `{agents: {main: 1}}`, `"main":1`},
		{settings.FileName, `{x: 3}`, `"x":3`},
	} {
		old = old.Add(time.Second)
		writes(tt.name, tt.text, old)
		if got := string(document().Resolved()); !strings.Contains(got, tt.want) {
			t.Errorf("%s is %s, shown is %s", tt.name, tt.text, got)
		}
	}

	for _, at := range []time.Time{time.Now(), time.Now().Add(time.Hour)} { // it may change once more within one tick of the clock
		writes(settings.FileName, `{x: 4}`, at)
		d := document()
		if document() == d {
			t.Errorf("a file of %s was not read again", at)
		}
	}
	if err := os.Remove(settings.File(r.opts.StateDir)); err != nil || document().Exists() {
		t.Errorf("a file that is gone is shown, %v", err)
	}
}

func TestWriteRefusesWhatTheProgramCannotUse(t *testing.T) {
	t.Parallel()
	r := startReloading(t, map[string]string{settings.FileName: `{taskMonitor: {writeToken: 'hunter2hunter2'}}`},
		func(o *Options) { o.API = "0.0.0.0:0" })
	c := r.newConfiguration()
	_, err := c.Write(t.Context(), c.patched(t, `{taskMonitor: {writeToken: null}}`), coordination.ConfigPatched{})
	var invalid *config.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Issues) != 1 || invalid.Issues[0].Path != "taskMonitor.writeToken" {
		t.Errorf("%v", err)
	}
	text, err := os.ReadFile(settings.File(r.opts.StateDir))
	if string(text) != `{taskMonitor: {writeToken: 'hunter2hunter2'}}` || len(r.patches(t)) > 0 {
		t.Errorf("%s, %v", text, err)
	}
}

// A process that is killed while it changes the file leaves a note: the next one records what this one did not.
func TestLogTellsOfAChangeThatWasCutOff(t *testing.T) {
	t.Parallel()
	for name, cut := range map[string]struct {
		after func(t *testing.T, path string)
		want  int
	}{
		"after the rename": {func(*testing.T, string) {}, 1},
		"after the rename, and the file was edited since": {func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(`{x: 3}`), 0o600); err != nil {
				t.Fatal(err)
			}
		}, 1},
		"before the rename": {func(t *testing.T, path string) {
			dir, file := filepath.Split(path)
			if err := errors.Join(os.Rename(path, filepath.Join(dir, "."+file+".new")), os.Rename(path+".bak", path)); err != nil {
				t.Fatal(err)
			}
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			path := settings.File(home)
			if err := os.WriteFile(path, []byte(`{x: 1}`), 0o600); err != nil {
				t.Fatal(err)
			}
			next, _, err := config.ReadDocument(path, os.Getenv).Patch(`{x: 2}`)
			if err != nil {
				t.Fatal(err)
			}
			note, err := newPatchNote(coordination.ConfigPatched{Method: "config.patch", HashAfter: next.Hash()}, 1_700_000_000_000)
			if err := errors.Join(err, next.Write(note)); err != nil {
				t.Fatal(err)
			}
			cut.after(t, path)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}

			r := startReloading(t, nil, func(o *Options) { o.StateDir = home })
			patches := r.patches(t)
			if len(patches) != cut.want || len(patches) > 0 && patches[0].TS != 1_700_000_000_000 {
				t.Errorf("%d changes in the log", len(patches))
			}
			if note, _, err := config.Unsettled(path); note != nil || err != nil {
				t.Errorf("%s is not settled, %v", note, err)
			}
			if now, err := os.ReadFile(path); string(now) != string(before) {
				t.Errorf("the file was %s and is %s, %v", before, now, err)
			}

			// After another kill between the record and the removal of the note, the same is recorded again without effect.
			if len(patches) > 0 {
				if err := os.WriteFile(filepath.Join(home, "."+settings.FileName+".note"), note, 0o600); err != nil {
					t.Fatal(err)
				}
				r.rereads(t)
				if again := r.patches(t); len(again) != 1 {
					t.Errorf("%d changes in the log", len(again))
				}
			}
		})
	}
}
