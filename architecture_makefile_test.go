package openclawd_test

import (
	"go/ast"
	"go/build/constraint"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The Makefile selects packages by an expression, for it must not wait for a compiler. What the expression stands for is in the syntax tree: no
// package may be missing under the race detector.
func TestSelectionOfTheMakefile(t *testing.T) {
	t.Parallel()
	makefile, err := os.ReadFile("Makefile")
	if err != nil {
		t.Fatal(err)
	}
	call := regexp.MustCompile(`(?m)^CONCURRENT = .*packages_with,'([^']+)'`).FindSubmatch(makefile)
	if call == nil {
		t.Fatal("the Makefile does not select CONCURRENT with packages_with")
	}
	selecting := regexp.MustCompile("(?m)" + string(call[1]))
	selected := 0
	for _, p := range load(t).packages {
		files := slices.Concat(p.production, p.tests)
		if len(p.tests) == 0 || p.path == "" {
			continue
		}
		has := slices.ContainsFunc(files, func(f *file) bool { return selecting.Match(f.text(t)) })
		if has {
			selected++
		}
		if slices.ContainsFunc(files, (*file).isConcurrent) && !has {
			t.Errorf("%s is concurrent, and the expression of CONCURRENT does not select it", p.path)
		}
	}
	if selected == 0 {
		t.Error("CONCURRENT selects nothing")
	}
}

// Amounts belong to tests: a package that is no test would change what the tests of its importers do.
func TestAmountsAreChosenInTests(t *testing.T) {
	t.Parallel()
	for _, p := range load(t).packages {
		for _, f := range p.production {
			if p.path != "internal/testscale" && f.isScaled() {
				t.Errorf("%s chooses amounts or has the build tag full: pass the amount from a test", f.path)
			}
		}
	}
}

func (f *file) text(t *testing.T) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(f.path))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// isConcurrent reports whether a file starts goroutines, or uses channels or locks.
func (f *file) isConcurrent() (found bool) {
	f.uses(func(path, name string, _ ast.Node) {
		found = found || path == "sync/atomic" || path == "sync" && !strings.HasPrefix(name, "Once")
	})
	ast.Inspect(f.ast, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt, *ast.SendStmt:
			found = true
		case *ast.UnaryExpr:
			found = found || n.Op == token.ARROW
		}
		return !found
	})
	return found
}

// isScaled reports whether a file depends on the build tag full.
func (f *file) isScaled() (found bool) {
	f.uses(func(path, name string, _ ast.Node) {
		found = found || path == module+"/internal/testscale" && name != "Patience"
	})
	for _, group := range f.ast.Comments {
		for _, c := range group.List {
			if x, err := constraint.Parse(c.Text); err == nil && c.Pos() < f.ast.Package {
				x.Eval(func(tag string) bool {
					found = found || tag == "full"
					return true
				})
			}
		}
	}
	return found
}
