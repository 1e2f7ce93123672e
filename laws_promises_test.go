package openclawd_test

import (
	"go/ast"
	"go/token"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/promises.md names the test that proves each promise: `TestName`, or `TestName/Subtest`. Each must be there.
func TestPromisesNameTheirTests(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("docs/promises.md")
	if err != nil {
		t.Fatal(err)
	}
	functions, texts := map[string]bool{}, map[string]bool{}
	for _, p := range load(t).packages {
		for _, f := range slices.Concat(p.tests, p.production) { // a suite's subtests are named in production code
			ast.Inspect(f.ast, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.FuncDecl:
					functions[n.Name.Name] = true
				case *ast.BasicLit:
					if n.Kind == token.STRING {
						texts[strings.ReplaceAll(unquoted(n), " ", "_")] = true
					}
				}
				return true
			})
		}
	}
	named := regexp.MustCompile("`((?:Test|Fuzz|Example)\\w+)(?:/(\\w+))?`").FindAllStringSubmatch(string(text), -1)
	if len(named) == 0 {
		t.Fatal("docs/promises.md names no test")
	}
	for _, m := range named {
		if !functions[m[1]] {
			t.Errorf("docs/promises.md names %s, which does not exist", m[1])
		}
		if m[2] != "" && !texts[m[2]] {
			t.Errorf("docs/promises.md names %s/%s, a subtest that does not exist", m[1], m[2])
		}
	}
}
