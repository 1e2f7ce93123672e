package redact

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/redaction"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Limits of the search through the files of a state directory.
const (
	maxLooked = 16 << 20 // bytes of a file; longer ones are not searched
	maxFiles  = 20_000
	maxKept   = 200 // places that are reported
)

// remaining lists what may still hold the texts and is not ours to change: backups and older copies of the
// database, and files of the state directory that hold them; while steps are pending, without the files that those
// will rewrite. Without texts, after a restart, it lists files that may hold any.
func (r *Redactor) remaining(ctx context.Context, texts *needles, done bool) ([]coordination.RedactionTrace, error) {
	list := []coordination.RedactionTrace{}
	if r.o.Copies != nil {
		copies, err := r.o.Copies()
		if err != nil {
			return nil, fmt.Errorf("list copies of the database: %w", err)
		}
		for _, path := range copies {
			list = append(list, coordination.RedactionTrace{Place: path, Hint: "make a new backup (openclawd backup create), then remove this one and its manifest"})
		}
	}
	if left, ok := r.o.Log.SharedLeft(); ok && left.Place != "" {
		list = append(list, coordination.RedactionTrace{Place: left.Place, Hint: left.Hint})
	}
	strays, err := r.orphanArchives()
	if list = append(list, strays...); err != nil || r.o.StateDir == "" {
		return list, err
	}
	looked := 0
	err = filepath.WalkDir(r.o.StateDir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil || len(list) >= maxKept || looked >= maxFiles:
			return nil
		case entry.IsDir() && r.skipsDir(path):
			return fs.SkipDir
		case !entry.Type().IsRegular() || r.isOurs(path) || !done && r.forgets(path):
			return nil
		}
		looked++
		aside := strings.Contains(filepath.Base(path), ".md.conflict")
		switch {
		case texts == nil && aside:
			list = append(list, coordination.RedactionTrace{Place: path, Hint: "check whether it holds the text: an edited file was kept there; remove it if so"})
		case texts != nil && holdsFile(path, texts):
			hint := "it is not written by openclawd: edit or remove it"
			if aside {
				hint = "an edited file was kept there: remove it"
			}
			list = append(list, coordination.RedactionTrace{Place: path, Hint: hint})
		}
		return nil
	})
	return list, err
}

// orphanArchives lists archives that a kill has left without a manifest: they are never read, and may hold anything.
func (r *Redactor) orphanArchives() (list []coordination.RedactionTrace, err error) {
	if r.o.Archives == nil {
		return nil, nil
	}
	paths, err := r.o.Archives.Strays()
	for _, path := range paths {
		list = append(list, coordination.RedactionTrace{Place: path,
			Hint: "it has no manifest, so nothing was archived by it: remove it after openclawd verify reports no missing archive"})
	}
	return list, err
}

func holdsFile(path string, texts *needles) bool {
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxLooked {
		return false
	}
	text, err := os.ReadFile(path)
	return err == nil && texts.inRaw(text)
}

// skipsDir skips backups, which are reported anyway.
func (r *Redactor) skipsDir(path string) bool { return path == database.BackupsDir(r.o.Log.Path()) }

// isOurs reports whether a file is a database, or a companion of ours: they are not opened here, as closing them
// could drop locks, and ours are cleaned by the steps.
func (r *Redactor) isOurs(path string) bool {
	db := r.o.Log.Path()
	if same(filepath.Dir(path), filepath.Dir(db)) && strings.HasPrefix(filepath.Base(path), filepath.Base(db)) {
		return true
	}
	if same(path, db) {
		return true
	}
	for _, end := range [...]string{".db", "-wal", "-shm", "-journal"} {
		if strings.HasSuffix(path, end) {
			return true
		}
	}
	return false
}

// forgets reports whether a step overwrites or rewrites a file.
func (r *Redactor) forgets(path string) bool {
	if filepath.Dir(path) == ndjson.LogDir(r.o.StateDir) && strings.HasPrefix(filepath.Base(path), "coordination-events") {
		return true
	}
	in, name := filepath.Base(filepath.Dir(path)), filepath.Base(path)
	return r.o.Files != nil && strings.HasSuffix(name, ".md") && (name == "CURRENT_TASK.md" || in == "tasks" || in == "task-history")
}

func same(a, b string) bool {
	if a == b {
		return true
	}
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	other, err := os.Stat(b)
	return err == nil && os.SameFile(one, other)
}

func keysOf(refused map[int64]redaction.Refused) iter.Seq[int64] { return maps.Keys(refused) }

// checkSpace refuses to start if the rewritten files would not fit on the volume.
func (r *Redactor) checkSpace() error {
	if r.o.Free == nil {
		return nil
	}
	need, dir := r.o.Log.CompactRoom(), filepath.Dir(r.o.Log.Path())
	places := map[string]int64{dir: 2 * need} // tables are rebuilt beside the old ones, then the whole file is
	if temporary := sqlite.TemporaryDir(r.o.Getenv); !same(temporary, dir) {
		places[temporary] = need
	}
	for place, need := range places {
		if free, known := r.o.Free(place); known && free < need {
			return &redaction.Refusal{Reason: CodeNoRoom, NoRoom: true,
				Text:     fmt.Sprintf("Redacting rewrites the database: that takes %d MiB in %s, and %d are free", need>>20, place, free>>20),
				HintText: "free space there, or set TMPDIR to a directory with room; nothing was blanked"}
		}
	}
	return nil
}
