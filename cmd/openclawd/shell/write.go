package shell

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/internal/output"
)

// Mode is an output format.
type Mode string

// The modes.
const (
	Table Mode = "table"
	JSON  Mode = "json" // an array of objects
	CSV   Mode = "csv"  // RFC 4180, with a header
)

// Modes lists the modes for messages.
func Modes() []string { return []string{string(Table), string(JSON), string(CSV)} }

// ModeOf finds a mode by its name.
func ModeOf(name string) (mode Mode, known bool) {
	for _, m := range []Mode{Table, JSON, CSV} {
		if string(m) == strings.ToLower(name) {
			return m, true
		}
	}
	return "", false
}

// Writer writes one answer.
type Writer interface {
	console.Answer
	// End is called after the last row.
	End(result console.Result) error
}

// NewWriter returns a writer for a mode. A table is written at the end, the others row by row.
func NewWriter(mode Mode, w io.Writer) Writer {
	switch mode {
	case JSON:
		return &jsonWriter{w: bufio.NewWriter(w)}
	case CSV:
		c := csv.NewWriter(w)
		c.UseCRLF = true
		return &csvWriter{w: c}
	}
	return &tableWriter{w: w}
}

// tableWriter holds all rows until the column widths are known.
type tableWriter struct {
	w    io.Writer
	head []string
	rows [][]string
}

// cellMost is the maximum width of a value in a table, in terminal cells.
const cellMost = 100

func (t *tableWriter) Head(columns []console.Column) error {
	for _, c := range columns {
		t.head = append(t.head, output.Printable(c.Name))
	}
	return nil
}

func (t *tableWriter) Row(values []any) error {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = "NULL"
		if v != nil {
			row[i] = output.Cut(oneLine(console.Text(v)), cellMost)
		}
	}
	t.rows = append(t.rows, row)
	return nil
}

// oneLine is the visible part of a text on one line. The cut-off rest is not processed.
func oneLine(text string) string {
	const most = 4 * cellMost
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "")
	}
	return strings.NewReplacer("\r\n", "↵", "\n", "↵", "\t", " ").Replace(text)
}

func (t *tableWriter) End(result console.Result) error {
	if err := output.Table(t.w, t.head, t.rows); err != nil {
		return err
	}
	count := output.Count(int64(result.Rows), "row")
	if result.Truncated {
		count = "the first " + count + "; there are more"
	}
	_, err := fmt.Fprintln(t.w, count)
	return err
}

// jsonWriter writes an object per row. Repeated column names get a number appended.
type jsonWriter struct {
	w    *bufio.Writer
	keys [][]byte
	row  []byte
	any  bool
}

func (j *jsonWriter) Head(columns []console.Column) error {
	taken := map[string]bool{}
	for _, c := range columns {
		name := c.Name
		for n := 2; taken[name]; n++ {
			name = fmt.Sprint(c.Name, "_", n)
		}
		taken[name] = true
		key, err := json.Marshal(name)
		if err != nil {
			return err
		}
		j.keys = append(j.keys, key)
	}
	_, err := j.w.WriteString("[")
	return err
}

func (j *jsonWriter) Row(values []any) error {
	j.row = j.row[:0]
	if j.any {
		j.row = append(j.row, ',')
	}
	j.any = true
	j.row = append(j.row, "\n{"...)
	for i, v := range values {
		if i > 0 {
			j.row = append(j.row, ',')
		}
		j.row = append(append(j.row, j.keys[i]...), ':')
		j.row = console.AppendJSON(j.row, v)
	}
	j.row = append(j.row, '}')
	_, err := j.w.Write(j.row)
	return err
}

func (j *jsonWriter) End(console.Result) error {
	end := "]\n"
	if j.any {
		end = "\n]\n"
	}
	if _, err := j.w.WriteString(end); err != nil {
		return err
	}
	return j.w.Flush()
}

type csvWriter struct {
	w   *csv.Writer
	row []string
}

func (c *csvWriter) Head(columns []console.Column) error {
	c.row = make([]string, len(columns))
	for i, column := range columns {
		c.row[i] = column.Name
	}
	return c.w.Write(c.row)
}

func (c *csvWriter) Row(values []any) error {
	for i, v := range values {
		c.row[i] = console.Text(v)
	}
	return c.w.Write(c.row)
}

func (c *csvWriter) End(console.Result) error {
	c.w.Flush()
	return c.w.Error()
}
