// Package openclawd_test holds the laws of the repository: what every package keeps to, checked on the source itself.
package openclawd_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

const module = "github.com/pronto-lab/openclawd"

// repository is the source of all packages, parsed once.
type repository struct {
	root     string
	fset     *token.FileSet
	packages []*pkg
}

// pkg is what go list says of a package, with its files. Paths are relative to the module.
type pkg struct {
	ImportPath, Dir                    string
	Name                               string
	Imports, Deps                      []string
	GoFiles, TestGoFiles, XTestGoFiles []string
	IgnoredGoFiles                     []string // of other platforms, and of other tags
	path                               string   // "" for the root
	production, tests                  []*file
}

type file struct {
	path string // from the root, e.g. eventstore/id.go
	ast  *ast.File
}

func load(t *testing.T) *repository {
	t.Helper()
	r := &repository{fset: token.NewFileSet()}
	for d := json.NewDecoder(bytes.NewReader(goTool(t, "list", "-json", "./..."))); ; {
		p := &pkg{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("go list: %v", err)
		}
		if p.ImportPath == module {
			r.root = p.Dir
		}
		p.path = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		ignored, ignoredTests := p.ignored()
		p.production = r.parse(t, p, p.GoFiles, ignored)
		p.tests = r.parse(t, p, p.TestGoFiles, p.XTestGoFiles, ignoredTests)
		r.packages = append(r.packages, p)
	}
	if len(r.packages) < 5 {
		t.Fatalf("go list found only %d packages", len(r.packages))
	}
	return r
}

// ignored are the files of other platforms and tags, and the tests among them.
func (p *pkg) ignored() (production, tests []string) {
	for _, name := range p.IgnoredGoFiles {
		if strings.HasSuffix(name, "_test.go") {
			tests = append(tests, name)
		} else {
			production = append(production, name)
		}
	}
	return production, tests
}

func (r *repository) parse(t *testing.T, p *pkg, lists ...[]string) (files []*file) {
	t.Helper()
	for _, list := range lists {
		for _, name := range list {
			parsed, err := parser.ParseFile(r.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, &file{filepath.ToSlash(filepath.Join(p.path, name)), parsed})
		}
	}
	return files
}

func goTool(t *testing.T, args ...string) []byte {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out
}

// in reports whether a package lies in one of the rooms; a room includes what lies below it.
func in(path string, rooms ...string) bool {
	for _, room := range rooms {
		if path == room || strings.HasPrefix(path, room+"/") {
			return true
		}
	}
	return false
}

// at says where a node is, for messages.
func (r *repository) at(n ast.Node) string {
	pos := r.fset.Position(n.Pos())
	path, err := filepath.Rel(r.root, pos.Filename)
	if err != nil {
		path = pos.Filename
	}
	return fmt.Sprintf("%s:%d", path, pos.Line)
}

// uses calls visit for every mention of a name of an imported package, e.g. ("time", "Now").
func (f *file) uses(visit func(path, name string, n ast.Node)) {
	imported := map[string]string{}
	for _, spec := range f.ast.Imports {
		path := strings.Trim(spec.Path.Value, `"`)
		name := path[strings.LastIndexByte(path, '/')+1:]
		if spec.Name != nil {
			name = spec.Name.Name
		}
		imported[name] = path
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && imported[x.Name] != "" {
				visit(imported[x.Name], s.Sel.Name, n)
			}
		}
		return true
	})
}

// exceptions are the files, by path, in which a law does not hold, each with its reason. One that is no longer needed is reported.
type exceptions map[string]string

// allow reports whether path is an exception, and notes that it was needed.
func (x exceptions) allow(used map[string]bool, path string) bool {
	if x[path] == "" {
		return false
	}
	used[path] = true
	return true
}

func (x exceptions) unused(t *testing.T, used map[string]bool) {
	t.Helper()
	for path := range x {
		if !used[path] {
			t.Errorf("%s is listed as an exception but needs none", path)
		}
	}
}
