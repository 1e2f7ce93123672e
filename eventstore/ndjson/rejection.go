package ndjson

import (
	"bytes"
	"crypto/sha256"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Reason is a stable code for why a line is no event.
type Reason string

const (
	NotJSON     Reason = "not_json"
	HasNUL      Reason = "nul"      // a NUL byte, which is no JSON either; torn writes leave them
	TooDeep     Reason = "too_deep" // nested deeper than eventstore.MaxDepth
	TooLong     Reason = "too_long" // above MaxLineBytes, or what has to be kept is above eventstore.MaxDataBytes
	NotObject   Reason = "not_object"
	NoType      Reason = "no_type" // type is missing, blank or no string
	TypeNUL     Reason = "type_nul"
	TypeTooLong Reason = "type_too_long" // above eventstore.MaxTypeBytes
	Unfinished  Reason = "unfinished"    // the log was rotated away within the line
)

// Rejection says why a line is no event, and keeps what helps to find out more. Bytes and SHA256 are of the line without surrounding
// space; of a line above MaxLineBytes, which no import holds whole, they are of all but its line feed.
type Rejection struct {
	Reason Reason
	Text   string // how the line begins: at most 4 KiB of valid UTF-8 without NUL
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
