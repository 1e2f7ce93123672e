package ndjson

import (
	"bytes"
	"crypto/sha256"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Reason is a stable code for why a line is not an event.
type Reason string

const (
	NotJSON     Reason = "not_json"
	HasNUL      Reason = "nul"      // a NUL byte, as torn writes leave them
	TooDeep     Reason = "too_deep" // nested deeper than eventstore.MaxDepth
	TooLong     Reason = "too_long" // above MaxLineBytes, or what has to be kept is above eventstore.MaxDataBytes
	NotObject   Reason = "not_object"
	NoType      Reason = "no_type" // type is missing, blank or not a string
	TypeNUL     Reason = "type_nul"
	TypeTooLong Reason = "type_too_long" // above eventstore.MaxTypeBytes
	Unfinished  Reason = "unfinished"    // the log was rotated in the middle of the line
)

// Rejection says why a line is not an event, and keeps what helps to investigate. Bytes and SHA256 are of the line
// without surrounding space; for a line above MaxLineBytes, which no import holds whole, of everything but its line
// feed.
type Rejection struct {
	Reason Reason
	Text   string // the beginning of the line: at most 4 KiB of valid UTF-8 without NUL
	Bytes  int64
	SHA256 eventstore.Hash
}

const rejectedTextBytes = 4 << 10

func reject(reason Reason, line []byte) *Rejection {
	return &Rejection{Reason: reason, Text: rejectedText(line), Bytes: int64(len(line)), SHA256: sha256.Sum256(line)}
}

func rejectedText(line []byte) string {
	text := decode(clip(line, rejectedTextBytes))
	return string(clip(bytes.ReplaceAll(text, []byte{0}, []byte("\uFFFD")), rejectedTextBytes))
}
