package ndjson

import (
	"context"
	"errors"
	"os"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Notes lie beside the database and say how far logs were read or written. Each names an event of the log that it was made for; losing
// one, or finding that of another log, costs work and nothing else.

// isOf reports whether a note is of a log: whether that holds the very event that the note names.
func isOf(ctx context.Context, log eventstore.Reader, at eventstore.Head) (bool, error) {
	if at.Seq < 1 {
		return false, nil
	}
	e, err := log.Event(ctx, at.Seq)
	if errors.Is(err, eventstore.ErrNotFound) {
		return false, nil
	}
	return err == nil && e.Hash == at.Hash, err
}

// replaceNote puts a text in the place of the note at path. It does not wait for the disk: a note that a power cut takes is one that is
// lost.
func replaceNote(path string, text []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
