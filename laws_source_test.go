package openclawd_test

import (
	"go/ast"
	"go/token"
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

// Replaying the log must give the same tables for ever: what makes them knows no clock, no chance and no outside.
func TestFoldsAndDecisionsArePure(t *testing.T) {
	t.Parallel()
	barred := map[string]string{
		"time.Now": "", "time.Since": "", "time.Sleep": "", "time.After": "", "time.NewTimer": "", "time.Tick": "",
	}
	barredPackages := []string{"math/rand", "math/rand/v2", "crypto/rand", "os", "net", "net/http"}
	except := exceptions{
		"projections/engine.go": "the default of Options.Now, which stamps what is parked; no fold sees it",
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

// Closing a handle on the live database that SQLite does not know drops its locks, and later commits become invisible. So packages
// that run in the server open files only where it is certain that the file is another one.
func TestNobodyOpensTheLiveDatabaseRaw(t *testing.T) {
	t.Parallel()
	openers := []string{"os.Open", "os.OpenFile", "os.OpenInRoot", "os.OpenRoot", "os.Create", "os.ReadFile", "os.CopyFS", "os.DirFS",
		"net/http.ServeFile", "net/http.ServeFileFS", "net/http.FileServer", "net/http.Dir", "io/ioutil.ReadFile"}
	except := exceptions{
		"eventstore/sqlite/open.go":       "reads the lock file of whoever has the database",
		"eventstore/sqlite/inode.go":      "holds the database itself, locked, from before SQLite opens it until SQLite has closed it",
		"eventstore/sqlite/custody.go":    "reads the WAL, in which SQLite locks nothing",
		"eventstore/sqlite/device.go":     "reads a file through that SQLite could not read, where no writer has it open",
		"workspace/dir.go":                "opens the state directory, not a file; below it only files of fixed names and kinds are read",
		"cmd/openclawd/overrides/disk.go": "reads and replaces the file of category overrides and what is remembered of it, having seen that neither is the database",
		"eventstore/sqlite/scratch.go":    "makes a file that was not there, and syncs it when SQLite has closed it",
		"eventstore/sqlite/left.go":       "reads and writes the note beside the file that it is open, by a name of its own",
		"eventstore/sqlite/backup.go":     "syncs a backup while VACUUM INTO makes it",
		"cmd/openclawd/settings/token.go": "reads the file of the gateway's token, having seen that it is smaller than any database",

		"cmd/openclawd/tools_call.go":     "reads the arguments of a tool from a file that somebody names, in a process of its own that has no database open",
		"cmd/openclawd/sql.go":            "reads a statement from a file that somebody names, in a process of its own that has no database open yet",
		"cmd/openclawd/shell/terminal.go": "reads and keeps what was typed, in a process of its own, in a file of a fixed name",

		"cmd/openclawd/server/statefiles.go": "reads state files of the original, of fixed names, having seen that none is the database",
		"cmd/openclawd/proof/check.go":       "reads what was noted beside the database, under a name of its own",
		"cmd/openclawd/redaction/traces.go":  "looks through the state directory, but not at databases, nor at what lies beside ours, nor at another name of it",
		"cmd/openclawd/backup/directory.go":  "reads and writes manifests",
		"cmd/openclawd/backup/restore.go":    "copies a backup, which has been proved and has no WAL",
		"cmd/openclawd/backup/verify.go":     "reads a backup, which has no WAL, after SQLite has closed it",
	}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		if !in(p.path, "eventstore/sqlite", "monitor", "workspace", "cmd") || in(p.path, "cmd/openclawd/bench") {
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

func TestOnePlaceOpensSQLite(t *testing.T) {
	t.Parallel()
	except := exceptions{}
	used := map[string]bool{}
	r := load(t)
	for _, p := range r.packages {
		if in(p.path, "eventstore/sqlite") || in(p.path, "cmd/openclawd/bench") { // bench measures the bare driver against us
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

// One goroutine writes. SQL that changes something therefore stands only where it is run by that goroutine.
func TestOnlyStoreAndProjectionsWriteSQL(t *testing.T) {
	t.Parallel()
	writes := regexp.MustCompile(`(?i)^\s*(INSERT\s+(OR\s+\w+\s+)?INTO|REPLACE\s+INTO|UPDATE\s+\S+\s+SET|DELETE\s+FROM|CREATE\s+(TABLE|INDEX|VIEW|TRIGGER|UNIQUE)|DROP\s+(TABLE|INDEX|VIEW|TRIGGER)|ALTER\s+TABLE|VACUUM|ATTACH)\b`)
	r := load(t)
	for _, p := range r.packages {
		if in(p.path, "eventstore/sqlite", "projections", "cmd/openclawd/bench") {
			continue
		}
		for _, f := range p.production {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING && writes.MatchString(unquoted(lit)) {
					t.Errorf("%s: SQL that writes belongs to eventstore/sqlite or projections", r.at(n))
				}
				return true
			})
		}
	}
}

// Sleeping tests are slow and still wrong one day; skipped ones are forgotten.
func TestTestsNeitherSleepNorSkip(t *testing.T) {
	t.Parallel()
	r := load(t)
	for _, p := range r.packages {
		for _, f := range slices.Concat(p.tests, p.production) {
			f.uses(func(path, name string, n ast.Node) {
				if path == "time" && name == "Sleep" {
					t.Errorf("%s: time.Sleep: wait for what is to happen", r.at(n))
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

// What runs at start-up without being called cannot be tested, ordered or left out.
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

func TestNothingIsLeftToDo(t *testing.T) {
	t.Parallel()
	marks := regexp.MustCompile(`\b(T[O]DO|F[I]XME|X[X]X|H[A]CK)\b`) // in brackets, so that this line is none
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

// Data of an older version is brought into today's shape where stored events are read, so nobody reads them past that place.
func TestStoredEventsAreReadInTodaysShape(t *testing.T) {
	t.Parallel()
	except := exceptions{
		"cmd/openclawd/database/importer.go": "reads a line that is not stored yet",
		"cmd/openclawd/bench/biglog.go":      "reads a line that is not stored yet",
		"cmd/openclawd/bench/corpus.go":      "reads a line that is not stored yet",
		"projections/upcast.go":              "is the place",
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

// Every event type that has a name in the code is in the catalogue, with the role that its readers go by.
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
