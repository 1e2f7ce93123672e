package protocol

import (
	"strings"
	"unicode/utf8"
)

// Codes with which a connection is closed.
const (
	CloseSilent   = 1000 // no request came in time, or the first frame was no JSON
	CloseMismatch = 1002 // no version of the protocol that both speak
	ClosePolicy   = 1008 // not let in, or too slow
	CloseTooBig   = 1009 // a frame above MaxPayload, or above MaxUnknownPayload of somebody who is not in yet
	CloseInternal = 1011 // the gateway failed
	CloseRestart  = 1012 // the gateway ends or starts again
)

// maxReason is how much of a reason fits into a frame that closes, bytes, as the original cuts it.
const maxReason = 120

// CloseReason is a text as the reason of closing a connection: UTF-8, at most 120 bytes, cut between characters.
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
