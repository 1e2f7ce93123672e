package openclawd_test

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination"
)

// eventsPage is docs/events.md, parsed.
type eventsPage struct {
	written  map[string]bool            // types of "What is written today"
	imported map[string]bool            // types that reach the log by import only
	rows     map[string]catalogueRow    // of the catalogue
	members  map[string]map[string]bool // by the data type that has a section; those of Context under that name
	formerly map[string]map[string]bool // likewise: members that only older logs have
}

type catalogueRow struct {
	role     string
	internal bool
	data     string
}

var (
	inBackticks  = regexp.MustCompile("`([^`\n]+)`")
	catalogueRe  = regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)`(\\\\\\*)? \\| ([a-z]+) \\| .*? \\| \\[([A-Za-z0-9]+)\\]\\(#[a-z0-9]+\\) \\|")
	memberRe     = regexp.MustCompile("`([a-z][A-Za-z0-9]*)`")
	memberList   = regexp.MustCompile("^(?:Of [^:\n]*: )?`[a-z][A-Za-z0-9]*`\\??(?: \\(|, `)")
	wrap         = regexp.MustCompile(`([^\n|])\n([^\n|#* ])`)
	importedOnly = "All other types reach the log by import only:"
)

func readEventsPage(t *testing.T) *eventsPage {
	t.Helper()
	text, err := os.ReadFile("docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	p := &eventsPage{written: map[string]bool{}, imported: map[string]bool{}, rows: map[string]catalogueRow{}, members: map[string]map[string]bool{},
		formerly: map[string]map[string]bool{}}
	for name, section := range sectionsOf(string(text)) {
		section = unwrapped(section)
		switch name {
		case "What is written today":
			table, rest, _ := strings.Cut(section, importedOnly)
			for line := range strings.Lines(table) {
				if cells := strings.Split(line, "|"); len(cells) > 2 && strings.Contains(cells[1], "`") {
					p.named(p.written, cells[1])
				}
			}
			list, _, _ := strings.Cut(rest, ".\n")
			p.named(p.imported, list)
		default:
			for _, m := range catalogueRe.FindAllStringSubmatch(section, -1) {
				p.rows[m[1]] = catalogueRow{role: m[3], internal: m[2] != "", data: m[4]}
			}
			p.members[name], p.formerly[name] = map[string]bool{}, map[string]bool{}
			for line := range strings.Lines(section) {
				into := p.members[name]
				older, is := strings.CutPrefix(line, "Older logs have ")
				switch {
				case is:
					into, line = p.formerly[name], older
				case name == "Context" && strings.HasPrefix(line, "|"):
					line = strings.Split(line, "|")[1]
				case !memberList.MatchString(line) || name == "Context":
					continue
				}
				for _, m := range memberRe.FindAllStringSubmatch(withoutParentheses(line), -1) {
					into[m[1]] = true
				}
			}
		}
	}
	return p
}

// named adds the types that a text names: `a2a.send`, `.response` continues the name before, and `delegation.*` is all of a family.
func (p *eventsPage) named(into map[string]bool, text string) {
	family := ""
	for _, m := range inBackticks.FindAllStringSubmatch(text, -1) {
		name := m[1]
		if strings.HasPrefix(name, ".") {
			name = family + name
		} else {
			family = name[:max(strings.LastIndexByte(name, '.'), 0)]
		}
		prefix, all := strings.CutSuffix(name, "*")
		if !all {
			into[name] = true
			continue
		}
		for _, info := range coordination.Catalogue() {
			if strings.HasPrefix(info.Type, prefix) {
				into[info.Type] = true
			}
		}
	}
}

// sectionsOf returns the sections of a page by their headings, each up to the next heading.
func sectionsOf(text string) map[string]string {
	list := map[string]string{}
	for _, part := range regexp.MustCompile(`(?m)^#{2,3} `).Split(text, -1)[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		list[heading] = body
	}
	return list
}

// unwrapped joins the lines of each paragraph.
func unwrapped(text string) string {
	return wrap.ReplaceAllString(text, "$1 $2")
}

func withoutParentheses(text string) string {
	var b strings.Builder
	depth := 0
	for _, r := range text {
		switch r {
		case '(':
			depth++
		case ')':
			depth = max(0, depth-1)
		case '\n':
			depth = 0
			b.WriteRune(r)
		default:
			if depth == 0 {
				b.WriteRune(r)
			}
		}
	}
	return b.String()
}

