package messenger

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// jobIDOf returns the flow's id: derived from the caller's session and key, or newID without a key.
func jobIDOf(from tool.Caller, key, newID string) string {
	if key == "" {
		return newID
	}
	return derivedID("job", from.SessionKey, key)
}

// RunWorkSession returns the work session that the messages of a run begin if there is none yet.
func RunWorkSession(rootRunID string) string {
	return workSessionPrefix + derivedID("work session", rootRunID)
}

// workSessionPrefix begins the names of work sessions that are made here.
const workSessionPrefix = "ws_"

// answerKey returns the session in which a target answers: the requested one if it belongs to the requester's agent, else one derived
// from the conversation, whose id is hashed if it would be invalid or ambiguous in a key.
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

// derivedID returns a UUID derived from texts (version 8 of RFC 9562).
func derivedID(of ...string) string {
	h := sha256.New()
	var length [8]byte
	for _, part := range of {
		binary.BigEndian.PutUint64(length[:], uint64(len(part)))
		h.Write(length[:]) // separator, so that different lists stay different
		h.Write([]byte(part))
	}
	id := h.Sum(nil)[:16]
	id[6] = id[6]&0x0f | 0x80
	id[8] = id[8]&0x3f | 0x80
	text := hex.EncodeToString(id)
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
}

// OriginOf returns the origin of a message that a tool sends.
func OriginOf(entry tool.Entry) string {
	if entry == tool.ByRun {
		return "tool"
	}
	return string(cmp.Or(entry, "tool"))
}
