// Package movedin reads from their streams what was taken over from other programs. There are few migrations, so they have no tables.
package movedin

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections"
)

// States of a migration.
const (
	Open = "open" // it runs, or was interrupted: then the command is repeated
	Done = "done"
)

// Migration is the last migration from a directory. A later one from there takes its place.
type Migration struct {
	ID        string
	State     string
	Began     int64                        // when the first event was added, ms since 1970; 0 if the last run has added nothing
	Ended     int64                        // ms since 1970; 0 while it is open and never was done
	Seq       int64                        // of its last event
	Migrated  *coordination.ImportMigrated // what the last one that was completed has reported; nil if none was
	Migrating *coordination.ImportMigrating
}

const query = `SELECT s.name, e.seq, e.recorded_at, e.type, e.data FROM streams s JOIN events e ON e.stream_id = s.id
 WHERE s.name >= ? AND s.name < ? ORDER BY s.id, e.version`

// Read reads the migrations of a log, that of the last event first, or the one with an id.
func Read(ctx context.Context, tx *sql.Tx, id string) ([]Migration, error) {
	from, to := coordination.MigrationStreams, strings.TrimSuffix(coordination.MigrationStreams, "/")+"0" // after the slash
	if id != "" {
		from = coordination.MigrationStream(id)
		to = from + "\x00"
	}
	var list []Migration
	err := projections.EachRow(ctx, tx, "read migrations", query, []any{from, to}, func(rows *sql.Rows) error {
		var stream, typ string
		var seq, at int64
		var data []byte
		if err := rows.Scan(&stream, &seq, &at, &typ, &data); err != nil || len(data) == 0 { // redacted, or in an archive
			return err
		}
		name := strings.TrimPrefix(stream, coordination.MigrationStreams)
		if n := len(list); n == 0 || list[n-1].ID != name {
			list = append(list, Migration{ID: name})
		}
		if err := list[len(list)-1].fold(seq, at, typ, data); err != nil {
			return fmt.Errorf("%s: %w", stream, err)
		}
		return nil
	})
	slices.SortFunc(list, func(a, b Migration) int { return cmp.Compare(b.Seq, a.Seq) })
	return list, err
}

func (m *Migration) fold(seq, at int64, typ string, data []byte) error {
	m.Seq = seq
	switch typ {
	case coordination.TypeImportMigrating:
		m.State, m.Began, m.Migrating = Open, at, &coordination.ImportMigrating{}
		return json.Unmarshal(data, m.Migrating)
	case coordination.TypeImportMigrated:
		if m.State != Open {
			m.Began = 0
		}
		m.State, m.Ended, m.Migrated = Done, at, &coordination.ImportMigrated{}
		if err := json.Unmarshal(data, m.Migrated); err != nil {
			return err
		}
		m.Migrating = &m.Migrated.ImportMigrating
	}
	return nil
}
