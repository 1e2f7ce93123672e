package server

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/server/settings"
)

// openSQL enables SQL for clients with the admin token. Without a token it is disabled; failure does not prevent
// serving.
func (p *Program) openSQL(ctx context.Context) {
	if settings.AdminToken(p.opts.getenv).Value == "" {
		return
	}
	logger := p.opts.Logger.With("component", "monitor")
	asked, err := console.Open(ctx, p.log.Path(), console.Limits{})
	if err != nil {
		logger.Error("SQL is unavailable until the next start", "err", err)
		return
	}
	p.sql = &sqlConsole{asked}
	logger.Info("SQL is enabled", "path", "/api/sql", "variable", monitor.AdminTokenVariable)
}

// sqlConsole adapts a console to the API.
type sqlConsole struct{ console *console.Console }

// sqlOf returns the API's SQL; nil if it is disabled.
func (s *sqlConsole) sqlOf() monitor.SQL {
	if s == nil {
		return nil
	}
	return s
}

// past is SQL about the tables as of an event.
func (s *sqlConsole) past(state *sqlite.Scratch) monitor.SQL {
	return &sqlConsole{s.console.Past(state)}
}

func (s *sqlConsole) Query(ctx context.Context, q monitor.SQLQuestion) (monitor.SQLAnswer, error) {
	start := time.Now()
	rows := &sqlRows{}
	result, err := s.console.Query(ctx, console.Question{SQL: q.Statement, Rows: q.Limit, Params: console.Params{List: q.List, Named: q.Named}}, rows)
	if err != nil {
		return monitor.SQLAnswer{RowCount: result.Rows}, err
	}
	return monitor.SQLAnswer{Columns: rows.columns, Rows: rows.rows, RowCount: result.Rows, Truncated: result.Truncated,
		ElapsedMs: time.Since(start).Milliseconds()}, nil
}

func (s *sqlConsole) Schema(ctx context.Context) ([]monitor.SQLTable, error) {
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

// maxSQLBytes is the maximum size of an answer's rows as JSON, where a control character takes six bytes.
const maxSQLBytes = 2 * console.DefaultBytes

// sqlRows collects an answer as JSON.
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
		return &console.LimitError{What: fmt.Sprintf("the answer has more than %d bytes as JSON", maxSQLBytes), HintText: "select only the columns you need, or add a LIMIT"}
	}
	r.rows = append(r.rows, console.AppendRow(make([]byte, 0, size), values))
	return nil
}
