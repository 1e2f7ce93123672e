package eventstore

import (
	"encoding/binary"
	"encoding/hex"
	"io"
	"sync"
	"time"
)

// ID identifies an event permanently. New ones are UUIDv7: they sort by time, which keeps the log's unique index
// narrow and growing at its right edge (random ids halve the append rate).
type ID [16]byte

// IsZero reports whether the id is unset.
func (id ID) IsZero() bool { return id == ID{} }

// String returns the usual 36-character form.
func (id ID) String() string {
	var b [36]byte
	hex.Encode(b[0:8], id[0:4])
	b[8] = '-'
	hex.Encode(b[9:13], id[4:6])
	b[13] = '-'
	hex.Encode(b[14:18], id[6:8])
	b[18] = '-'
	hex.Encode(b[19:23], id[8:10])
	b[23] = '-'
	hex.Encode(b[24:36], id[10:16])
	return string(b[:])
}

// MarshalText and UnmarshalText encode an ID as a JSON string.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

func (id *ID) UnmarshalText(b []byte) error {
	p, err := ParseID(string(b))
	if err != nil {
		return err
	}
	*id = p
	return nil
}

// ParseID parses the 36-character form. The error is an *InvalidError for the field "id".
func ParseID(s string) (ID, error) {
	bad := func() (ID, error) {
		return ID{}, &InvalidError{Field: "id", Value: s, HintText: "give a UUID such as 0197c9a4-5b1e-7c3d-9f00-112233445566"}
	}
	if len(s) != 36 || s[8] != '-' || s[13] != '-' || s[18] != '-' || s[23] != '-' {
		return bad()
	}
	var id ID
	var flat [32]byte
	n := copy(flat[:], s[0:8])
	n += copy(flat[n:], s[9:13])
	n += copy(flat[n:], s[14:18])
	n += copy(flat[n:], s[19:23])
	copy(flat[n:], s[24:36])
	if _, err := hex.Decode(id[:], flat[:]); err != nil {
		return bad()
	}
	return id, nil
}

// IDs generates UUIDv7 ids that strictly increase, even within one millisecond and when the clock goes back.
type IDs struct {
	now    func() time.Time
	random io.Reader

	mu   sync.Mutex
	last uint64 // milliseconds<<12 | counter
}

// NewIDs returns a generator of ids. Both sources are injected so that tests can fix them.
func NewIDs(now func() time.Time, random io.Reader) *IDs { return &IDs{now: now, random: random} }

// Next returns a new id. It panics if the source of randomness fails, which crypto/rand's never does.
func (g *IDs) Next() ID {
	var id ID
	if _, err := io.ReadFull(g.random, id[8:]); err != nil {
		panic("eventstore: no randomness for an event id: " + err.Error())
	}
	g.mu.Lock()
	stamp := uint64(max(g.now().UnixMilli(), 0)) << 12
	if stamp <= g.last {
		stamp = g.last + 1
	}
	g.last = stamp
	g.mu.Unlock()
	putStamp(&id, stamp>>12, uint16(stamp&0xfff))
	return id
}

// DerivedID is a deterministic id in the shape of a UUIDv7: time ms in front, so that old logs fill the unique index
// in order, the rest from digest. The same arguments always return the same id.
func DerivedID(ms int64, digest Hash) ID {
	var id ID
	copy(id[8:], digest[:8])
	putStamp(&id, uint64(max(ms, 0))&(1<<48-1), binary.BigEndian.Uint16(digest[8:10])&0xfff)
	return id
}

func putStamp(id *ID, ms uint64, counter uint16) {
	var b [8]byte
	binary.BigEndian.PutUint64(b[:], ms<<16)
	copy(id[:6], b[:6])
	id[6] = 0x70 | byte(counter>>8)
	id[7] = byte(counter)
	id[8] = id[8]&0x3f | 0x80
}
