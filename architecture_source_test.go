package openclawd_test

import (
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

func TestEveryPackageHasOneComment(t *testing.T) {
	t.Parallel()
	for _, p := range load(t).packages {
		files := p.production
		if len(files) == 0 {
			files = p.tests
		}
		var documented []string
		for _, f := range files {
			if f.ast.Doc == nil {
				continue
			}
			documented = append(documented, f.path)
			if want := "Package " + p.Name + " "; p.Name != "main" && len(p.production) > 0 && !strings.HasPrefix(f.ast.Doc.Text(), want) {
				t.Errorf("%s: the package comment must begin with %q", f.path, want)
			}
		}
		if len(documented) != 1 {
			t.Errorf("%s: want one package comment, have %d: %v", p.path, len(documented), documented)
		}
	}
}

// Names, comments and texts are in standard English, also those of tests. Stored names stay as they are.
func TestSourceIsPlain(t *testing.T) {
	t.Parallel()
	except := exceptions{
		"coordination/data_log.go":           "reads the name that a field had in stored events",
		"coordination/task/apply_care.go":    "a text in tables, which change only with a rebuild",
		"coordination/data_a2a.go":           "a stored outcome of deliveries",
		"coordination/delivery/delivery.go":  "a stored outcome of deliveries",
		"coordination/collaborate/events.go": "the stored name of a field",
		"coordination/collaborate/state.go":  "the stored name of a field",

		"architecture_documents_test.go":     "lists the words",
		"coordination/data_log_test.go":      "reads the name that a field had in stored events",
		"coordination/task/apply_test.go":    "a text in tables, which change only with a rebuild",
		"coordination/task/bug_test.go":      "a text in tables, which change only with a rebuild",
		"tools/tasktools/kept_test.go":       "a text in tables, which change only with a rebuild",
		"coordination/delivery/next_test.go": "a stored outcome of deliveries",
		"tools/collabtools/reuse_test.go":    "the stored name of a field",
	}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		for _, f := range slices.Concat(p.production, p.tests) {
			for i, word := range notPlain(t, f.path) {
				if !except.allow(used, f.path) {
					t.Errorf("%s:%d: %q: use standard English, see docs/glossary.md", f.path, i, word)
				}
			}
		}
		for _, f := range p.tests {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && privateWords.MatchString(capital.ReplaceAllString(fn.Name.Name, " $0")) {
					t.Errorf("%s: func %s: use standard English, see docs/glossary.md", r.at(fn), fn.Name.Name)
				}
			}
		}
	}
	except.unused(t, used)
}

// capital begins a word of a name.
var capital = regexp.MustCompile(`[A-Z]`)

// notPlain returns the words of a file that are not standard English, by line.
func notPlain(t *testing.T, path string) map[int]string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(path))
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for i, line := range strings.Split(string(text), "\n") {
		if m := privateWords.FindString(strings.ReplaceAll(line, "http.NoBody", "")); m != "" {
			found[i+1] = m
		}
	}
	return found
}

