package ndjson

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/pronto-lab/openclawd/eventstore"
)

// BlankOptions select which lines of coordination logs are overwritten. StateDir, Log and IDs are required.
type BlankOptions struct {
	StateDir string
	Log      eventstore.Reader
	// IDs are the ids of events whose payloads were removed. True: the id was derived from a line, which may still be
	// in a log.
	IDs map[eventstore.ID]bool
	// Holds reports whether a text that is not an event, such as a truncated line, must be removed too. nil: none
	// must.
	Holds func(text []byte) bool
	// Finished states that the logs have no writer: text after the last line feed is examined too.
	Finished bool
	// Positions is the positions file of a follower that is not running; it is updated to match the changed logs. ""
	// is none.
	Positions string
}

// BlankReport reports what was overwritten.
type BlankReport struct {
	Lines int64    // lines that are blank now because of these events, or already were
	Files []string // files that were written to
}

// Blank overwrites, in all logs of a state directory, the lines of events whose payloads were removed. Each is
// replaced by a line of the same length that contains its type, "redacted":true and its id, or by blanks if there is
// no room for that. Files keep their size and offsets, importing them again adds nothing, and a mirror still finds the
// last line that it wrote. Lines are synced when Blank returns; repeating it is harmless.
//
// If equal lines stand for several events, the lines of the selected events are overwritten: all, if all are selected.
// If only some are, and archives were removed, the lines are counted from the end.
func Blank(ctx context.Context, o BlankOptions) (report BlankReport, err error) {
	if len(o.IDs) == 0 && o.Holds == nil {
		return report, nil
	}
	paths, err := Logs(o.StateDir)
	if err != nil {
		return report, err
	}
	held, err := heldPositions(o.Positions)
	if err != nil {
		return report, err
	}
	b := &blanking{BlankOptions: o, counts: map[idChain]uint32{}, meant: map[idChain]*meantChain{}, hits: map[string]map[int64]hit{}, found: map[eventstore.ID]bool{}}
	for _, path := range paths {
		if err := b.scan(ctx, path, b.inspect); err != nil {
			return report, err
		}
	}
	if err := b.resolve(ctx); err != nil {
		return report, err
	}
	if len(b.meant) > 0 {
		for _, path := range paths {
			if err := b.scan(ctx, path, b.pick); err != nil {
				return report, err
			}
		}
	}
	report.Lines = b.before
	for _, path := range paths {
		hits := b.hits[path]
		if len(hits) == 0 {
			continue
		}
		n, err := overwrite(path, hits)
		if report.Lines += n; err != nil {
			return report, err
		}
		report.Files = append(report.Files, path)
	}
	return report, held.save()
}

// blanking is one run of Blank.
type blanking struct {
	BlankOptions
	counts map[idChain]uint32       // number of lines of each chain
	meant  map[idChain]*meantChain  // chains with a selected event
	found  map[eventstore.ID]bool   // events whose line was found by its chain
	hits   map[string]map[int64]hit // by path and offset
	before int64                    // lines that were blank already
}

// meantChain is a group of equal lines of which some are selected.
type meantChain struct {
	stored []chained // the events of the chain that still have lines, unless their archives were removed
	met    uint32
}

type chained struct {
	id    eventstore.ID
	meant bool
}

// event returns the event of the nth of all equal lines, counted from 0, if it is selected.
func (c *meantChain) event(n, all int) (id eventstore.ID, meant bool) {
	if !slices.ContainsFunc(c.stored, func(e chained) bool { return !e.meant }) {
		return c.stored[min(n, len(c.stored)-1)].id, true
	}
	if all <= len(c.stored) {
		n += len(c.stored) - all
	}
	if n >= len(c.stored) || !c.stored[n].meant {
		return id, false
	}
	return c.stored[n].id, true
}

// hit is a line that is overwritten.
type hit struct {
	offset int64
	was    eventstore.Hash // offsets of its bytes
	now    []byte          // nil: blanks
	size   int64
}

