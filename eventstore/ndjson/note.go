package ndjson

import (
	"context"
	"errors"
	"os"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Notes are files beside the database that store how far logs were read or written. Each names an event of the log
// that it was made for; losing one, or finding one of another log, costs only work.

// isOf reports whether a note belongs to a log: whether that has the event that the note names.
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

// replaceNote replaces the note at path. It does not sync: losing a note in a power cut is harmless.
func replaceNote(path string, text []byte) error {
	next := path + ".new"
	if err := os.WriteFile(next, append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(next, path)
}
