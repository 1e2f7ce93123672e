package conversation

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Override is an operator's word on the category of a work session.
type Override struct {
	Name       string                // workSessionId; such a session need not exist
	Category   coordination.Category // "": taken back, the vote decides again
	UpdatedAt  string                // ISO 8601, as the operator's side tells it; may be ""
	UpdatedBy  string                // may be ""
	Seq        int64                 // of the event that said so
	RecordedAt int64                 // ms since 1970: when that was stored; 0 in a history
}

const (
	selectOverride  = "SELECT name, category, updated_at, updated_by, seq, recorded_at FROM category_overrides WHERE name = ?"
	selectOverrides = "SELECT name, category, updated_at, updated_by, seq, recorded_at FROM category_overrides"
	selectChanges   = "SELECT name, category, updated_at, updated_by, seq, 0 FROM category_changes WHERE name = ? ORDER BY seq DESC LIMIT ?"
)

// OverrideOf is the last that an operator said of a work session, nil if nobody ever did.
func OverrideOf(ctx context.Context, tx *sql.Tx, name string) (*Override, error) {
	var o Override
	err := tx.QueryRowContext(ctx, selectOverride, name).Scan(&o.Name, &o.Category, &o.UpdatedAt, &o.UpdatedBy, &o.Seq, &o.RecordedAt)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("read category override: %w", err)
	}
	return &o, nil
}

// Overrides are the last words on all work sessions that operators ever spoke of, those that were taken back included.
func Overrides(ctx context.Context, tx *sql.Tx) ([]Override, error) {
	return readOverrides(ctx, tx, selectOverrides)
}

// OverrideHistory lists up to limit words of operators on a work session, the newest first.
func OverrideHistory(ctx context.Context, tx *sql.Tx, name string, limit int) ([]Override, error) {
	return readOverrides(ctx, tx, selectChanges, name, limit)
}

func readOverrides(ctx context.Context, tx *sql.Tx, query string, args ...any) (list []Override, err error) {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("read category overrides: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var o Override
		if err := rows.Scan(&o.Name, &o.Category, &o.UpdatedAt, &o.UpdatedBy, &o.Seq, &o.RecordedAt); err != nil {
			return nil, fmt.Errorf("read category override: %w", err)
		}
		list = append(list, o)
	}
	return list, rows.Err()
}
