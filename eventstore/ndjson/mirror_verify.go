package ndjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/pronto-lab/openclawd/eventstore"
)

// MirrorFaultKind says how a line differs from the event log.
type MirrorFaultKind string

const (
	MirrorMissing  MirrorFaultKind = "missing"   // events have no line
	MirrorTwice    MirrorFaultKind = "twice"     // an event has a second line
	MirrorOrder    MirrorFaultKind = "order"     // lines of later events come first
	MirrorChanged  MirrorFaultKind = "changed"   // a line differs from what is written for its event
	MirrorNotBlank MirrorFaultKind = "not_blank" // the payload was redacted, but the line still has it
)

// MirrorFault is a place where coordination logs differ from what a mirror has written.
type MirrorFault struct {
	Kind   MirrorFaultKind `json:"kind"`
	File   string          `json:"file"`   // its name in the directory of logs; for missing lines the file in which they belong, "" for after all lines
	Line   int64           `json:"line"`   // from 1; for missing lines the line before which they belong
	Seq    int64           `json:"seq"`    // of the event; the first of several
	Events int64           `json:"events"` // at least 1
	What   string          `json:"what"`
}

// MirrorVerification is the result of VerifyMirror.
type MirrorVerification struct {
	Seq      int64 `json:"seq"` // how far the mirror has written, by its mark and its lines; 0: nothing was ever mirrored
	Files    int64 `json:"files"`
	Lines    int64 `json:"lines"`    // lines of ours
	Redacted int64 `json:"redacted"` // blank lines among those
	Others   int64 `json:"others"`   // lines of other programs
	Gone     int64 `json:"gone"`     // events whose lines were in archives that were removed since
	Faults   int64 `json:"faults"`
}

// VerifyMirror checks the coordination logs of a state directory against the event log: each line with the id of an
// event of ours is what a Mirror writes for it; up to where the mirror has come none is missing or duplicated; they
// are in the order of the events; and those of redacted events are blank. Nothing is written. It works beside a
// running mirror, whose unfinished line does not count. It uses Log, StateDir, Internal, Mark and MaxBytes of o. Every
// fault is passed to tell; progress, in bytes, may be nil.
//
// Missing lines at the beginning are not a fault if they may have been in archives that were moved away since: lines
// of an earlier month, or half of what an archive holds.
func VerifyMirror(ctx context.Context, o MirrorOptions, tell func(MirrorFault), progress func(done, total int64)) (MirrorVerification, error) {
	c := &mirrorCheck{m: NewMirror(o), tell: tell, progress: progress}
	mark, err := c.m.readMark(ctx) // read before the files, so that what it names is there
	if err != nil {
		return c.proof, fmt.Errorf("verify mirror: %w", err)
	}
	for range maxLooks {
		c.proof, c.queue, c.read, c.gaps, c.done, c.held = MirrorVerification{Seq: mark}, nil, 0, nil, 0, nil
		if err = c.run(ctx); !errors.Is(err, errMoving) {
			break
		}
	}
	if err != nil {
		return c.proof, fmt.Errorf("verify mirror: %w", err)
	}
	for i := range c.held {
		tell(c.held[i])
	}
	return c.proof, nil
}

// mirrorCheck is one run of VerifyMirror.
type mirrorCheck struct {
	m        *Mirror
	tell     func(MirrorFault)
	progress func(done, total int64)
	proof    MirrorVerification
	queue    []eventstore.Event // events of ours whose lines come next
	read     int64              // the log was read up to here
	gaps     []mirrorGap
	held     []MirrorFault // reported at the end, because the files may have to be read again

	first    bool // no line of any file was read yet
	file     string
	line     int64
	newest   int64 // of the events whose lines were found
	done, of int64 // bytes
}

// mirrorGap is a run of events that were skipped before a later one.
type mirrorGap struct {
	file        string
	line        int64
	first, last int64
	events      int64
	late        map[int64]bool // events whose lines were found after all
}

