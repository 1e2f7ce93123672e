package ndjson

import "github.com/pronto-lab/openclawd/eventstore"

// AppendFull appends e as a line of a full export, without a line break.
func AppendFull(dst []byte, e *eventstore.Event) []byte { return appendExported(dst, e) }

// ReadFull parses a line made by AppendFull. ok is false for any other line. Hashes are returned unchecked: the caller
// must verify them.
func ReadFull(line []byte) (e *eventstore.Event, ok bool) { return readExported(line) }
