package runs

import (
	"fmt"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/chain"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections"
)

// pass is a row of run_passes.
type pass struct {
	id         int64
	root, pair string
	at         int64
}

func newPasses(table string) *projections.Table[int64, pass] {
	return projections.NewTable(projections.Columns[int64, pass]{
		Table: table, Names: []string{"id", "root", "pair", "at"}, Key: 0, Fixed: 4, Keep: 10,
		Lookup: "id = ?", LookUp: func(id int64) []any { return []any{id} },
		Scan: func(r eventstore.Row, x *pass) error {
			*x = pass{id: r.Int(0), root: r.Text(1), pair: r.Text(2), at: r.Int(3)}
			return nil
		},
		Args: func(args []any, x *pass) []any { return append(args, x.id, x.root, x.pair, x.at) },
	})
}

// passes records that one agent passes something on to another. An event without a chain does not: it comes from a
// person or a client, and begins one.
func (p *projector) passes(tx eventstore.Tx, e *projections.Event, root, from, to string) error {
	if root == "" || from == "" {
		return nil
	}
	x, _, err := p.passed.EditNew(tx, e.Seq)
	if err != nil {
		return err
	}
	*x = pass{id: e.Seq, root: root, pair: chain.Pair(strings.ToLower(from), strings.ToLower(to)), at: e.TS}
	return nil
}

const (
	selectLink       = "SELECT json_extract(data, '$.rootRunId'), json_extract(data, '$.hop') FROM events WHERE seq = ?"
	selectNthPass    = "SELECT at FROM run_passes WHERE root = ? ORDER BY id DESC LIMIT 1 OFFSET ?"
	selectNthBetween = "SELECT at FROM run_passes WHERE root = ? AND pair = ? ORDER BY id DESC LIMIT 1 OFFSET ?"
	selectAsking     = "SELECT s.name FROM events e JOIN streams s ON s.id = e.stream_id WHERE e.id = ? AND e.type = ?"
	selectCause      = `SELECT e.causation_id FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ? AND e.causation_id <> ''
 ORDER BY e.version DESC LIMIT 1`
)

// Link returns a run's place in its chain of causes; false if there is no such run.
func Link(tx eventstore.Tx, runID string) (link chain.Link, r run.Result, found bool, err error) {
	if r, found, err = Load(tx, runID); err != nil || !found {
		return chain.Link{}, r, false, err
	}
	link.Root = run.RootOf(r.RunID, r.RetryOf)
	err = tx.Query(selectLink, []any{r.Seq}, func(row eventstore.Row) error {
		if root := row.Text(0); root != "" {
			link.Root = root
		}
		link.Hop = int(row.Int(1))
		return nil
	})
	if err != nil {
		return chain.Link{}, r, false, fmt.Errorf("read the cause of run %s: %w", runID, err)
	}
	return link, r, true, nil
}

// LastCause returns the place of the run that last caused an event in a stream; false if no run has. Its cost depends
// on how much has happened there since.
func LastCause(tx eventstore.Tx, stream string) (link chain.Link, r run.Result, found bool, err error) {
	cause := ""
	err = tx.Query(selectCause, []any{stream}, func(row eventstore.Row) error {
		cause = row.Text(0)
		return nil
	})
	id, malformed := eventstore.ParseID(cause)
	if err != nil || malformed != nil {
		return chain.Link{}, r, false, err
	}
	name := ""
	err = tx.Query(selectAsking, []any{id[:], coordination.TypeRunQueued}, func(row eventstore.Row) error {
		name = strings.TrimPrefix(row.Text(0), streamPrefix)
		return nil
	})
	if err != nil || name == "" {
		return chain.Link{}, r, false, err
	}
	return Link(tx, name)
}

// Judge returns the reason why something must not be passed on, given the chain in the log; nil if it may. ahead is
// the number of passes of the same transaction before it in the same chain. Its cost depends on the limits only.
func Judge(tx eventstore.Tx, limits *chain.Limits, to chain.Link, from, target string, ahead int, now int64) (*chain.Refusal, error) {
	nth := func(query string, args ...any) chain.Nth {
		return func(n int) (at int64, err error) {
			err = tx.Query(query, append(args, n-1), func(row eventstore.Row) error {
				at = row.Int(0)
				return nil
			})
			if err != nil {
				return 0, fmt.Errorf("count passes of the chain of run %s: %w", to.Root, err)
			}
			return at, nil
		}
	}
	return limits.Judge(&chain.Pass{Link: to, From: from, To: target, Ahead: ahead, Now: now,
		NthAt: nth(selectNthPass, to.Root), Between: nth(selectNthBetween, to.Root, chain.Pair(strings.ToLower(from), strings.ToLower(target)))})
}
