package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"

	"github.com/pronto-lab/openclawd/cmd/openclawd/apiclient"
	"github.com/pronto-lab/openclawd/cmd/openclawd/shell"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
	"github.com/pronto-lab/openclawd/monitor"
	"github.com/pronto-lab/openclawd/replay/asof"
)

// asker returns the place's server if it may be asked and its limits suffice, else the file. closing releases the
// resources.
func (p *process) asker(ctx context.Context, a *sqlFlags, mode shell.Mode) (asker shell.Asker, closing func() error, err error) {
	closing = func() error { return nil }
	place, err := p.place(a.serverFlags)
	if err != nil {
		return nil, closing, err
	}
	if a.asOf != "" {
		return p.askPast(ctx, a, place.DB, mode)
	}
	switch remote := (&sqlServer{place: place}); {
	case a.api != "" && place.AdminToken() == "":
		return nil, closing, &config.SettingError{Setting: monitor.AdminTokenVariable, Err: errors.New("not set"), HintText: "set it to the token of the server that --api names"}
	case a.api != "":
		return remote, closing, nil
	case place.AdminToken() != "" && a.serverAllows():
		if on, err := remote.on(ctx); on || err != nil {
			return remote, closing, err
		}
	}
	asker, err = p.askFile(ctx, a, place.DB, mode)
	return asker, closing, err
}

// serverAllows reports whether the request is within a server's limits.
func (a *sqlFlags) serverAllows() bool {
	return !a.timed && (!a.limited || a.limit > 0 && a.limit <= monitor.MaxSQLRows)
}

// askFile queries a file, which may be in use.
func (p *process) askFile(ctx context.Context, a *sqlFlags, path string, mode shell.Mode) (shell.Asker, error) {
	limits := console.Limits{Time: a.timeout, Bytes: defaultSQLBytes, Value: console.MaxValue, Heap: console.MaxHeap}
	if mode == shell.Table {
		limits.Bytes = tableBytes
	}
	file, err := console.Open(ctx, path, limits)
	if err != nil {
		return nil, database.OpenError(path, err)
	}
	return file, nil
}

// askPast builds the tables as of an event in a temporary file and queries that.
func (p *process) askPast(ctx context.Context, a *sqlFlags, path string, mode shell.Mode) (asker shell.Asker, closing func() error, err error) {
	closing = func() error { return nil }
	log, err := p.openToRead(ctx, path)
	if err != nil {
		return nil, closing, err
	}
	defer log.Close()
	seq, err := asof.Resolve(ctx, log, a.asOf)
	if err != nil {
		return nil, closing, err
	}
	temp, err := asof.NewTemp("")
	if err != nil {
		return nil, closing, err
	}
	closing = temp.Close
	bar := p.eventProgress("as of " + a.asOf)
	state, err := asof.Open(ctx, asof.Options{Log: log, Rules: coordination.RulesV2, Out: filepath.Join(temp.Dir(), database.Name)}, seq, bar.update)
	bar.end()
	if err == nil {
		made := state.Path()
		if err = state.Close(); err == nil {
			asker, err = p.askFile(ctx, a, made, mode)
		}
	}
	if err != nil {
		return nil, func() error { return nil }, errors.Join(err, closing())
	}
	return asker, closing, nil
}

// sqlServer queries the server of a place.
type sqlServer struct{ place *apiclient.Place }

// on reports whether the place's server answers SQL. An error means that it does, but refuses us.
func (s *sqlServer) on(ctx context.Context) (bool, error) {
	_, err := s.place.SQL(ctx, "SELECT 1", 1)
	var none *apiclient.NoServerError
	var refused *apiclient.RefusedError
	switch {
	case err == nil:
		return true, nil
	case errors.As(err, &none), errors.As(err, &refused) && (refused.Code() == "sql_off" || refused.Code() == "not_found"):
		return false, nil
	case errors.As(err, &refused):
		return true, nil // the query itself will report the reason
	}
	return false, err
}

func (s *sqlServer) Query(ctx context.Context, q console.Question, answer console.Answer) (console.Result, error) {
	limit := q.Rows
	if limit == 0 || limit > monitor.MaxSQLRows {
		limit = monitor.MaxSQLRows
	}
	got, err := s.place.SQL(ctx, q.SQL, limit)
	if err != nil {
		return console.Result{}, err
	}
	result := console.Result{Rows: got.RowCount, Truncated: got.Truncated}
	columns := make([]console.Column, len(got.Columns))
	for i, c := range got.Columns {
		columns[i] = console.Column{Name: c.Name, Type: c.Type}
	}
	if err := answer.Head(columns); err != nil {
		return result, err
	}
	for _, row := range got.Rows {
		values, err := sqlValues(row)
		if err == nil && len(values) != len(columns) {
			err = fmt.Errorf("%d values in a row of %d columns", len(values), len(columns))
		}
		if err != nil {
			return result, fmt.Errorf("unexpected response of the server: %w", err)
		}
		if err := answer.Row(values); err != nil {
			return result, err
		}
	}
	return result, nil
}

// sqlValues decodes a row of an answer. Integers keep all digits; blobs arrive as texts.
func sqlValues(row []byte) (values []any, err error) {
	decoder := json.NewDecoder(bytes.NewReader(row))
	decoder.UseNumber()
	if err := decoder.Decode(&values); err != nil {
		return nil, err
	}
	for i, v := range values {
		n, is := v.(json.Number)
		if !is {
			continue
		}
		if whole, err := n.Int64(); err == nil {
			values[i] = whole
		} else if values[i], err = n.Float64(); err != nil && values[i] == 0.0 {
			return nil, err
		}
	}
	return values, nil
}

func (s *sqlServer) Schema(ctx context.Context) ([]console.Table, error) {
	got, err := s.place.SQLSchema(ctx)
	if err != nil {
		return nil, err
	}
	tables := make([]console.Table, len(got))
	for i, t := range got {
		tables[i] = console.Table{Name: t.Name, Kind: t.Kind, Doc: t.Doc}
		for _, c := range t.Columns {
			tables[i].Columns = append(tables[i].Columns, console.ColumnDoc{Name: c.Name, Type: c.Type, Doc: c.Doc})
		}
	}
	return tables, nil
}