// What is not Go is in standard English too: the page, the contract of the API, and the scripts of commands.
func TestTextsArePlain(t *testing.T) {
	t.Parallel()
	files := []string{"Makefile", ".ci/run", "monitor/openapi.yaml", "agent/llm/scripted/default.json"}
	for _, folder := range []string{"packaging", "web/src", "web/tests", "web/scripts", "web/bench", "cmd/openclawd/testdata/script"} {
		if err := filepath.WalkDir(filepath.FromSlash(folder), func(name string, entry fs.DirEntry, err error) error {
			if err == nil && !entry.IsDir() {
				files = append(files, filepath.ToSlash(name))
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		for i, word := range notPlain(t, file) {
			t.Errorf("%s:%d: %q: use standard English, see docs/glossary.md", file, i, word)
		}
	}
}

// Replaying the log must always give the same tables: folds and decisions use no clock, randomness, file or network.
func TestFoldsAndDecisionsArePure(t *testing.T) {
	t.Parallel()
	barred := map[string]string{
		"time.Now": "", "time.Since": "", "time.Sleep": "", "time.After": "", "time.NewTimer": "", "time.Tick": "",
	}
	barredPackages := []string{"math/rand", "math/rand/v2", "crypto/rand", "os", "net", "net/http"}
	except := exceptions{
		"projections/engine.go": "the default of Options.Now, which dates parked projections; folds do not see it",
	}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		if !in(p.path, "projections", "coordination") {
			continue
		}
		for _, imported := range p.Imports {
			if slices.Contains(barredPackages, imported) {
				t.Errorf("%s must not import %s", p.path, imported)
			}
		}
		for _, f := range p.production {
			f.uses(func(path, name string, n ast.Node) {
				if _, bad := barred[path+"."+name]; bad && !except.allow(used, f.path) {
					t.Errorf("%s: %s.%s: time is passed in", r.at(n), path, name)
				}
			})
		}
	}
	except.unused(t, used)
}

// Closing a file handle on the live database outside SQLite drops its locks, and later commits become invisible. So packages that run
// in the server open files only if they are certainly not the database.
func TestLiveDatabaseIsOnlyOpenedBySQLite(t *testing.T) {
	t.Parallel()
	openers := []string{"os.Open", "os.OpenFile", "os.OpenInRoot", "os.OpenRoot", "os.Create", "os.ReadFile", "os.CopyFS", "os.DirFS",
		"net/http.ServeFile", "net/http.ServeFileFS", "net/http.FileServer", "net/http.Dir", "io/ioutil.ReadFile"}
	except := exceptions{
		"eventstore/sqlite/lock.go":        "reads the lock file of the process that holds the database",
		"eventstore/sqlite/open.go":        "creates the database before SQLite opens it",
		"eventstore/sqlite/inode.go":       "holds the database itself, locked, from before SQLite opens it until SQLite has closed it",
		"eventstore/sqlite/guard.go":       "reads the WAL, in which SQLite locks nothing",
		"eventstore/sqlite/device.go":      "reads a whole file that SQLite could not read, while no writer has it open",
		"workspace/deposit.go":             "opens a workspace, which holds no protected file, and below it only files of a fixed directory",
		"workspace/dir.go":                 "opens the state directory, not a file; below it only files of fixed names and kinds are read",
		"services/overrides/disk.go":       "reads and replaces the override file and its state file, after checking that neither is the database",
		"eventstore/sqlite/scratch.go":     "creates a new file, and syncs it when SQLite has closed it",
		"eventstore/sqlite/pages/layer.go": "creates and reads layers, under names of their own in a directory of their own",
		"eventstore/sqlite/left.go":        "reads and writes the note beside the file that marks it as open, under a name of its own",
		"eventstore/sqlite/backup.go":      "syncs a backup while VACUUM INTO makes it",
		"server/settings/token.go":         "reads the gateway's token file, after checking that it is smaller than any database",
		"server/settings/uikey.go":         "reads the session key, after checking that it is smaller than any database",

		"cmd/openclawd/worker.go":         "reads the token of workers from a file given by the user, in a process that has no database open",
		"cmd/openclawd/sql.go":            "reads a statement from a file given by the user, in a process that has no database open yet",
		"cmd/openclawd/shell/terminal.go": "reads and writes the input history, a file of a fixed name, in a process of its own",
		"cmd/openclawd/doctor/files.go":   "reads units of systemd, of fixed names outside of any state directory",

		"server/ui_store.go":              "reads what the page keeps, a file of a fixed name of its own that is only ever replaced",
		"server/statefiles.go":            "reads state files of OpenClaw, of fixed names, after checking that none is the database",
		"maintenance/verify/check.go":     "reads the check stored beside the database, under a name of its own",
		"maintenance/redact/traces.go":    "searches the state directory, except databases, companions of ours, and other names of it",
		"maintenance/upgrade/replace.go":  "reads a program, of which the version was asked",
		"maintenance/backup/directory.go": "reads and writes manifests",
		"maintenance/backup/restore.go":   "copies a backup, which was verified and has no WAL",
		"maintenance/backup/verify.go":    "reads a backup, which has no WAL, after SQLite has closed it",
	}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		if !in(p.path, "eventstore/sqlite", "monitor", "workspace", "cmd", "database", "internal/output", "internal/watch", "maintenance", "replay", "server", "services/overrides") {
			continue
		}
		for _, f := range p.production {
			f.uses(func(path, name string, n ast.Node) {
				if slices.Contains(openers, path+"."+name) && !except.allow(used, f.path) {
					t.Errorf("%s: %s.%s: could this be the live database? If not, list the file here with its reason", r.at(n), path, name)
				}
			})
		}
	}
	except.unused(t, used)
}

// A rename that no sync of the directory follows may be undone by a power cut. internal/durable cannot forget it.
func TestRenamesSurviveAPowerCut(t *testing.T) {
	t.Parallel()
	except := exceptions{
		"internal/durable/durable.go":      "syncs the directory",
		"config/first/write.go":            "replaces only where links do not work, and syncs the directory",
		"config/document_write.go":         "syncs the directory, step by step",
		"services/overrides/disk.go":       "compares the file right before the rename, and syncs the directory",
		"eventstore/ndjson/note.go":        "losing a note costs only work",
		"eventstore/ndjson/mirror_live.go": "syncs the directory",
		"eventstore/sqlite/backup.go":      "a copy counts only once its manifest is there",
	}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		if p.path == "discord/discordtest" || in(p.path, "bench") || p.path == "eventstore/storetest" {
			continue
		}
		for _, f := range p.production {
			f.uses(func(path, name string, n ast.Node) {
				if path == "os" && name == "Rename" && !except.allow(used, f.path) {
					t.Errorf("%s: os.Rename: use internal/durable", r.at(n))
				}
			})
		}
	}
	except.unused(t, used)
}