// logLine is a line found by a scan, without its line feed.
type logLine struct {
	path   string
	offset int64
	raw    rawLine
	chain  idChain
	own    eventstore.ID // its own id; zero if it has none
	event  *eventstore.NewEvent
	blank  bool // overwritten earlier
}

// scan passes every line of a file to use.
func (b *blanking) scan(ctx context.Context, path string, use func(*logLine) error) error {
	file, _, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return fmt.Errorf("blank lines: %w", err)
	}
	defer file.Close()
	lines := newLines(file)
	for offset := int64(0); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("blank lines of %s: %w", path, err)
		}
		l := logLine{path: path, offset: offset, raw: raw}
		offset += raw.size
		if !raw.ended && !b.Finished {
			return nil // still being written
		}
		if len(trimLine(raw.text)) > 0 || raw.over != nil {
			l.read()
			if err := use(&l); err != nil {
				return err
			}
		}
	}
}

// read finds the events that a line may stand for, as Importer.take does.
func (l *logLine) read() {
	if l.raw.over != nil {
		l.chain = idChain{domain: rejectedDomain, digest: l.raw.over.SHA256}
		return
	}
	text := decode(bytes.Clone(trimLine(l.raw.text)))
	l.chain = idChain{domain: rejectedDomain, digest: sha256.Sum256(text)}
	parsed, reason := parse(text)
	if reason != "" {
		l.own, l.blank = blankedID(text)
		return
	}
	l.chain.domain = eventDomain
	e := &parsed.Event
	if parsed.Exported != nil {
		exported := newEvent(parsed.Exported)
		e = &exported
	}
	l.chain.ts, l.own, l.event = e.TS, e.ID, e
	if !l.own.IsZero() {
		_, l.blank = blankedID(text)
	}
}

// size is the length of a line in bytes, without its line feed.
func (l *logLine) size() int64 {
	if l.raw.ended {
		return l.raw.size - 1
	}
	return l.raw.size
}

// inspect selects a line that has the id of a selected event, or that is not an event and holds text to remove, and
// counts the others by their chains.
func (b *blanking) inspect(l *logLine) error {
	if _, meant := b.IDs[l.own]; meant && !l.own.IsZero() {
		b.found[l.own] = true
		b.schedule(l, l.own)
		return nil
	}
	if l.blank {
		return nil
	}
	n := b.counts[l.chain]
	b.counts[l.chain] = n + 1
	if id := l.chain.id(n); b.IDs[id] {
		b.found[id] = true
		b.meant[l.chain] = &meantChain{}
	}
	if l.event == nil && b.Holds != nil && b.Holds(l.raw.text) {
		b.schedule(l, eventstore.ID{})
	}
	return nil
}

