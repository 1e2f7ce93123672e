package ndjson

import "github.com/pronto-lab/openclawd/eventstore"

// AppendFull appends the line of a full export that e is, without a line break.
func AppendFull(dst []byte, e *eventstore.Event) []byte { return appendExported(dst, e) }

// ReadFull reads a line that AppendFull has made. It is not ok for any other line. Hashes are as the line says: the caller holds them
// against what they are of.
func ReadFull(line []byte) (e *eventstore.Event, ok bool) { return readExported(line) }
