package conversations

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// Override is an operator's choice of category for a work session.
type Override struct {
	Name       string                // workSessionId; such a session need not exist
	Category   coordination.Category // "": withdrawn, the vote decides again
	UpdatedAt  string                // ISO 8601, as given by the client; may be ""
	UpdatedBy  string                // may be ""
	Seq        int64                 // seq of the event
	RecordedAt int64                 // ms since 1970, when that was stored; 0 in a history
}

const (
	selectOverride  = "SELECT name, category, updated_at, updated_by, seq, recorded_at FROM category_overrides WHERE name = ?"
	selectOverrides = "SELECT name, category, updated_at, updated_by, seq, recorded_at FROM category_overrides"
	selectChanges   = "SELECT name, category, updated_at, updated_by, seq, 0 FROM category_changes WHERE name = ? ORDER BY seq DESC LIMIT ?"
)

// OverrideOf returns the operator's latest choice for a work session, nil if there never was one.
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

// Overrides returns the latest choices for all work sessions that ever had one, including withdrawn ones.
func Overrides(ctx context.Context, tx *sql.Tx) ([]Override, error) {
	return readOverrides(ctx, tx, selectOverrides)
}

// OverrideHistory lists up to limit choices for a work session, newest first.
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