// resolve finds the selected events of each chain. If archives were removed, the first remaining lines stand for later
// events.
func (b *blanking) resolve(ctx context.Context) error {
	missing := false
	for id, derived := range b.IDs {
		missing = missing || derived && !b.found[id]
	}
	if missing {
		for c := range b.counts {
			if err := b.weigh(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}
	for c := range b.meant {
		if err := b.weigh(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// weigh reads from the log which events a chain has. The line of one that was redacted earlier is already blank.
func (b *blanking) weigh(ctx context.Context, c idChain) error {
	var stored []chained
	some := false
	for n := uint32(0); ; n++ {
		id := c.id(n)
		e, err := b.Log.EventByID(ctx, id)
		if errors.Is(err, eventstore.ErrNotFound) {
			break
		}
		if err != nil {
			return fmt.Errorf("blank lines: %w", err)
		}
		if _, meant := b.IDs[id]; meant || !e.Redacted() {
			stored, some = append(stored, chained{id, meant}), some || meant
		}
	}
	delete(b.meant, c)
	if some {
		b.meant[c] = &meantChain{stored: stored}
	}
	return nil
}

// pick selects the lines of chains with selected events.
func (b *blanking) pick(l *logLine) error {
	if _, meant := b.IDs[l.own]; l.blank || meant && !l.own.IsZero() {
		return nil
	}
	c := b.meant[l.chain]
	if c == nil {
		return nil
	}
	id, meant := c.event(int(c.met), int(b.counts[l.chain]))
	c.met++
	if meant {
		b.schedule(l, id)
	}
	return nil
}

// schedule schedules a line to be overwritten.
func (b *blanking) schedule(l *logLine, id eventstore.ID) {
	if l.blank {
		b.before++
		return
	}
	if b.hits[l.path] == nil {
		b.hits[l.path] = map[int64]hit{}
	}
	if _, taken := b.hits[l.path][l.offset]; taken {
		return
	}
	h := hit{offset: l.offset, size: l.size()}
	if l.raw.over == nil {
		h.was = sha256.Sum256(l.raw.text)
		if l.raw.ended && !id.IsZero() {
			h.now = blankLine(l.event, id, len(l.raw.text))
		}
	}
	b.hits[l.path][l.offset] = h
}

// blankLine returns a line of that many bytes that identifies its event as far as there is room, or nil if there is no
// room for its id.
func blankLine(e *eventstore.NewEvent, id eventstore.ID, size int) []byte {
	const mark = `"redacted":true`
	tail := appendString([]byte(`,"id":`), id.String())
	tail = append(tail, '}')
	var fronts [][]byte
	if e != nil {
		envelope := appendEnvelope(nil, e.Type, e.AgentID, e.TS)
		fronts = append(fronts, append(envelope[:len(envelope)-1], `,"data":{},`+mark...), append(appendString([]byte(`{"type":`), e.Type), `,`+mark...))
	}
	fronts = append(fronts, []byte(`{`+mark))
	for _, front := range fronts {
		if room := size - len(front) - len(tail); room >= 0 {
			return slices.Concat(front, bytes.Repeat([]byte{' '}, room), tail)
		}
	}
	return nil
}

// blankedID parses the id of an overwritten line.
func blankedID(text []byte) (id eventstore.ID, ok bool) {
	var said struct {
		Redacted bool          `json:"redacted"`
		ID       eventstore.ID `json:"id"`
	}
	if len(text) == 0 || text[0] != '{' || !bytes.Contains(text, []byte(`"redacted":true`)) || json.Unmarshal(text, &said) != nil {
		return id, false
	}
	return said.ID, said.Redacted && !said.ID.IsZero()
}

// overwrite replaces the lines, provided that the file still contains what was read.
func overwrite(path string, hits map[int64]hit) (lines int64, err error) {
	file, _, err := openRegular(path, os.O_RDWR)
	if err != nil {
		return 0, fmt.Errorf("blank lines: %w", err)
	}
	defer func() { err = errors.Join(err, file.Sync(), file.Close()) }()
	for _, offset := range slices.Sorted(maps.Keys(hits)) {
		h := hits[offset]
		if h.was != (eventstore.Hash{}) {
			text, err := readAt(file, h.offset, h.size)
			if errors.Is(err, errChanged) || err == nil && hashOf(text) != h.was {
				return lines, fmt.Errorf("blank lines of %s: %w", path, errChanged)
			}
			if err != nil {
				return lines, err
			}
		}
		if err := h.write(file); err != nil {
			return lines, fmt.Errorf("blank lines of %s: %w", path, err)
		}
		lines++
	}
	return lines, nil
}

func (h *hit) write(file *os.File) error {
	if h.now != nil {
		_, err := file.WriteAt(h.now, h.offset)
		return err
	}
	const step = 64 << 10
	for at, end := h.offset, h.offset+h.size; at < end; at += step {
		if _, err := file.WriteAt(bytes.Repeat([]byte{' '}, int(min(step, end-at))), at); err != nil {
			return err
		}
	}
	return nil
}
