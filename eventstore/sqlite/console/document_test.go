package console_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

var update = flag.Bool("update", false, "write what docs/schema.md says of views and tables")

const document = "../../../docs/schema.md"

// docs/schema.md equals the comments of the schema.
func TestSchemaDocumentIsMadeOfTheComments(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "schema.db")
	db, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	asked, err := console.Open(t.Context(), path, console.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	objects, err := asked.Schema(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	want := documented(t, string(found), objects)
	if *update {
		if err := os.WriteFile(document, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, string(found)); diff != "" {
		t.Errorf("%s is not what the schema says (go test ./eventstore/sqlite/console -run SchemaDocument -update):\n%s", document, diff)
	}
}

// documented inserts the comments of views and tables into the document, and fails if one is missing.
func documented(t *testing.T, text string, objects []console.Table) string {
	t.Helper()
	var tables strings.Builder
	for _, o := range objects {
		if strings.HasPrefix(o.Name, "goose_") {
			continue
		}
		if o.Kind == "table" {
			fmt.Fprintf(&tables, "### %s\n\n%s%s\n", o.Name, paragraph(o.Doc), columns(o))
			continue
		}
		if o.Doc == "" {
			t.Errorf("view %s does not say what it is", o.Name)
		}
		// From the heading to the end of the table below it; queries and remarks that follow are written by hand.
		section := regexp.MustCompile(`(?s)(\n## ` + o.Name + `\n\n).*?\n(?:\|[^\n]*\n)+`)
		if !section.MatchString(text) {
			t.Errorf("%s has no section on view %s: add the heading and a line of a table", document, o.Name)
			continue
		}
		text = section.ReplaceAllStringFunc(text, func(string) string {
			return "\n## " + o.Name + "\n\n" + paragraph(o.Doc) + columns(o)
		})
	}
	head, _, found := strings.Cut(text, tablesHeading)
	if !found {
		t.Fatalf("%s has no heading %q", document, strings.TrimSpace(tablesHeading))
	}
	return head + tablesHeading + tablesIntro + strings.TrimRight(tables.String(), "\n") + "\n"
}

const (
	tablesHeading = "\n## The tables, column by column\n"
	tablesIntro   = "\nGenerated from the schema's comments, for readers of the code. Not stable.\n\n"
)

// markdown keeps what a comment says from ending a cell of a table; where it has code, that keeps the rest as it is.
var markdown = strings.NewReplacer("|", `\|`)

func paragraph(doc string) string {
	if doc == "" {
		return ""
	}
	return strings.ToUpper(doc[:1]) + doc[1:] + "\n\n"
}

// columns writes the columns of a view or table, those that follow one another and are said the same of in one row. The comments of a view begin
// with the type, for SQLite knows none.
func columns(o console.Table) string {
	type line struct{ names, typ, doc string }
	var lines []line
	for _, c := range o.Columns {
		typ, doc := strings.ToLower(c.Type), c.Doc
		if o.Kind == "view" {
			typ, doc, _ = strings.Cut(c.Doc, ":")
			doc = strings.TrimSpace(doc)
		}
		name := "`" + c.Name + "`"
		if last := len(lines) - 1; last >= 0 && lines[last].typ == typ && lines[last].doc == doc && (doc != "" || o.Kind == "table") {
			lines[last].names += ", " + name
			continue
		}
		lines = append(lines, line{name, typ, doc})
	}
	var b strings.Builder
	b.WriteString("| column | type | meaning |\n|---|---|---|\n")
	for _, l := range lines {
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.names, l.typ, markdown.Replace(l.doc))
	}
	return b.String()
}
