package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	queue "github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	saveEvery  = 1_000           // events of which there was nothing to tell, before it is written down how far the log was read
	quietFor   = 5 * time.Minute // of one subject people are told once
	remembered = 200             // events of a source that are looked at when it begins
)

// source is one reason to tell people of events.
type source interface {
	id() string
	// wanted reports whether anybody asks to be told.
	wanted(c *config.Config) bool
	// tell says what is made of an event, nil for nothing. Errors are the log's.
	tell(ctx context.Context, c *config.Config, e *eventstore.Event) (*telling, error)
}

// telling is what a source makes of an event.
type telling struct {
	subject string // people are told of it once in quietFor; "" is always
	// work is what is asked for, by what stands in the tables; nil for nothing. Its effect follows from what is told of. errWaits says that nobody
	// can know yet.
	work func(tx eventstore.Tx) (*coordination.WorkScheduled, error)
	// waits is the stream without whose next event errWaits stays.
	waits string
}

var errWaits = errors.New("it waits for what was asked for before")

// unsayable says that an event can never be told of.
type unsayable struct{ err error }

func (u *unsayable) Error() string { return u.err.Error() }
func (u *unsayable) Unwrap() error { return u.err }

// cursor is how far a source has read the log.
type cursor struct {
	source
	w      *watch
	stream string

	loaded  bool
	running bool  // somebody asks to be told
	version int64 // of stream
	seq     int64 // of the last event that was read
	saved   int64 // likewise, as stream has it

	told  map[string]int64 // when people were told of subjects, ms since 1970
	waits struct {
		stream  string // "" is for nothing
		version int64
	}
}

// advance reads to the end of the log, or to what cannot be told of yet.
func (c *cursor) advance(ctx context.Context) error {
	if err := c.load(ctx); err != nil {
		return err
	}
	for {
		if going, err := c.begin(ctx, c.w.Config()); err != nil || !going {
			return err
		}
		if still, err := c.stillWaits(ctx); err != nil || still {
			return err
		}
		page, err := c.w.read(ctx, c.seq)
		if err != nil {
			return err
		}
		conf := c.w.Config() // no older than what was read
		if !c.wanted(conf) {
			continue
		}
		for i := range page {
			if err := c.take(ctx, conf, &page[i]); err != nil {
				if errors.Is(err, errWaits) {
					return nil
				}
				return err
			}
		}
		if c.seq-c.saved >= saveEvery {
			if err := c.save(ctx, coordination.SinkAdvanced{Seq: c.seq}); err != nil {
				return err
			}
		}
		if len(page) < pageSize {
			return nil
		}
	}
}

// load looks up how far the log was read before.
func (c *cursor) load(ctx context.Context) error {
	if c.loaded {
		return nil
	}
	version, err := c.w.Log.StreamVersion(ctx, c.stream)
	if err != nil {
		return err
	}
	events, err := c.w.Log.ReadStream(ctx, c.stream, max(version-remembered, 0), remembered)
	if err != nil {
		return err
	}
	c.running, c.version, c.told = false, 0, map[string]int64{}
	c.waits.stream = ""
	for i := range events {
		e := &events[i]
		c.version = e.Version
		var a coordination.SinkAdvanced
		if e.Redacted() || e.Actor == eventstore.ActorImport || json.Unmarshal(e.Data, &a) != nil {
			continue
		}
		c.running, c.seq, c.saved = !a.Stopped, a.Seq, a.Seq
		if a.Subject != "" {
			c.told[a.Subject] = e.TS
		}
	}
	c.loaded = true
	return nil
}

// begin begins at the end of the log where somebody asks to be told now, ends where nobody does any more, and reports whether to read on.
func (c *cursor) begin(ctx context.Context, conf *config.Config) (going bool, err error) {
	wanted := c.wanted(conf)
	switch {
	case wanted == c.running:
		return wanted, nil
	case !wanted:
		err := c.save(ctx, coordination.SinkAdvanced{Seq: c.seq, Stopped: true})
		c.running, c.waits.stream = false, ""
		return false, err
	}
	head, err := c.w.Log.Head(ctx)
	if err != nil {
		return false, err
	}
	if err := c.save(ctx, coordination.SinkAdvanced{Seq: head.Seq}); err != nil {
		return false, err
	}
	c.running, c.seq = true, head.Seq
	return true, nil
}

// stillWaits reports whether nothing has happened yet to what has to be over first.
func (c *cursor) stillWaits(ctx context.Context) (bool, error) {
	if c.waits.stream == "" {
		return false, nil
	}
	version, err := c.w.Log.StreamVersion(ctx, c.waits.stream)
	if err != nil || version == c.waits.version {
		return err == nil, err
	}
	c.waits.stream = ""
	return false, nil
}

