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

// MirrorFaultKind says in what way a line is not what the event log says.
type MirrorFaultKind string

const (
	MirrorMissing  MirrorFaultKind = "missing"   // events have no line
	MirrorTwice    MirrorFaultKind = "twice"     // an event has another line already
	MirrorOrder    MirrorFaultKind = "order"     // lines of later events come before
	MirrorChanged  MirrorFaultKind = "changed"   // a line is not what is written for its event
	MirrorNotBlank MirrorFaultKind = "not_blank" // the payload was redacted, the line still has one
)

// MirrorFault is a place where coordination logs are not what a mirror has written.
type MirrorFault struct {
	Kind   MirrorFaultKind `json:"kind"`
	File   string          `json:"file"`   // its name in the directory of logs; of what is missing the one in which it belongs, "" for behind all lines
	Line   int64           `json:"line"`   // from 1; of what is missing the one before which it belongs
	Seq    int64           `json:"seq"`    // of the event; of several the first
	Events int64           `json:"events"` // at least 1
	What   string          `json:"what"`
}

// MirrorProof is what VerifyMirror has found.
type MirrorProof struct {
	Seq      int64 `json:"seq"` // up to which the mirror has written, as its mark and its lines say; 0: nothing was ever mirrored
	Files    int64 `json:"files"`
	Lines    int64 `json:"lines"`    // of ours
	Redacted int64 `json:"redacted"` // lines of those that are blank
	Others   int64 `json:"others"`   // lines of somebody else
	Gone     int64 `json:"gone"`     // events whose lines lay in archives that are not there any more
	Faults   int64 `json:"faults"`
}

// VerifyMirror holds the coordination logs of a state directory against the event log: each line with the id of an event of ours is the one that a
// Mirror writes for it, up to where the mirror has come none is missing, none stands there twice, they follow one another as the events do, and
// those of redacted events are blank. Nothing is written. It works beside a running mirror, whose unfinished line does not count. Log, StateDir,
// Internal, Mark and MaxBytes of o count. Every fault is given to tell; progress, in bytes, may be nil.
//
// That events at the beginning have no line is no fault where they may have lain in archives that were moved away since: of an earlier month, or
// half as much as an archive takes.
func VerifyMirror(ctx context.Context, o MirrorOptions, tell func(MirrorFault), progress func(done, total int64)) (MirrorProof, error) {
	c := &mirrorCheck{m: NewMirror(o), tell: tell, progress: progress}
	mark, err := c.m.readMark(ctx) // before the files are looked at: what it speaks of is there
	if err != nil {
		return c.proof, fmt.Errorf("verify mirror: %w", err)
	}
	for range maxLooks {
		c.proof, c.queue, c.read, c.gaps, c.done, c.held = MirrorProof{Seq: mark}, nil, 0, nil, 0, nil
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
	proof    MirrorProof
	queue    []eventstore.Event // events of ours whose lines come next
	read     int64              // the log was read up to here
	gaps     []mirrorGap
	held     []MirrorFault // are told at the end: the files may have to be read again

	first    bool // no line of any file was read yet
	file     string
	line     int64
	newest   int64 // of the events whose lines were met
	done, of int64 // bytes
}

// mirrorGap is events that were passed over on the way to a later one.
type mirrorGap struct {
	file        string
	line        int64
	first, last int64
	events      int64
	late        map[int64]bool // whose lines were met after all
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
		case !raw.ended: // it is being written, or a kill has cut it off
		case raw.over != nil:
			c.proof.Others++
		default:
			if err := c.take(ctx, raw.text); err != nil {
				return err
			}
		}
		c.first = false
		if c.progress != nil && c.line%1000 == 0 {
			c.progress(c.done, c.of)
		}
	}
}

// take holds a line against the event whose id it has.
func (c *mirrorCheck) take(ctx context.Context, text []byte) error {
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
		return c.hold(ctx, text, next)
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
	return c.hold(ctx, text, &e)
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

// pass leaves out the events up to a seq. The line that was met instead is of an event that was recorded at a time in ms.
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

// late takes a line whose event was passed over, or had its line before.
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
		c.fault(MirrorOrder, e.Seq, fmt.Sprintf("the line of event %d comes after that of event %d", e.Seq, c.newest))
		return c.hold(ctx, text, e)
	}
	c.fault(MirrorTwice, e.Seq, fmt.Sprintf("the line of event %d stands there a second time", e.Seq))
	return nil
}

// hold compares a line with what is written for its event.
func (c *mirrorCheck) hold(ctx context.Context, text []byte, e *eventstore.Event) error {
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
		c.fault(MirrorNotBlank, e.Seq, fmt.Sprintf("the payload of event %d was redacted, its line is not blank", e.Seq))
	default:
		c.fault(MirrorChanged, e.Seq, fmt.Sprintf("the line of event %d is not the one that was written for it", e.Seq))
	}
	return nil
}

func (c *mirrorCheck) lineOf(e *eventstore.Event) []byte { return appendID(appendRecord(nil, e), e.ID) }

// finish looks for what is missing: what was passed over, and what the mark says is there.
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

// maxHeldFaults bounds what is remembered of faults. Further ones are counted.
const maxHeldFaults = 1000

func (c *mirrorCheck) fault(kind MirrorFaultKind, seq int64, what string) {
	if c.proof.Faults++; len(c.held) < maxHeldFaults {
		c.held = append(c.held, MirrorFault{Kind: kind, File: c.file, Line: c.line, Seq: seq, Events: 1, What: what})
	}
}

// lineID reads the id of a line, wherever in it that stands.
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
