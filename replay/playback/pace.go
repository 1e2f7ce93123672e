package playback

import (
	"context"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/wait"
)

// Limits of one step.
const (
	page     = 500                    // events read ahead
	together = 100                    // most events of one step
	instant  = 5 * time.Millisecond   // events due within this time of each other happen in one step
	breath   = 200 * time.Microsecond // pause between two steps without a delay, so that readers get their turn
	tooLate  = time.Second
)

// Run plays the events of the range until the last one has happened or ctx ends, which is no error.
func (p *Player) Run(ctx context.Context) error {
	m := pacer{speed: p.opts.Speed, maxPause: p.opts.MaxPause, due: time.Now()}
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
			n := m.nextBatch(events)
			if !m.wait(ctx) {
				return nil
			}
			if err := p.advance(context.WithoutCancel(ctx), events[:n]); err != nil {
				return err
			}
			events = events[n:]
		}
	}
	return nil
}

// pacer decides when events happen again.
type pacer struct {
	speed    float64 // 0: no delays
	maxPause time.Duration

	last     time.Time // of the previous event
	imported bool      // whether the previous event is imported
	due      time.Time // when the previous event was due
}

// begin takes the first event, which is due at once.
func (m *pacer) begin(e *eventstore.Event) { m.last, m.imported = timeOf(e) }

// timeOf returns the time of an event that its pace follows: when it was recorded. Imported lines were all recorded
// at the import; for them it is the time they state.
func timeOf(e *eventstore.Event) (at time.Time, imported bool) {
	if e.Actor == eventstore.ActorImport {
		return time.UnixMilli(e.TS), true
	}
	return recorded(e), false
}

// nextBatch returns how many of the events happen together next, and when they are due.
func (m *pacer) nextBatch(events []eventstore.Event) int {
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

// step moves on to the next event. Between an imported event and one of another kind there is no pause: their times
// are unrelated.
func (m *pacer) step(e *eventstore.Event) {
	at, imported := timeOf(e)
	pause := time.Duration(float64(at.Sub(m.last)) / m.speed)
	if imported != m.imported {
		pause = 0
	}
	if m.maxPause > 0 {
		pause = min(pause, m.maxPause)
	}
	m.last, m.imported, m.due = at, imported, m.due.Add(max(pause, 0))
}

// wait waits until the events are due and reports whether they are; false if ctx has ended. Small delays are caught
// up with; after a long one the schedule restarts from now.
func (m *pacer) wait(ctx context.Context) bool {
	left := time.Until(m.due)
	if left < -tooLate {
		m.due = time.Now()
	}
	return wait.For(ctx, max(left, breath)) == nil
}
