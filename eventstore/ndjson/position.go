package ndjson

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/pronto-lab/openclawd/eventstore"
)

// positionsVersion is the format of a positions file. A file of another format is ignored, at the cost of reading the
// logs once.
const positionsVersion = 2

// Positions say how far which logs were read into an event log. At the moment when they were taken,
//
//   - every line before an offset was stored with a seq up to Seq, and
//   - no line after one was.
//
// From there a reading can continue exactly, however much was stored since (see Importer.Resume). They are stored in a
// file that is replaced atomically, and may be stale or lost: then more is read again, which adds nothing.
type Positions struct {
	Version int    `json:"version"`
	Files   []Mark `json:"files"` // oldest first
	// Seq and Hash name the head of the event log at that moment: the positions are valid only for a log that has this
	// event.
	Seq  int64           `json:"seq"`
	Hash eventstore.Hash `json:"hash"`
}

// Mark says how far a log file was read, and how to recognise it.
type Mark struct {
	Path   string          `json:"path"`
	Device uint64          `json:"device"` // with Inode, identifies a file whatever its name; both 0 if the system has no such numbers
	Inode  uint64          `json:"inode"`
	Offset int64           `json:"offset"`        // of the first byte that is not stored
	Lines  int64           `json:"lines"`         // lines before it
	Cut    int64           `json:"cut,omitempty"` // bytes after it that were rejected as an unfinished line
	First  eventstore.Hash `json:"first"`         // SHA-256 of the first markBytes bytes, or of all before Offset
	Last   eventstore.Hash `json:"last"`          // SHA-256 of the last markBytes bytes before Offset, or of all
}

// markBytes is how much of both ends of what was read is compared to recognise a file.
const markBytes = 4 << 10

// ReadPositions reads a positions file. The error is fs.ErrNotExist if there is none.
func ReadPositions(path string) (Positions, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return Positions{}, fmt.Errorf("read positions: %w", err)
	}
	var p Positions
	if err := json.Unmarshal(text, &p); err != nil {
		return Positions{}, fmt.Errorf("read positions %s: %w", path, err)
	}
	if p.Version != positionsVersion {
		return Positions{}, fmt.Errorf("read positions %s: version %d, this binary knows %d", path, p.Version, positionsVersion)
	}
	return p, nil
}

// holdIn reports whether they belong to this event log.
func (p *Positions) holdIn(ctx context.Context, log eventstore.Reader) (bool, error) {
	return isOf(ctx, log, eventstore.Head{Seq: p.Seq, Hash: p.Hash})
}

// save replaces the file at path. It does not sync: losing the file in a power cut is harmless.
func (p *Positions) save(path string) error {
	p.Version = positionsVersion
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("save positions: %w", err)
	}
	if err := replaceNote(path, text); err != nil {
		return fmt.Errorf("save positions: %w", err)
	}
	return nil
}
