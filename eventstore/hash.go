package eventstore

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
)

// SaltBytes is the length of the random salt that prevents guessing a blanked payload from its hash.
const SaltBytes = 16

// Hash is a SHA-256 digest.
type Hash [sha256.Size]byte

// String gives the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText and UnmarshalText encode a Hash as a JSON string.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

func (h *Hash) UnmarshalText(b []byte) error {
	if hex.DecodedLen(len(b)) != len(h) {
		return &InvalidError{Field: "hash", Value: string(b), HintText: "give 64 hexadecimal digits"}
	}
	_, err := hex.Decode(h[:], b)
	return err
}

// PayloadHash is SHA-256(salt ‖ data), followed by a NUL and the original envelope where there is one. JSON text holds no NUL, so
// the two cannot run into each other.
func PayloadHash(salt, data, original []byte) Hash {
	d := sha256.New()
	d.Write(salt)
	d.Write(data)
	if original != nil {
		d.Write([]byte{0})
		d.Write(original)
	}
	return sum(d)
}

// ChainHash links e to the event before it: SHA-256 over the previous hash, every column of e except Data, Original
// and Salt (each text prefixed with its length), and DataHash. Therefore a payload can be blanked and the chain still
// verifies.
func ChainHash(prev Hash, e *Event) Hash {
	b := make([]byte, 0, 512)
	b = append(b, prev[:]...)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = append(b, e.ID[:]...)
	b = appendText(b, e.Stream)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Version))
	b = appendText(b, e.Type)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Ver))
	b = appendText(b, e.AgentID)
	b = binary.BigEndian.AppendUint64(b, uint64(e.TS))
	b = binary.BigEndian.AppendUint64(b, uint64(e.RecordedAt))
	b = appendText(b, e.CorrelationID)
	b = appendText(b, e.CausationID)
	b = appendText(b, string(e.Actor))
	b = append(b, e.DataHash[:]...)
	return sha256.Sum256(b)
}

func appendText(b []byte, s string) []byte {
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
}

func sum(d hash.Hash) (h Hash) {
	d.Sum(h[:0])
	return h
}