func TestOnePlaceOpensSQLite(t *testing.T) {
	t.Parallel()
	except := exceptions{}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		if in(p.path, "eventstore/sqlite") || in(p.path, "bench") { // bench compares with the bare driver
			continue
		}
		for _, f := range slices.Concat(p.production, p.tests) {
			f.uses(func(path, name string, n ast.Node) {
				if path == "database/sql" && (name == "Open" || name == "OpenDB") && !except.allow(used, f.path) {
					t.Errorf("%s: sql.%s: use eventstore/sqlite", r.at(n), name)
				}
			})
		}
	}
	except.unused(t, used)
}

// One goroutine writes. SQL that changes something is therefore only allowed in packages that run it in that goroutine, and
// in the one that has a database server of its own.
func TestOnlyStoreAndProjectionsWriteSQL(t *testing.T) {
	t.Parallel()
	writes := regexp.MustCompile(`(?i)^\s*(INSERT\s+(OR\s+\w+\s+)?INTO|REPLACE\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|VIEW|TRIGGER|UNIQUE)|DROP\s+(TABLE|INDEX|VIEW|TRIGGER)|ALTER\s+TABLE|VACUUM|ATTACH)\b`)
	r := load(t)
	for _, p := range r.packages {
		if in(p.path, "eventstore/sqlite", "eventstore/shared/postgres", "projections", "bench") {
			continue
		}
		for _, f := range p.production {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && writes.MatchString(unquoted(lit)) {
					t.Errorf("%s: move SQL that writes to eventstore/sqlite or projections", r.at(n))
				}
				return true
			})
		}
	}
}

