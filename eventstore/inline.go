package eventstore

// Tx executes SQL inside the write transaction of a store. Statements are prepared once per connection and cached. A
// Tx is used by one goroutine and is valid only during the call that received it.
type Tx interface {
	// Exec runs one statement and returns the number of rows it changed. Arguments are int64, int, float64, bool, string, []byte or nil.
	Exec(query string, args ...any) (int64, error)
	// Query calls scan for every row. The row is valid only during the call.
	Query(query string, args []any, scan func(Row) error) error
}

// Row gives access to the columns of a result row by position. A NULL reads as the zero value.
type Row interface {
	Int(i int) int64
	Float(i int) float64
	Text(i int) string
	Blob(i int) []byte
	Null(i int) bool
}

// Inline takes part in the transaction that stores events, so that decision tables commit with them. Read models are
// written behind: later, for several batches at once. All methods except Prepare are called by the store's single
// writer goroutine.
//
// For each request of a batch: Begin, then Accept for each of its events, then Revert if the request is refused. Once
// for the batch: Flush, then Committed or Aborted. WriteBehind has a transaction of its own, or is part of a batch if
// one of its decisions reads read models; Committed or Aborted follows in either case.
type Inline interface {
	// Prepare computes what depends only on the event (Seq and hashes are not set yet). It runs on the appending
	// goroutine.
	Prepare(e *Event) any
	Begin(tx Tx)
	// Accept applies e to the decision tables. An error refuses the whole request.
	Accept(tx Tx, e *Event, prepared any) error
	// Revert undoes everything accepted since Begin.
	Revert()
	// Settle writes pending decision rows, so that SQL run in tx sees them.
	Settle(tx Tx) error
	// Flush writes the pending rows and checkpoints of the decision tables. An error fails the batch.
	Flush(tx Tx) error
	// WriteBehind applies what is committed to the read models, and writes their rows and checkpoints.
	WriteBehind(tx Tx) error
	// Written is the event up to which every live read model is written; math.MaxInt64 if none is live.
	Written() int64
	Committed()
	// Aborted reports that nothing since the last Committed was stored: state held in memory must be discarded.
	Aborted()
}

// CatchUp makes SQL in tx see the read models as of the last commit. Within a decision they may be behind; a read
// transaction sees them at the head of its log anyway.
func CatchUp(tx Tx) error {
	if t, ok := tx.(interface{ CatchUp() error }); ok {
		return t.CatchUp()
	}
	return nil
}
