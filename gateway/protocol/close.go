package protocol

import (
	"strings"
	"unicode/utf8"
)

// Close codes.
const (
	CloseSilent   = 1000 // no request in time, or the first frame was no JSON
	CloseMismatch = 1002 // no common protocol version
	ClosePolicy   = 1008 // not authorized, or too slow
	CloseTooBig   = 1009 // a frame above MaxPayload, or above MaxUnknownPayload before authentication
	CloseInternal = 1011 // internal error
	CloseRestart  = 1012 // the gateway stops or restarts
)

// maxReason is the size limit of a close reason, in bytes, as in the original.
const maxReason = 120

// CloseReason shortens a text to a close reason: UTF-8, at most 120 bytes, cut between characters.
func CloseReason(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxReason {
		return text
	}
	cut := maxReason
	for !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut]
}
