package continuations

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

const (
	selectRows  = "SELECT c.agent, c.last_seq, c.state FROM continuation c"
	selectAgent = selectRows + " WHERE c.agent = ?"
	selectAll   = selectRows + " ORDER BY c.agent"
)

// Load returns the state of an agent, within the transaction that is going to append; the zero State if nothing is
// known.
func Load(tx eventstore.Tx, agent string) (continuation.State, error) {
	rows, err := read(tx, selectAgent, strings.ToLower(agent))
	if err != nil || len(rows) == 0 {
		return continuation.State{}, err
	}
	return rows[0].State, nil
}

// List returns the states of all known agents, by id.
func List(ctx context.Context, tx *sql.Tx) ([]Row, error) {
	return read(projections.Reading(ctx, tx), selectAll)
}

// ByID returns the state of one agent.
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
		return nil, fmt.Errorf("read continuation states: %w", err)
	}
	return rows, nil
}
