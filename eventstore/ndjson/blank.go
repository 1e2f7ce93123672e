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

// BlankOptions say which lines of coordination logs are overwritten. StateDir, Log and IDs are required.
type BlankOptions struct {
	StateDir string
	Log      eventstore.Reader
	// IDs are those of events whose payloads are gone. True: the id was derived from a line, which may still stand in a log.
	IDs map[eventstore.ID]bool
	// Holds reports whether a text that is no event, such as a line that a kill has cut off, has to go too. nil: none has.
	Holds func(text []byte) bool
	// Finished says that nobody writes the logs: also what stands behind the last line feed is looked at.
	Finished bool
	// Positions is the file of a follower that does not run; what it says of the logs is made to fit. "" is none.
	Positions string
}

// BlankReport says what was overwritten.
type BlankReport struct {
	Lines int64    // that are blank now because of these events, or were already
	Files []string // that were written to
}

// Blank overwrites, in all logs of a state directory, the lines of events whose payloads are gone, each with a line of the same length that says
// what kind of event it was, "redacted":true, and its id. Where there is no room for that, with blanks. So files stay what they are, offsets in
// them hold, importing them again adds nothing, and a mirror finds the last line that it wrote. Lines are synced when Blank returns; doing it
// again is no error.
//
// Of equal lines that stand for several events those are overwritten whose events are meant: all, where all are. Where some are not, and
// archives were removed, they are counted from the end.
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
		if err := b.scan(ctx, path, b.look); err != nil {
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
	counts map[idChain]uint32       // lines of each chain
	meant  map[idChain]*meantChain  // chains of which an event is meant
	found  map[eventstore.ID]bool   // events of which a line was found by its chain
	hits   map[string]map[int64]hit // by path and offset
	before int64                    // lines that were blank already
}

// meantChain is equal lines of which some are meant.
type meantChain struct {
	stored []chained // those events of the chain that still have lines, unless their archives are gone
	met    uint32
}

type chained struct {
	id    eventstore.ID
	meant bool
}

// event is that of the nth of all equal lines, counted from 0, if it is meant.
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
	was    eventstore.Hash // of its bytes
	now    []byte          // nil: blanks
	size   int64
}

// logLine is a line as a scan finds it, without its line feed.
type logLine struct {
	path   string
	offset int64
	raw    rawLine
	chain  idChain
	own    eventstore.ID // that it has itself; zero for none
	event  *eventstore.NewEvent
	blank  bool // it was overwritten before
}

// scan gives every line of a file to use.
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
			return nil // somebody is writing it
		}
		if len(trimLine(raw.text)) > 0 || raw.over != nil {
			l.read()
			if err := use(&l); err != nil {
				return err
			}
		}
	}
}

// read finds out which events a line may stand for, as Importer.take does.
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

// size is how many bytes a line has, without its line feed.
func (l *logLine) size() int64 {
	if l.raw.ended {
		return l.raw.size - 1
	}
	return l.raw.size
}

// look takes a line that has the id of an event that is meant, or that is none and holds what has to go, and counts the others by their chains.
func (b *blanking) look(l *logLine) error {
	if _, meant := b.IDs[l.own]; meant && !l.own.IsZero() {
		b.found[l.own] = true
		b.take(l, l.own)
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
		b.take(l, eventstore.ID{})
	}
	return nil
}

// resolve finds out which events of each chain are meant. Where archives were removed, the first lines that are left stand for later events.
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

// weigh asks the log which events of a chain there are. The line of one that was redacted before is blank already.
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

// pick takes the lines of chains of which some are meant.
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
		b.take(l, id)
	}
	return nil
}

// take has a line overwritten.
func (b *blanking) take(l *logLine, id eventstore.ID) {
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

// blankLine is a line of that many bytes which says what event it was, as far as there is room; nil where there is none for its id.
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

// blankedID reads the id of a line that was overwritten.
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

// overwrite writes lines over those that were read, as far as these are still there.
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
