// Package openclawd_test holds the architecture tests: rules for all packages, checked on the source itself.
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
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/pronto-lab/openclawd"

// repository is the source of all packages, parsed once.
type repository struct {
	root     string
	fset     *token.FileSet
	packages []*pkg
}

// pkg is a package as listed by go list, with its files. Paths are relative to the module.
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

// load returns the source of all packages. It is read once for all tests.
func load(t *testing.T) *repository {
	t.Helper()
	r, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var loaded = sync.OnceValues(func() (*repository, error) {
	list, err := runGo("list", "-json", "./...")
	if err != nil {
		return nil, err
	}
	r := &repository{fset: token.NewFileSet()}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		p := &pkg{}
		if err := d.Decode(p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		if p.ImportPath == module {
			r.root = p.Dir
		}
		p.path = strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		ignored, ignoredTests := p.ignored()
		if p.production, err = r.parse(p, p.GoFiles, ignored); err != nil {
			return nil, err
		}
		if p.tests, err = r.parse(p, p.TestGoFiles, p.XTestGoFiles, ignoredTests); err != nil {
			return nil, err
		}
		r.packages = append(r.packages, p)
	}
	if len(r.packages) < 5 {
		return nil, fmt.Errorf("go list found only %d packages", len(r.packages))
	}
	return r, r.walk()
})

// walk reads all directories, so that Go's test cache, which sees what this process reads but not what go list does, notices new files.
func (r *repository) walk() error {
	return filepath.WalkDir(r.root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && path != r.root && d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		return err
	})
}

// ignored returns the files of other platforms and tags, production code and tests apart.
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

func (r *repository) parse(p *pkg, lists ...[]string) (files []*file, err error) {
	for _, list := range lists {
		for _, name := range list {
			parsed, err := parser.ParseFile(r.fset, filepath.Join(p.Dir, name), nil, parser.ParseComments)
			if err != nil {
				return nil, err
			}
			files = append(files, &file{filepath.ToSlash(filepath.Join(p.path, name)), parsed})
		}
	}
	return files, nil
}

func goTool(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := runGo(args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func runGo(args ...string) ([]byte, error) {
	var stderr bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.Bytes())
	}
	return out, nil
}

// in reports whether a package is one of the parents, or below one.
func in(path string, parents ...string) bool {
	for _, parent := range parents {
		if path == parent || strings.HasPrefix(path, parent+"/") {
			return true
		}
	}
	return false
}

// at returns the position of a node, for messages.
func (r *repository) at(n ast.Node) string {
	pos := r.fset.Position(n.Pos())
	path, err := filepath.Rel(r.root, pos.Filename)
	if err != nil {
		path = pos.Filename
	}
	return fmt.Sprintf("%s:%d", path, pos.Line)
}

// uses calls visit for every use of a name of an imported package, e.g. ("time", "Now").
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

// exceptions are the files, by path, that may break a rule, each with its reason. An unused one is reported.
type exceptions map[string]string

// allow reports whether path is an exception, and records its use.
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
