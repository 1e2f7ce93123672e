package projections

import (
	"context"
	"fmt"
	"math"
	"sort"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
)

// maxTail is how many events a read model may be behind the log at the start and is still brought to its head at once,
// instead of being rebuilt. A process that was killed leaves fewer, unless one append was large.
const maxTail = 5_000

// Written implements eventstore.Inline.
func (g *Engine) Written() int64 {
	seq := int64(math.MaxInt64)
	for _, u := range g.units {
		if u.def.Kind == ReadModel && u.state == Live {
			seq = min(seq, u.seq)
		}
	}
	return seq
}

// WriteBehind implements eventstore.Inline.
func (g *Engine) WriteBehind(tx eventstore.Tx) error {
	g.written = g.stored
	for _, u := range g.units {
		if u.def.Kind != ReadModel || u.state != Live || u.seq >= g.head {
			continue
		}
		held := g.batch[:g.stored]
		held = held[sort.Search(len(held), func(i int) bool { return held[i].Seq > u.seq }):]
		if len(held) == 0 || held[0].Seq != u.seq+1 {
			if err := g.foldTail(tx, u, g.head); err != nil {
				return err
			}
		} else if err := g.write(tx, u, held); err != nil {
			return err
		}
	}
	return nil
}

// foldTail folds the events after a read model's checkpoint, up to head, from the log.
func (g *Engine) foldTail(tx eventstore.Tx, u *unit, head int64) error {
	config, err := parseConfiguration(u.context)
	if err != nil {
		return fmt.Errorf("context of projection %s: %w", u.def.Name, err)
	}
	for u.state == Live && u.seq < head {
		// We hold the writer, so that the log cannot grow: a reader sees all of it.
		stored, err := g.log.Read(context.Background(), u.seq, int(min(head-u.seq, int64(g.pace.page))))
		if err != nil {
			return err
		}
		if len(stored) == 0 || stored[0].Seq != u.seq+1 {
			return fmt.Errorf("event %d cannot be read", u.seq+1)
		}
		var events []accepted
		events, config = acceptAll(g.opts.Rules, config, stored)
		if err := g.write(tx, u, events); err != nil {
			return err
		}
	}
	return nil
}

// acceptAll classifies events that follow each other. It begins with the configuration config, and returns the one
// after them.
func acceptAll(rules coordination.Rules, config *configuration, stored []eventstore.Event) ([]accepted, *configuration) {
	events := make([]accepted, len(stored))
	for i := range stored {
		e := &stored[i]
		events[i].Event = classify(rules, e, prepare(rules, e), config.roster)
		config = config.after(events[i].Event.Event)
		events[i].config = config
	}
	return events, config
}

// write applies events to a read model. If that fails it is parked at the event that fails, with all before it applied;
// only errors that concern the whole file are returned.
func (g *Engine) write(tx eventstore.Tx, u *unit, events []accepted) error {
	cause, err := g.attempt(tx, u, events)
	for i := 0; cause != nil && err == nil && i < len(events); i++ {
		var failed error
		if failed, err = g.attempt(tx, u, events[i:i+1]); failed != nil && err == nil {
			return g.park(tx, u, events[i].Seq, failed)
		}
	}
	return err
}

// attempt applies events to a read model and moves its checkpoint. cause is why they cannot be applied: then its tables
// are as before. err concerns the whole file.
func (g *Engine) attempt(tx eventstore.Tx, u *unit, events []accepted) (cause, err error) {
	if _, err := tx.Exec("SAVEPOINT read_model"); err != nil {
		return nil, err
	}
	if cause = u.write(tx, events); cause != nil {
		if g.log.Fatal(cause) {
			return nil, cause
		}
		u.forget()
		if _, err := tx.Exec("ROLLBACK TO read_model"); err != nil {
			return nil, err
		}
	}
	_, err = tx.Exec("RELEASE read_model")
	return cause, err
}

func (u *unit) write(tx eventstore.Tx, events []accepted) error {
	for i := range events {
		if err := u.apply(tx, &events[i].Event); err != nil {
			return err
		}
	}
	if err := u.flush(tx); err != nil {
		return err
	}
	last := &events[len(events)-1]
	return u.advance(tx, last.Seq, last.config.json)
}

func (g *Engine) park(tx eventstore.Tx, u *unit, seq int64, cause error) error {
	u.state = Parked
	g.opts.Logger.Error("projection parked", "projection", u.def.Name, "seq", seq, "err", cause)
	_, err := tx.Exec("UPDATE projections SET state = ?, parked_seq = ?, parked_error = ?, parked_at = ? WHERE name = ?",
		string(Parked), seq, cause.Error(), g.opts.Now().UnixMilli(), u.def.Name)
	return err
}
