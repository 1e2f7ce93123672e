package eventstore

import "errors"

// HeadSeq reads the seq of the newest event.
func HeadSeq(tx Tx) (seq int64, err error) {
	return readInt(tx, "SELECT coalesce(max(seq), 0) FROM events")
}

// StreamVersion reads the version of a stream; 0 if it has no events.
func StreamVersion(tx Tx, stream string) (version int64, err error) {
	return readInt(tx, "SELECT coalesce(max(e.version), 0) FROM streams s JOIN events e ON e.stream_id = s.id WHERE s.name = ?", stream)
}

// EventExists reports whether an event exists.
func EventExists(tx Tx, id ID) (bool, error) {
	n, err := readInt(tx, "SELECT count(*) FROM events WHERE id = ?", id[:])
	return n > 0, err
}

func readInt(tx Tx, query string, args ...any) (n int64, err error) {
	err = tx.Query(query, args, func(r Row) error { n = r.Int(0); return nil })
	return n, err
}

// Refused reports whether an append was rejected for its content, so that retrying cannot help. fatal reports whether an error of a
// projection ends the log.
func Refused(err error, fatal func(error) bool) bool {
	var (
		conflict *ConflictError
		invalid  *InvalidError
		reuse    *IDReuseError
		refused  *RefusedError
	)
	return errors.As(err, &conflict) || errors.As(err, &invalid) || errors.As(err, &reuse) || errors.As(err, &refused) && !fatal(err)
}