// Sleeping tests are slow and flaky; skipped ones are forgotten.
func TestNoSleepOrSkipInTests(t *testing.T) {
	t.Parallel()
	r := load(t)
	for _, p := range r.packages {
		for _, f := range slices.Concat(p.tests, p.production) {
			f.uses(func(path, name string, n ast.Node) {
				if path == "time" && name == "Sleep" {
					t.Errorf("%s: time.Sleep: wait for the expected event instead", r.at(n))
				}
			})
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if s, ok := n.(*ast.SelectorExpr); ok && slices.Contains([]string{"Skip", "Skipf", "SkipNow"}, s.Sel.Name) {
					if x, ok := s.X.(*ast.Ident); ok && slices.Contains([]string{"t", "b", "f", "tb"}, x.Name) {
						t.Errorf("%s: %s: a test that does not run proves nothing", r.at(n), s.Sel.Name)
					}
				}
				return true
			})
		}
	}
}

// Code that runs at start-up without a call cannot be tested, ordered or left out.
func TestNoInitFunctions(t *testing.T) {
	t.Parallel()
	r := load(t)
	for _, p := range r.packages {
		for _, f := range slices.Concat(p.production, p.tests) {
			for _, d := range f.ast.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
					t.Errorf("%s: func init", r.at(fn))
				}
			}
		}
	}
}

func TestNoTODOComments(t *testing.T) {
	t.Parallel()
	marks := regexp.MustCompile(`\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b`) // in brackets, so that this line does not match
	r := load(t)
	for _, p := range r.packages {
		for _, f := range slices.Concat(p.production, p.tests) {
			for _, group := range f.ast.Comments {
				if m := marks.FindString(group.Text()); m != "" {
					t.Errorf("%s: %s", r.at(group), m)
				}
			}
		}
	}
}

// Data of older versions is upcast in one place, so stored events must be read through it.
func TestStoredEventsAreReadUpcast(t *testing.T) {
	t.Parallel()
	except := exceptions{
		"database/importer.go":  "reads a line that is not stored yet",
		"bench/import.go":       "reads a line that is not stored yet",
		"bench/corpus.go":       "reads a line that is not stored yet",
		"projections/upcast.go": "upcasts stored events",
	}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		if in(p.path, "coordination") {
			continue
		}
		for _, f := range p.production {
			f.uses(func(path, name string, n ast.Node) {
				if path == module+"/coordination" && name == "ReadRecord" && !except.allow(used, f.path) {
					t.Errorf("%s: coordination.ReadRecord: read stored events with projections.Record", r.at(n))
				}
			})
		}
	}
	except.unused(t, used)
}

// Every event type with a constant is in the catalogue, with a valid role.
func TestEveryEventTypeHasARole(t *testing.T) {
	t.Parallel()
	named := 0
	for _, p := range load(t).packages {
		if p.path != "coordination" {
			continue
		}
		for _, f := range p.production {
			for name, value := range stringConstants(f.ast) {
				if !strings.HasPrefix(name, "Type") || !strings.Contains(value, ".") {
					continue
				}
				named++
				if info, ok := coordination.Lookup(value); !ok || !info.Role.Valid() {
					t.Errorf("%s %q has no role in the catalogue", name, value)
				}
			}
		}
	}
	if catalogued := len(coordination.Catalogue()); named != catalogued {
		t.Errorf("%d types have a constant, %d are catalogued", named, catalogued)
	}
}

func stringConstants(f *ast.File) map[string]string {
	constants := map[string]string{}
	for _, d := range f.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.CONST {
			continue
		}
		for _, s := range decl.Specs {
			spec := s.(*ast.ValueSpec)
			for i, value := range spec.Values {
				if lit, ok := value.(*ast.BasicLit); ok && lit.Kind == token.STRING {
					constants[spec.Names[i].Name] = unquoted(lit)
				}
			}
		}
	}
	return constants
}

func unquoted(lit *ast.BasicLit) string {
	s, err := strconv.Unquote(lit.Value)
	if err != nil {
		return lit.Value
	}
	return s
}
