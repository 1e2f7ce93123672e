package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/monitor"
)

// openSQL lets people ask SQL who have the token of administrators. Without one there is none, which is no reason not to serve; nor is a file
// that cannot be asked.
func (p *Program) openSQL(ctx context.Context) {
	if settings.AdminToken(p.opts.getenv).Value == "" {
		return
	}
	logger := p.opts.Logger.With("component", "monitor")
	asked, err := console.Open(ctx, p.log.Path(), console.Limits{})
	if err != nil {
		logger.Error("there is no SQL until the next start", "err", err)
		return
	}
	p.sql = sqlOf{asked}
	logger.Info("SQL is on", "path", "/api/sql", "variable", monitor.AdminTokenVariable)
}

// sqlOf is a console as the API asks it.
type sqlOf struct{ console *console.Console }

func (s sqlOf) Query(ctx context.Context, statement string, limit int) (monitor.SQLAnswer, error) {
	start := time.Now()
	rows := &sqlRows{}
	result, err := s.console.Query(ctx, console.Question{SQL: statement, Rows: limit}, rows)
	if err != nil {
		return monitor.SQLAnswer{RowCount: result.Rows}, err
	}
	return monitor.SQLAnswer{Columns: rows.columns, Rows: rows.rows, RowCount: result.Rows, Truncated: result.Truncated,
		ElapsedMs: time.Since(start).Milliseconds()}, nil
}

func (s sqlOf) Schema(ctx context.Context) ([]monitor.SQLTable, error) {
	found, err := s.console.Schema(ctx)
	if err != nil {
		return nil, err
	}
	tables := make([]monitor.SQLTable, len(found))
	for i, t := range found {
		tables[i] = monitor.SQLTable{Name: t.Name, Kind: t.Kind, Doc: t.Doc}
		for _, c := range t.Columns {
			tables[i].Columns = append(tables[i].Columns, monitor.SQLColumnDoc{SQLColumn: monitor.SQLColumn{Name: c.Name, Type: c.Type}, Doc: c.Doc})
		}
	}
	return tables, nil
}

// maxSQLBytes is how many bytes the rows of an answer may have as JSON, where a control character has six.
const maxSQLBytes = 2 * console.DefaultBytes

// sqlRows keeps an answer as JSON.
type sqlRows struct {
	columns []monitor.SQLColumn
	rows    []json.RawMessage
	bytes   int
}

func (r *sqlRows) Head(columns []console.Column) error {
	r.columns, r.rows = make([]monitor.SQLColumn, len(columns)), []json.RawMessage{}
	for i, c := range columns {
		r.columns[i] = monitor.SQLColumn{Name: c.Name, Type: c.Type}
	}
	return nil
}

func (r *sqlRows) Row(values []any) error {
	size := len("[]")
	for _, v := range values {
		size += console.JSONSize(v) + len(",")
	}
	if r.bytes += size; r.bytes > maxSQLBytes {
		return &console.LimitError{What: fmt.Sprintf("the answer has more than %d bytes as JSON", maxSQLBytes), Mend: "name the columns that you want, or add a LIMIT"}
	}
	r.rows = append(r.rows, console.AppendRow(make([]byte, 0, size), values))
	return nil
}
