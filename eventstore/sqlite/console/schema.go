package console

import (
	"context"
	"database/sql/driver"
	"strings"
)

// Table describes a table or a view for its readers.
type Table struct {
	Name    string
	Kind    string // table, view
	Doc     string // "" if none
	Columns []ColumnDoc
}

// ColumnDoc is a column of a table or a view.
type ColumnDoc struct {
	Name string
	Type string // as declared; "" for an expression of a view
	Doc  string // "" if none
}

// Schema lists the tables and views of the file by name, with their comments. It returns the errors of Query.
func (c *Console) Schema(ctx context.Context) ([]Table, error) {
	t, err := c.acquire()
	if err != nil {
		return nil, err
	}
	defer func() { c.turns <- t }()
	ctx, stop := context.WithTimeoutCause(ctx, c.limits.Time, errLate)
	defer stop()
	t.ctx = ctx
	conn, err := t.driver.Open(nameOf(c.path))
	s := &session{ctx: ctx, path: c.path, limits: c.limits, conn: conn}
	if err != nil {
		return nil, s.translate(err)
	}
	var tables []Table
	docs := map[string]string{}
	err = s.each(`SELECT m.name, m.type, m.sql, p.name, p.type FROM sqlite_schema m JOIN pragma_table_info(m.name) p
		WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite\_%' ESCAPE '\' ORDER BY m.name, p.cid`, func(row []driver.Value) {
		name := textOf(row[0])
		if len(tables) == 0 || tables[len(tables)-1].Name != name {
			doc, columns := Describe(textOf(row[2]))
			tables = append(tables, Table{Name: name, Kind: textOf(row[1]), Doc: doc})
			clear(docs)
			for _, column := range columns {
				docs[column.Name] = column.Doc
			}
		}
		t, column := &tables[len(tables)-1], textOf(row[3])
		t.Columns = append(t.Columns, ColumnDoc{Name: column, Type: textOf(row[4]), Doc: docs[column]})
	})
	if err != nil {
		err = s.translate(err)
	}
	if closing := conn.Close(); err == nil {
		err = closing
	}
	return tables, err
}

// Describe extracts the comments of a CREATE TABLE or CREATE VIEW. For the whole: those before its columns, and after
// the opening parenthesis. For a column: those after it, until the next column begins. A view without a list of
// columns has no column comments.
func Describe(ddl string) (doc string, columns []ColumnDoc) {
	d := describing{}
	for i := 0; i < len(ddl) && !d.over; {
		n, of := token(ddl[i:])
		switch text := ddl[i : i+n]; {
		case of == blank && isComment(text):
			d.comment(text)
		case of != blank:
			d.code(text)
		}
		i += n
	}
	d.end()
	return d.whole, d.columns
}

// describing is the state of Describe.
type describing struct {
	whole   string
	columns []ColumnDoc

	depth  int
	over   bool
	column []string // tokens of the current column
	behind string   // it already has a description
}

func (d *describing) comment(text string) {
	said := commentWords(text)
	switch {
	case len(d.column) > 0: // no comma has followed yet
		d.behind = join(d.behind, said)
	case len(d.columns) > 0:
		last := &d.columns[len(d.columns)-1]
		last.Doc = join(last.Doc, said)
	default:
		d.whole = join(d.whole, said)
	}
}

func (d *describing) code(text string) {
	switch {
	case text == "(" && d.depth == 0:
		d.depth = 1
		return
	case text == "(":
		d.depth++
	case text == ")" && d.depth == 1:
		d.over = true
		return
	case text == ")":
		d.depth--
	case text == "," && d.depth == 1:
		d.end()
		return
	case d.depth == 0 && strings.EqualFold(text, "AS"):
		d.over = true // a view without a list of columns
		return
	}
	if d.depth > 0 {
		d.column = append(d.column, text)
	}
}

// end adds the column that was read, unless it is a table constraint.
func (d *describing) end() {
	if len(d.column) > 0 && !constraints[strings.ToUpper(d.column[0])] {
		c := ColumnDoc{Name: strings.Trim(d.column[0], "\"`[]"), Doc: d.behind}
		if len(d.column) > 1 && !definitions[strings.ToUpper(d.column[1])] {
			c.Type = d.column[1]
		}
		d.columns = append(d.columns, c)
	}
	d.column, d.behind = nil, ""
}

// constraints are the first words of table constraints; definitions follow the name of a column without a type.
var (
	constraints = map[string]bool{"PRIMARY": true, "UNIQUE": true, "CHECK": true, "FOREIGN": true, "CONSTRAINT": true}
	definitions = map[string]bool{"PRIMARY": true, "UNIQUE": true, "CHECK": true, "NOT": true, "NULL": true, "DEFAULT": true, "COLLATE": true,
		"REFERENCES": true, "GENERATED": true, "AS": true, "CONSTRAINT": true}
)

func isComment(text string) bool {
	return strings.HasPrefix(text, "--") || strings.HasPrefix(text, "/*")
}

func commentWords(text string) string {
	text = strings.TrimSuffix(strings.TrimLeft(strings.TrimPrefix(text, "/*"), "-"), "*/")
	return strings.Join(strings.Fields(text), " ")
}

func join(said, more string) string { return strings.TrimSpace(said + " " + more) }
