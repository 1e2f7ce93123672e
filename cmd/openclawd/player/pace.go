package player

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Bounds of what is done at once.
const (
	page     = 500                    // events that are read ahead
	together = 100                    // events of one step, at most
	instant  = 5 * time.Millisecond   // events that are due so soon after each other happen in one step
	breath   = 200 * time.Microsecond // between two steps where there is no pause, so that readers get their turn
	tooLate  = time.Second
)

// Run lets the events of the range happen, until the last one has or ctx ends, which is no error.
func (p *Player) Run(ctx context.Context) error {
	m := metronome{speed: p.opts.Speed, maxPause: p.opts.MaxPause, due: time.Now()}
	after := p.opts.From - 1
	for after < p.opts.To {
		events, err := p.opts.Log.Read(ctx, after, int(min(page, p.opts.To-after)))
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			return err
		case len(events) == 0:
			return &RangeError{p.opts.From, p.opts.To, after}
		}
		if after < p.opts.From {
			m.begin(&events[0])
		}
		after = events[len(events)-1].Seq
		for len(events) > 0 {
			n := m.take(events)
			if !m.wait(ctx) {
				return nil
			}
			if err := p.move(context.WithoutCancel(ctx), events[:n]); err != nil {
				return err
			}
			events = events[n:]
		}
	}
	return nil
}

// metronome says when events happen again.
type metronome struct {
	speed    float64 // 0: at once
	maxPause time.Duration

	last     time.Time // of the event before
	imported bool      // it is
	due      time.Time // when it was to happen again
}

// begin takes an event as the first one, which is due at once.
func (m *metronome) begin(e *eventstore.Event) { m.last, m.imported = happened(e) }

// happened is when an event happened, as far as its pace goes: when it was recorded. Imported lines were all recorded when somebody imported them; of them it
// is the time that they say.
func happened(e *eventstore.Event) (at time.Time, imported bool) {
	if e.Actor == eventstore.ActorImport {
		return time.UnixMilli(e.TS), true
	}
	return recorded(e), false
}

// take is how many of some events happen together next; due is when.
func (m *metronome) take(events []eventstore.Event) int {
	if m.speed <= 0 {
		return min(len(events), together)
	}
	m.step(&events[0])
	begin := m.due
	for n := 1; n < min(len(events), together); n++ {
		next := *m
		next.step(&events[n])
		if next.due.Sub(begin) >= instant {
			return n
		}
		*m = next
	}
	return min(len(events), together)
}

// step goes on to the next event. Between an imported event and another one there is no pause: their times have nothing to do with each other.
func (m *metronome) step(e *eventstore.Event) {
	at, imported := happened(e)
	pause := time.Duration(float64(at.Sub(m.last)) / m.speed)
	if imported != m.imported {
		pause = 0
	}
	if m.maxPause > 0 {
		pause = min(pause, m.maxPause)
	}
	m.last, m.imported, m.due = at, imported, m.due.Add(max(pause, 0))
}

// wait waits until it is time, and reports whether it is: false means that ctx has ended. Who is a little late hurries after; who is very late goes on
// from now.
func (m *metronome) wait(ctx context.Context) bool {
	left := time.Until(m.due)
	if left < -tooLate {
		m.due = time.Now()
	}
	timer := time.NewTimer(max(left, breath))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
