package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// readPlainly reads columns of every event in order, as the driver has them, and returns the number of events.
func readPlainly(ctx context.Context, path, columns string, read func(row []sql.RawBytes) error) (events int64, err error) {
	db, err := sqlite.OpenPlain(path, 1)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, err := db.QueryContext(ctx, "SELECT "+columns+" FROM events ORDER BY seq")
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return 0, err
	}
	row, into := make([]sql.RawBytes, len(names)), make([]any, len(names))
	for i := range row {
		into[i] = &row[i]
	}
	for ; rows.Next(); events++ {
		if err := rows.Scan(into...); err != nil {
			return events, err
		}
		if err := read(row); err != nil {
			return events, err
		}
	}
	return events, rows.Err()
}

// withPlainServer calls do with the URL of the simplest server of a home's newest events: a query, encoding/json and
// net/http. It reads the file that the measured server has open.
func (b *bench) withPlainServer(ctx context.Context, h home, do func(url string) error) error {
	db, err := sqlite.OpenPlain(h.db(), 1)
	if err != nil {
		return err
	}
	defer db.Close()
	newest, err := db.PrepareContext(ctx, "SELECT seq, ts, type, agent_id, data FROM events ORDER BY seq DESC LIMIT 100")
	if err != nil {
		return err
	}
	address, stop, err := listen(ctx, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := answerPlainly(w, r, newest); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}), noService)
	if err != nil {
		return err
	}
	return errors.Join(do("http://"+address+"/"), stop())
}

func answerPlainly(w http.ResponseWriter, r *http.Request, newest *sql.Stmt) error {
	type event struct {
		Seq     int64           `json:"seq"`
		TS      int64           `json:"ts"`
		Type    string          `json:"type"`
		AgentID string          `json:"agentId"`
		Data    json.RawMessage `json:"data"`
	}
	rows, err := newest.QueryContext(r.Context())
	if err != nil {
		return err
	}
	defer rows.Close()
	var events []event
	for rows.Next() {
		var e event
		if err := rows.Scan(&e.Seq, &e.TS, &e.Type, &e.AgentID, (*[]byte)(&e.Data)); err != nil {
			return err
		}
		events = append(events, e)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	slices.Reverse(events)
	w.Header().Set("Content-Type", "application/json")
	return json.NewEncoder(w).Encode(map[string]any{"events": events, "count": len(events)})
}
