package projectiontest

import (
	"context"
	"errors"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// Unwritten is a log whose writer stores events and decision tables, but fails to write read models: they stay where
// they are, as when the process is killed before it writes them.
type Unwritten struct{ *sqlite.DB }

// Attach implements projections.Log.
func (u Unwritten) Attach(ctx context.Context, inline eventstore.Inline, handover func(eventstore.Tx) error) error {
	return u.DB.Attach(ctx, unwritten{inline}, handover)
}

type unwritten struct{ eventstore.Inline }

var errUnwritten = errors.New("read models are not written on purpose")

func (unwritten) WriteBehind(eventstore.Tx) error { return errUnwritten }