// take asks for what is to be told of an event, if anything is, and has read it then.
func (c *cursor) take(ctx context.Context, conf *config.Config, e *eventstore.Event) error {
	var t *telling
	var err error
	if e.Actor != eventstore.ActorImport && !e.Redacted() {
		err = c.guarded(func() error { t, err = c.tell(ctx, conf, e); return err })
	}
	if err == nil && t != nil && !c.quiet(t.subject, e.RecordedAt) {
		err = c.ask(ctx, e, t)
	}
	if u, is := errors.AsType[*unsayable](err); is {
		c.w.Logger.Error("people are not told of an event", "sink", c.id(), "seq", e.Seq, "type", e.Type, "err", u.err)
		err = nil
	}
	if err == nil {
		c.seq = e.Seq
	}
	return err
}

// guarded does something, a panic in which is an event that can never be told of.
func (c *cursor) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.w.Logger.Error("telling people panicked", "sink", c.id(), "panic", p, "stack", string(debug.Stack()))
			err = &unsayable{fmt.Errorf("panic: %v", p)}
		}
	}()
	return do()
}

// quiet reports whether people were told of a subject not long ago.
func (c *cursor) quiet(subject string, at int64) bool {
	maps.DeleteFunc(c.told, func(_ string, told int64) bool { return at-told >= quietFor.Milliseconds() })
	_, told := c.told[subject]
	return subject != "" && told
}

// ask asks for what is to be told of an event, and writes down that the log was read up to it.
func (c *cursor) ask(ctx context.Context, e *eventstore.Event, t *telling) error {
	waits := int64(0)
	if t.waits != "" {
		var err error
		if waits, err = c.w.Log.StreamVersion(ctx, t.waits); err != nil {
			return err
		}
	}
	var asked string // the stream of what was asked for
	now := c.w.Now()
	_, err := c.w.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		asked = "" // it may be called again
		err = c.guarded(func() error {
			work, err := t.work(tx)
			if err != nil || work == nil {
				return err
			}
			scheduled, err := worker.Schedule(*work)
			if err != nil {
				return &unsayable{err}
			}
			scheduled.Events[0] = scheduled.Events[0].WithTS(now.UnixMilli())
			asked = scheduled.Stream
			advanced, err := c.advanced(coordination.SinkAdvanced{Seq: e.Seq, EffectID: work.EffectID, Subject: t.subject}, now)
			appends = []eventstore.StreamAppend{scheduled, advanced}
			return err
		})
		return appends, err
	})
	conflict, conflicts := errors.AsType[*eventstore.ConflictError](err)
	switch {
	case err == nil && asked == "":
		return nil
	case err == nil:
		c.version++
		c.saved = e.Seq
		if t.subject != "" {
			c.told[t.subject] = e.RecordedAt
		}
		return nil
	case errors.Is(err, errWaits):
		c.waits.stream, c.waits.version = t.waits, waits
		return errWaits
	case conflicts && conflict.Stream == asked:
		return nil // it was asked for before
	case isRefused(err):
		return &unsayable{err}
	}
	return err
}

// isRefused reports whether an error says that something is never stored, not that the log is in trouble.
func isRefused(err error) bool {
	return errors.As(err, new(*eventstore.InvalidError)) || errors.As(err, new(*eventstore.RefusedError)) || errors.As(err, new(*queue.Refusal))
}

// save writes down how far the log was read.
func (c *cursor) save(ctx context.Context, a coordination.SinkAdvanced) error {
	_, err := c.w.Log.Decide(ctx, func(eventstore.Tx) ([]eventstore.StreamAppend, error) {
		advanced, err := c.advanced(a, c.w.Now())
		return []eventstore.StreamAppend{advanced}, err
	})
	if err == nil {
		c.version++
		c.saved = a.Seq
	}
	return err
}

// advanced is the event that the log was read up to somewhere. It conflicts where another Follower has read it.
func (c *cursor) advanced(a coordination.SinkAdvanced, now time.Time) (eventstore.StreamAppend, error) {
	a.Context = coordination.Context{EventRole: coordination.RoleObservability}
	a.SinkID = c.id()
	data, err := json.Marshal(a)
	if err != nil {
		return eventstore.StreamAppend{}, fmt.Errorf("write %s: %w", coordination.TypeSinkAdvanced, err)
	}
	return eventstore.StreamAppend{Stream: c.stream, Expect: eventstore.Exactly(c.version), Events: []eventstore.NewEvent{
		eventstore.NewEvent{Type: coordination.TypeSinkAdvanced, Actor: eventstore.ActorSystem, Data: data}.WithTS(now.UnixMilli())}}, nil
}
