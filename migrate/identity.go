package migrate

import (
	"crypto/sha256"
	"encoding/binary"

	"github.com/pronto-lab/openclawd/eventstore"
)

// idOf derives the id of an event from its time and what it says. It has the form of a UUIDv7, so that it is stored near its neighbours.
func idOf(ts int64, kind string, parts ...string) eventstore.ID {
	h := sha256.New()
	for _, part := range append([]string{"openclaw", kind}, parts...) {
		var size [8]byte
		binary.BigEndian.PutUint64(size[:], uint64(len(part)))
		h.Write(size[:])
		h.Write([]byte(part))
	}
	var id eventstore.ID
	copy(id[6:], h.Sum(nil))
	ms := uint64(min(max(ts, 0), 1<<48-1))
	for i := range 6 {
		id[i] = byte(ms >> (40 - 8*i))
	}
	id[6], id[8] = id[6]&0x0F|0x70, id[8]&0x3F|0x80
	return id
}