func (c *mirrorCheck) run(ctx context.Context) error {
	s, err := takeSnapshot(c.m.opts.StateDir)
	if err != nil {
		return err
	}
	defer s.close()
	c.of, c.first, c.newest = 0, true, 0
	for i := range s.entries {
		c.of += s.entries[i].size
	}
	for i := range s.entries {
		e := &s.entries[i]
		if s.live != nil && i == len(s.entries)-1 {
			err = c.scan(ctx, e, io.NewSectionReader(s.live, 0, e.size))
		} else {
			err = c.scanArchive(ctx, e)
		}
		if err != nil {
			return err
		}
		c.proof.Files++
	}
	return c.finish(ctx)
}

func (c *mirrorCheck) scanArchive(ctx context.Context, e *entry) error {
	file, err := openEntry(e)
	if err != nil {
		return err
	}
	defer file.Close()
	return c.scan(ctx, e, io.NewSectionReader(file, 0, e.size))
}

func (c *mirrorCheck) scan(ctx context.Context, e *entry, in io.Reader) error {
	c.file, c.line = filepath.Base(e.path), 0
	lines := newLines(in)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		raw, err := lines.next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.path, err)
		}
		c.line++
		c.done += raw.size
		switch {
		case !raw.ended: // it is being written, or was truncated by a crash
		case raw.over != nil:
			c.proof.Others++
		default:
			if err := c.checkLine(ctx, raw.text); err != nil {
				return err
			}
		}
		c.first = false
		if c.progress != nil && c.line%1000 == 0 {
			c.progress(c.done, c.of)
		}
	}
}

// checkLine checks a line against the event whose id it has.
func (c *mirrorCheck) checkLine(ctx context.Context, text []byte) error {
	id, ok := lineID(text)
	if !ok {
		c.proof.Others++
		return nil
	}
	next, err := c.next(ctx)
	if err != nil {
		return err
	}
	if next != nil && next.ID == id {
		c.queue = c.queue[1:]
		return c.compareLine(ctx, text, next)
	}
	e, err := c.m.opts.Log.EventByID(ctx, id)
	if errors.Is(err, eventstore.ErrNotFound) {
		c.proof.Others++
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case !c.m.ours(&e):
		c.proof.Others++
		return nil
	case next == nil || e.Seq < next.Seq:
		return c.late(ctx, text, &e)
	}
	if err := c.pass(ctx, e.Seq-1, e.RecordedAt); err != nil {
		return err
	}
	if next, err := c.next(ctx); err != nil || next == nil {
		return err
	}
	c.queue = c.queue[1:]
	return c.compareLine(ctx, text, &e)
}

// next is the event of ours whose line should come next; nil at the end of the log.
func (c *mirrorCheck) next(ctx context.Context) (*eventstore.Event, error) {
	const page = 256
	for len(c.queue) == 0 {
		events, err := c.m.opts.Log.Read(ctx, c.read, page)
		if err != nil || len(events) == 0 {
			return nil, err
		}
		c.read = events[len(events)-1].Seq
		for i := range events {
			if c.m.ours(&events[i]) {
				c.queue = append(c.queue, events[i])
			}
		}
	}
	return &c.queue[0], nil
}

// pass skips the events up to a seq. The line that was found instead belongs to an event recorded at a time in ms.
func (c *mirrorCheck) pass(ctx context.Context, until, recordedAt int64) error {
	g := mirrorGap{file: c.file, line: c.line}
	bytes, month := int64(0), ""
	for {
		e, err := c.next(ctx)
		if err != nil {
			return err
		}
		if e == nil || e.Seq > until {
			break
		}
		if g.events == 0 {
			g.first = e.Seq
		}
		g.last = e.Seq
		g.events++
		bytes += int64(len(c.lineOf(e))) + 1
		month = monthOf(e.RecordedAt)
		c.queue = c.queue[1:]
	}
	switch {
	case g.events == 0:
	case c.first && (month != monthOf(recordedAt) || bytes >= c.m.opts.MaxBytes/2):
		c.proof.Gone += g.events
	default:
		c.gaps = append(c.gaps, g)
	}
	return nil
}