// dataTypes returns the members of the structs of package coordination, by the struct's name, embedded ones included except Context.
func dataTypes(r *repository) map[string]map[string]bool {
	structs := map[string]*ast.StructType{}
	for _, p := range r.packages {
		if p.path != "coordination" {
			continue
		}
		for _, f := range p.production {
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if spec, is := n.(*ast.TypeSpec); is {
					if s, is := spec.Type.(*ast.StructType); is {
						structs[spec.Name.Name] = s
					}
				}
				return true
			})
		}
	}
	members := map[string]map[string]bool{}
	var collect func(s *ast.StructType, into map[string]bool)
	collect = func(s *ast.StructType, into map[string]bool) {
		for _, field := range s.Fields.List {
			if name, is := field.Type.(*ast.Ident); is && len(field.Names) == 0 {
				if inner := structs[name.Name]; inner != nil && name.Name != "Context" {
					collect(inner, into)
				}
				continue
			}
			if field.Tag == nil {
				continue
			}
			name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
			if name != "" && name != "-" {
				into[name] = true
			}
		}
	}
	for name, s := range structs {
		members[name] = map[string]bool{}
		collect(s, members[name])
	}
	return members
}

// docs/events.md lists every type of the catalogue, every member of its data, and nothing else.
func TestEventsAreDocumented(t *testing.T) {
	t.Parallel()
	page, structs := readEventsPage(t), dataTypes(load(t))
	known := map[string]bool{}
	for _, info := range coordination.Catalogue() {
		known[info.Type] = true
		row, has := page.rows[info.Type]
		if !has {
			t.Errorf("docs/events.md does not have %s: add a row to the table of its subject under \"Catalogue\": | `%s` | role | stream | [Data](#data) | %s |",
				info.Type, info.Type, info.Doc)
			continue
		}
		if !strings.Contains(string(info.Role), row.role) || row.internal != info.Internal {
			t.Errorf("docs/events.md says that %s has the role %s, internal %v; it is %s, %v: correct its row under \"Catalogue\"", info.Type, row.role, row.internal,
				info.Role, info.Internal)
		}
		if structs[row.data] == nil || page.members[row.data] == nil {
			t.Errorf("docs/events.md says that the data of %s is %s: name a struct of package coordination that has a section \"### %s\"", info.Type, row.data, row.data)
		}
	}
	for typ := range page.rows {
		if !known[typ] {
			t.Errorf("docs/events.md has %s, which is not in the catalogue: remove the row", typ)
		}
	}
	sections := map[string]bool{"Context": true}
	for _, row := range page.rows {
		sections[row.data] = true
	}
	for _, name := range slices.Sorted(maps.Keys(sections)) {
		for _, member := range slices.Sorted(maps.Keys(structs[name])) {
			if !page.members[name][member] {
				t.Errorf("docs/events.md does not have the member %q of coordination.%s: add `%s`? (type; meaning) to its section \"### %s\"", member, name, member, name)
			}
		}
		for _, member := range slices.Sorted(maps.Keys(page.members[name])) {
			if !structs[name][member] && !structs["Context"][member] {
				t.Errorf("docs/events.md has the member %q in \"### %s\", which coordination.%s does not write: remove it, or put it into parentheses if it is no member", member, name, name)
			}
		}
	}
}

// All our events in the golden logs are documented.
func TestGoldenEventsAreDocumented(t *testing.T) {
	t.Parallel()
	page := readEventsPage(t)
	logs, err := filepath.Glob("testdata/golden/*.ndjson")
	if err != nil || len(logs) == 0 {
		t.Fatalf("golden logs: %v, %v", logs, err)
	}
	reported, older := map[string]bool{}, map[string]bool{}
	for _, log := range logs {
		if strings.Contains(log, "imported") { // logs of other programs may hold anything
			continue
		}
		text, err := os.ReadFile(log)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			var e struct {
				Type string
				Data map[string]json.RawMessage
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%s: %v", log, err)
			}
			row, has := page.rows[e.Type]
			for member := range e.Data {
				older[row.data+" "+member] = true
				if at := row.data + " " + member; has && !page.formerly[row.data][member] && !page.members[row.data][member] && !page.members["Context"][member] && !reported[at] {
					reported[at] = true
					t.Errorf("%s: %s has the member %q: add `%s`? (type; meaning) to \"### %s\" in docs/events.md; one that is not written any more goes "+
						"into its line \"Older logs have ...\"", log, e.Type, member, member, row.data)
				}
			}
			if !has && !reported[e.Type] {
				reported[e.Type] = true
				t.Errorf("%s holds %s, which is missing in docs/events.md: add it under \"Catalogue\"", log, e.Type)
			}
		}
	}
	for name, members := range page.formerly {
		for member := range members {
			if !older[name+" "+member] || page.members[name][member] {
				t.Errorf("docs/events.md says in \"### %s\" that older logs have %q: no golden log does, or it is a member today", name, member)
			}
		}
	}
}

