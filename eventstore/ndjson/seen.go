package ndjson

import (
	"bufio"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"sort"
)

// seenTexts is how often each text was seen, by the first 8 bytes of its SHA-256. A long reading has millions of them: beyond maxFresh they
// move into temporary files, in sorted runs, and cost a byte and a half of memory each. A run is asked only for a text that it probably has.
// Runs of one size are merged, so that there are few.
type seenTexts struct {
	most  int // texts in fresh
	fresh map[uint64]uint32
	runs  []*seenRun // oldest first; a newer one replaces what an older one says of a text
}

// maxFresh is how many texts are counted in memory.
const maxFresh = 1 << 17

func newSeenTexts() *seenTexts { return &seenTexts{most: maxFresh, fresh: map[uint64]uint32{}} }

func (s *seenTexts) find(key uint64) (n uint32, met bool, err error) {
	if n, met = s.fresh[key]; met {
		return n, true, nil
	}
	for _, r := range slices.Backward(s.runs) {
		if n, met, err = r.find(key); met || err != nil {
			return n, met, err
		}
	}
	return 0, false, nil
}

func (s *seenTexts) set(key uint64, n uint32) {
	s.fresh[key] = n
	if len(s.fresh) < s.most {
		return
	}
	keys := make([]uint64, 0, len(s.fresh))
	for key := range s.fresh {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	run, err := writeRun(func(add func(uint64, uint32) error) error {
		for _, key := range keys {
			if err := add(key, s.fresh[key]); err != nil {
				return err
			}
		}
		return nil
	}, len(keys))
	if err != nil { // there is no place for files: all texts stay in memory
		s.most = math.MaxInt
		return
	}
	clear(s.fresh)
	s.runs = append(s.runs, run)
	s.merge()
}

// merge merges the newest runs while the newer one is about as large as the one before it. Runs that cannot be merged stay as they are.
func (s *seenTexts) merge() {
	for {
		at := len(s.runs) - 2
		if at < 0 || s.runs[at].n > 2*s.runs[at+1].n {
			return
		}
		older, newer := s.runs[at], s.runs[at+1]
		run, err := writeRun(func(add func(uint64, uint32) error) error { return mergeRuns(older, newer, add) }, older.n+newer.n)
		if err != nil {
			return
		}
		s.runs = append(s.runs[:at], run)
		_, _ = older.close(), newer.close() // they are not read any more
	}
}

// close releases the files.
func (s *seenTexts) close() (err error) {
	for _, r := range s.runs {
		err = errors.Join(err, r.close())
	}
	s.runs = nil
	return err
}

const (
	runEntry   = 12  // bytes: text, number
	runPage    = 256 // entries that are read together
	bloomBits  = 10  // per text: one in a hundred texts that a run does not have is looked up in vain
	bloomTests = 4
)

// seenRun is a file of texts in ascending order. The file has no name, so that it goes with the process.
type seenRun struct {
	file  *os.File
	n     int
	first []uint64 // first text of each page
	bloom []uint64
}

// writeRun writes the texts that write passes in ascending order, at most this many.
func writeRun(write func(add func(key uint64, n uint32) error) error, most int) (*seenRun, error) {
	file, err := os.CreateTemp("", "openclawd-import-")
	if err != nil {
		return nil, fmt.Errorf("keep which lines were read: %w", err)
	}
	r := &seenRun{file: file, bloom: make([]uint64, most*bloomBits/64+1)}
	out := bufio.NewWriterSize(file, 1<<16)
	err = errors.Join(os.Remove(file.Name()), write(func(key uint64, n uint32) error {
		if r.n%runPage == 0 {
			r.first = append(r.first, key)
		}
		r.n++
		r.eachBit(key, func(word *uint64, bit uint64) bool {
			*word |= bit
			return true
		})
		var entry [runEntry]byte
		binary.BigEndian.PutUint64(entry[:], key)
		binary.BigEndian.PutUint32(entry[8:], n)
		_, err := out.Write(entry[:])
		return err
	}), out.Flush())
	if err != nil {
		return nil, fmt.Errorf("keep which lines were read: %w", errors.Join(err, file.Close()))
	}
	return r, nil
}

// eachBit visits the bits of a text, which is a hash, in the filter while visit returns true, and reports whether it always did.
func (r *seenRun) eachBit(key uint64, visit func(word *uint64, bit uint64) bool) bool {
	bits := uint64(len(r.bloom)) * 64
	at, step := key, key>>32|1
	for range bloomTests {
		if i := at % bits; !visit(&r.bloom[i/64], 1<<(i%64)) {
			return false
		}
		at += step
	}
	return true
}

func (r *seenRun) find(key uint64) (n uint32, met bool, err error) {
	if !r.eachBit(key, func(word *uint64, bit uint64) bool { return *word&bit != 0 }) {
		return 0, false, nil
	}
	page := sort.Search(len(r.first), func(i int) bool { return r.first[i] > key }) - 1
	if page < 0 {
		return 0, false, nil
	}
	entries := min(runPage, r.n-page*runPage)
	text := make([]byte, entries*runEntry)
	if _, err := r.file.ReadAt(text, int64(page)*runPage*runEntry); err != nil {
		return 0, false, fmt.Errorf("look up whether a line was read: %w", err)
	}
	keyAt := func(i int) uint64 { return binary.BigEndian.Uint64(text[i*runEntry:]) }
	i, met := sort.Find(entries, func(i int) int { return cmp.Compare(key, keyAt(i)) })
	if !met {
		return 0, false, nil
	}
	return binary.BigEndian.Uint32(text[i*runEntry+8:]), true, nil
}

func (r *seenRun) close() error { return r.file.Close() }

// mergeRuns passes the texts of two runs in ascending order, each once, with the number of the newer run.
func mergeRuns(older, newer *seenRun, add func(key uint64, n uint32) error) error {
	a, b := older.reader(), newer.reader()
	for !a.ended || !b.ended {
		next := b
		if b.ended || !a.ended && a.key < b.key {
			next = a
		}
		if err := add(next.key, next.n); err != nil {
			return err
		}
		if next == b && !a.ended && a.key == b.key {
			a.next()
		}
		next.next()
	}
	return errors.Join(a.err, b.err)
}

// runReader reads a run from its beginning.
type runReader struct {
	in    *bufio.Reader
	key   uint64
	n     uint32
	ended bool // there is no further text, or err says why it cannot be read
	err   error
}

func (r *seenRun) reader() *runReader {
	reader := &runReader{in: bufio.NewReaderSize(io.NewSectionReader(r.file, 0, int64(r.n)*runEntry), 1<<16)}
	reader.next()
	return reader
}

func (r *runReader) next() {
	var entry [runEntry]byte
	switch _, err := io.ReadFull(r.in, entry[:]); {
	case errors.Is(err, io.EOF):
		r.ended = true
	case err != nil:
		r.ended, r.err = true, fmt.Errorf("read which lines were read: %w", err)
	default:
		r.key, r.n = binary.BigEndian.Uint64(entry[:]), binary.BigEndian.Uint32(entry[8:])
	}
}
