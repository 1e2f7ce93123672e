package a2a

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// jobIDOf is the id of the flow that a caller asks for: the same one whenever the same session says the same key, newID without a key.
func jobIDOf(from tool.Caller, key, newID string) string {
	if key == "" {
		return newID
	}
	return derivedID("job", from.SessionKey, key)
}

// RunWorkSession is the work session that all messages of one run begin, if there is none yet.
func RunWorkSession(rootRunID string) string {
	return workSessionPrefix + derivedID("work session", rootRunID)
}

// workSessionPrefix begins the names of work sessions that are made here.
const workSessionPrefix = "ws_"

// answerKey is the session in which a target answers: the one that was asked for, if it is of the same agent as who asks, else that of the
// conversation. An id that cannot stand in a key, or would be another one in it, stands there as what is derived from it.
func answerKey(target coordination.SessionKey, agent, from, conversation string) coordination.SessionKey {
	if agent == from {
		return target
	}
	key := coordination.A2AKey(agent, conversation)
	if parsed, err := coordination.ParseSessionKey(key.String()); err == nil && parsed == key {
		return key
	}
	return coordination.A2AKey(agent, derivedID("conversation's session", conversation))
}

// derivedID is a UUID that follows from what it is made of (version 8 of RFC 9562).
func derivedID(of ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, part := range of {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:]) // so that no two lists of parts are one text
		h.Write([]byte(part))
	}
	id := h.Sum(nil)[:16]
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}