// composed lists the families of types whose names are composed when they are written.
var composed = []string{"delegation."}

// docs/events.md says which types this program writes: those that production code names other than to recognise them. All others reach
// the log by import only.
func TestWrittenTypesAreDocumented(t *testing.T) {
	t.Parallel()
	page := readEventsPage(t)
	written := writtenTypes(load(t))
	for _, info := range coordination.Catalogue() {
		typ := info.Type
		writes := written[typ] != "" || slices.ContainsFunc(composed, func(family string) bool { return strings.HasPrefix(typ, family) })
		where := fmt.Sprintf("%s writes %s", written[typ], typ)
		switch {
		case page.written[typ] && page.imported[typ]:
			t.Errorf("docs/events.md lists %s both as written and as imported only: keep one", typ)
		case writes && !page.written[typ]:
			t.Errorf("%s: add it to the table under \"What is written today\" in docs/events.md, and take it out of the types that are imported only", where)
		case !writes && page.written[typ]:
			t.Errorf("docs/events.md says under \"What is written today\" that %s is written, but no production code does: move it to the types that are imported only", typ)
		case !writes && !page.imported[typ]:
			t.Errorf("docs/events.md does not say where %s comes from: name it among the types that are imported only, under \"What is written today\"", typ)
		}
	}
	for _, list := range []map[string]bool{page.written, page.imported} {
		for typ := range list {
			if _, known := coordination.Lookup(typ); !known {
				t.Errorf("docs/events.md names %s under \"What is written today\", which is not in the catalogue", typ)
			}
		}
	}
}

// writtenTypes returns the types that production code names other than in a comparison, a case or a list, with the file that does.
func writtenTypes(r *repository) map[string]string {
	names := map[string]string{} // of constants
	for _, p := range r.packages {
		if p.path == "coordination" {
			for _, f := range p.production {
				if strings.HasSuffix(f.path, "/catalogue.go") {
					maps.Copy(names, stringConstants(f.ast))
				}
			}
		}
	}
	written := map[string]string{}
	for _, p := range r.packages {
		if strings.HasSuffix(p.path, "test") || in(p.path, "bench") || p.path == "coordination" {
			continue
		}
		for _, f := range p.production {
			var within []ast.Node
			ast.Inspect(f.ast, func(n ast.Node) bool {
				if n == nil {
					within = within[:len(within)-1]
					return true
				}
				if s, is := n.(*ast.SelectorExpr); is && names[s.Sel.Name] != "" && isIdent(s.X, "coordination") && makes(within[len(within)-1], n) {
					if typ := names[s.Sel.Name]; written[typ] == "" {
						written[typ] = f.path
					}
				}
				within = append(within, n)
				return true
			})
		}
	}
	return written
}

func isIdent(n ast.Node, name string) bool {
	id, is := n.(*ast.Ident)
	return is && id.Name == name
}

// makes reports whether a node in parent may become the type of an event: it is neither compared, nor searched, nor queried.
func makes(parent, n ast.Node) bool {
	switch p := parent.(type) {
	case *ast.CaseClause, *ast.BinaryExpr, *ast.IndexExpr:
		return false
	case *ast.KeyValueExpr:
		return p.Key != n
	case *ast.CompositeLit:
		_, list := p.Type.(*ast.ArrayType)
		return !list
	case *ast.CallExpr:
		if s, is := p.Fun.(*ast.SelectorExpr); is {
			return !slices.Contains([]string{"Errorf", "QueryContext", "QueryRowContext", "CountInternal", "Query", "HasPrefix"}, s.Sel.Name)
		}
	}
	return true
}
