package migrate

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pronto-lab/openclawd/eventstore"
)

// idOf derives the id of an event from its time and what it says. It has the form of a UUIDv7, so that it is stored near its neighbours.
func idOf(ts int64, kind string, parts ...string) eventstore.ID {
	text := sized(sized(make([]byte, 0, 1<<10), "openclaw"), kind)
	for _, part := range parts {
		text = sized(text, part)
	}
	sum := sha256.Sum256(text)
	var id eventstore.ID
	copy(id[6:], sum[:])
	ms := uint64(min(max(ts, 0), 1<<48-1))
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0F|0x70, id[8]&0x3F|0x80
	return id
}

// sized appends the length of a part and the part.
func sized(text []byte, part string) []byte {
	return append(binary.BigEndian.AppendUint64(text, uint64(len(part))), part...)
}