// late handles a line whose event was skipped, or already had its line.
func (c *mirrorCheck) late(ctx context.Context, text []byte, e *eventstore.Event) error {
	for i := range c.gaps {
		g := &c.gaps[i]
		if e.Seq < g.first || e.Seq > g.last || g.late[e.Seq] {
			continue
		}
		if g.late == nil {
			g.late = map[int64]bool{}
		}
		g.late[e.Seq] = true
		c.fault(MirrorOrder, e.Seq, fmt.Sprintf("line of event %d comes after that of event %d", e.Seq, c.newest))
		return c.compareLine(ctx, text, e)
	}
	c.fault(MirrorTwice, e.Seq, fmt.Sprintf("line of event %d occurs a second time", e.Seq))
	return nil
}

// compareLine compares a line with what is written for its event.
func (c *mirrorCheck) compareLine(ctx context.Context, text []byte, e *eventstore.Event) error {
	c.proof.Lines++
	c.newest = max(c.newest, e.Seq)
	blank := e.Redacted()
	if blank {
		c.proof.Redacted++
	}
	if bytes.Equal(text, c.lineOf(e)) {
		return nil
	}
	if blank && bytes.Equal(text, blankLine(&eventstore.NewEvent{Type: e.Type, AgentID: e.AgentID, TS: e.TS}, e.ID, len(text))) {
		return nil
	}
	if now, err := c.m.opts.Log.EventByID(ctx, e.ID); err != nil || now.Redacted() != blank {
		return err // it is being redacted
	}
	switch _, isBlank := blankedID(text); {
	case blank && !isBlank:
		c.fault(MirrorNotBlank, e.Seq, fmt.Sprintf("payload of event %d was redacted, but its line is not blank", e.Seq))
	default:
		c.fault(MirrorChanged, e.Seq, fmt.Sprintf("line of event %d differs from what was written for it", e.Seq))
	}
	return nil
}

func (c *mirrorCheck) lineOf(e *eventstore.Event) []byte { return appendID(appendRecord(nil, e), e.ID) }

// finish reports what is missing: skipped events, and what the mark says is there.
func (c *mirrorCheck) finish(ctx context.Context) error {
	c.proof.Seq = max(c.proof.Seq, c.newest)
	c.file, c.line, c.first = "", 0, false
	if err := c.pass(ctx, c.proof.Seq, 0); err != nil {
		return err
	}
	for i := range c.gaps {
		g := &c.gaps[i]
		missing := g.events - int64(len(g.late))
		if missing == 0 {
			continue
		}
		what := fmt.Sprintf("%d of our events from %d to %d have no line", missing, g.first, g.last)
		if g.first == g.last {
			what = fmt.Sprintf("event %d has no line", g.first)
		}
		c.proof.Faults++
		c.held = append(c.held, MirrorFault{Kind: MirrorMissing, File: g.file, Line: g.line, Seq: g.first, Events: missing, What: what})
	}
	return nil
}

// maxHeldFaults bounds how many faults are kept. Further ones are only counted.
const maxHeldFaults = 1000

func (c *mirrorCheck) fault(kind MirrorFaultKind, seq int64, what string) {
	if c.proof.Faults++; len(c.held) < maxHeldFaults {
		c.held = append(c.held, MirrorFault{Kind: kind, File: c.file, Line: c.line, Seq: seq, Events: 1, What: what})
	}
}

// lineID parses the id of a line, wherever in it that is.
func lineID(text []byte) (id eventstore.ID, ok bool) {
	if id, ok = mirroredID(text); ok || !bytes.Contains(text, []byte(`"id"`)) {
		return id, ok
	}
	var said struct {
		ID eventstore.ID `json:"id"`
	}
	err := json.Unmarshal(text, &said)
	return said.ID, err == nil && !said.ID.IsZero()
}
