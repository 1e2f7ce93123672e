package continuation

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	decide "github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const (
	selectRows  = "SELECT c.agent, c.last_seq, c.state FROM continuation c"
	selectAgent = selectRows + " WHERE c.agent = ?"
	selectAll   = selectRows + " ORDER BY c.agent"
)

// Load is how an agent stands, within the transaction that is going to append; the zero State for one of which nothing is known.
func Load(tx eventstore.Tx, agent string) (decide.State, error) {
	rows, err := read(tx, selectAgent, strings.ToLower(agent))
	if err != nil || len(rows) == 0 {
		return decide.State{}, err
	}
	return rows[0].State, nil
}

// List is how all agents stand of which something is known, by id.
func List(ctx context.Context, tx *sql.Tx) ([]Row, error) {
	return read(projections.Reading(ctx, tx), selectAll)
}

// ByID is how one of them stands.
func ByID(ctx context.Context, tx *sql.Tx, agent string) (row Row, found bool, err error) {
	rows, err := read(projections.Reading(ctx, tx), selectAgent, strings.ToLower(agent))
	if err != nil || len(rows) == 0 {
		return Row{}, false, err
	}
	return rows[0], true, nil
}

func read(tx eventstore.Tx, query string, args ...any) (rows []Row, err error) {
	err = tx.Query(query, args, func(r eventstore.Row) error {
		row, err := scan(r.Text(0), r.Int(1), r.Text(2))
		rows = append(rows, row)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read how agents are kept going: %w", err)
	}
	return rows, nil
}
