package notifier

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
	"github.com/pronto-lab/openclawd/coordination/work"
	"github.com/pronto-lab/openclawd/eventstore"
)

const (
	saveEvery  = 1_000           // events without a notice before the position is stored
	quietFor   = 5 * time.Minute // minimum time between notices about one subject
	remembered = 200             // events that are searched when a source begins
)

// source selects events to notify people of.
type source interface {
	id() string
	// enabled reports whether the source is configured.
	enabled(c *config.Config) bool
	// notification returns the notice of an event, nil for none. Errors are the log's.
	notification(ctx context.Context, c *config.Config, e *eventstore.Event) (*notification, error)
}

// notification is the notice of an event.
type notification struct {
	subject string // at most one notice per subject in quietFor; "" is not limited
	// work returns the work that delivers the notice, from the state of the tables; nil for none. Its effect id follows from the notice.
	// errWaits reports that it depends on something pending.
	work func(tx eventstore.Tx) (*coordination.WorkScheduled, error)
	// waits is the stream whose next event may resolve errWaits.
	waits string
}

var errWaits = errors.New("it waits for an earlier post")

// permanentError reports an event that can never be notified of.
type permanentError struct{ err error }

func (u *permanentError) Error() string { return u.err.Error() }
func (u *permanentError) Unwrap() error { return u.err }

// cursor is the position of a source in the log.
type cursor struct {
	source
	w      *watch
	stream string

	loaded  bool
	running bool  // the source is configured
	version int64 // of stream
	seq     int64 // of the last event that was read
	saved   int64 // likewise, as stored in stream

	notified map[string]int64 // time of the last notice per subject, ms since 1970
	waits    struct {
		stream  string // "" for none
		version int64
	}
}

// advance reads to the end of the log, or to an event that has to wait.
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
		conf := c.w.Config() // not older than the events read
		if !c.enabled(conf) {
			continue
		}
		for i := range page {
			if err := c.handle(ctx, conf, &page[i]); err != nil {
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
	c.running, c.version, c.notified = false, 0, map[string]int64{}
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
			c.notified[a.Subject] = e.TS
		}
	}
	c.loaded = true
	return nil
}

// begin starts at the end of the log when the source has been configured, stops when it no longer is, and reports whether to read on.
func (c *cursor) begin(ctx context.Context, conf *config.Config) (going bool, err error) {
	wanted := c.enabled(conf)
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

// stillWaits reports whether the stream that the source waits for has no new event.
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

// handle requests the notice of an event, if there is one, and advances.
func (c *cursor) handle(ctx context.Context, conf *config.Config, e *eventstore.Event) error {
	var t *notification
	var err error
	if e.Actor != eventstore.ActorImport && !e.Redacted() {
		err = c.guarded(func() error { t, err = c.notification(ctx, conf, e); return err })
	}
	if err == nil && t != nil && !c.quiet(t.subject, e.RecordedAt) {
		err = c.ask(ctx, e, t)
	}
	if u, is := errors.AsType[*permanentError](err); is {
		c.w.Logger.Error("cannot notify people of an event; skipping it", "sink", c.id(), "seq", e.Seq, "type", e.Type, "err", u.err)
		err = nil
	}
	if err == nil {
		c.seq = e.Seq
	}
	return err
}

// guarded converts a panic to an event that can never be notified of.
func (c *cursor) guarded(do func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			c.w.Logger.Error("panic while notifying people", "sink", c.id(), "panic", p, "stack", string(debug.Stack()))
			err = &permanentError{fmt.Errorf("panic: %v", p)}
		}
	}()
	return do()
}

// quiet reports whether there was a recent notice about a subject.
func (c *cursor) quiet(subject string, at int64) bool {
	maps.DeleteFunc(c.notified, func(_ string, told int64) bool { return at-told >= quietFor.Milliseconds() })
	_, told := c.notified[subject]
	return subject != "" && told
}

// ask requests the notice of an event and stores the position.
func (c *cursor) ask(ctx context.Context, e *eventstore.Event, t *notification) error {
	waits := int64(0)
	if t.waits != "" {
		var err error
		if waits, err = c.w.Log.StreamVersion(ctx, t.waits); err != nil {
			return err
		}
	}
	var asked string // stream of the requested work
	now := c.w.Now()
	_, err := c.w.Log.Decide(ctx, func(tx eventstore.Tx) (appends []eventstore.StreamAppend, err error) {
		asked = "" // may be called again
		err = c.guarded(func() error {
			work, err := t.work(tx)
			if err != nil || work == nil {
				return err
			}
			scheduled, err := worker.Schedule(*work)
			if err != nil {
				return &permanentError{err}
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
			c.notified[t.subject] = e.RecordedAt
		}
		return nil
	case errors.Is(err, errWaits):
		c.waits.stream, c.waits.version = t.waits, waits
		return errWaits
	case conflicts && conflict.Stream == asked:
		return nil // it was requested before
	case isRefused(err):
		return &permanentError{err}
	}
	return err
}

// isRefused reports whether an error means that something can never be stored, not that the log has failed.
func isRefused(err error) bool {
	return errors.As(err, new(*eventstore.InvalidError)) || errors.As(err, new(*eventstore.RefusedError)) || errors.As(err, new(*work.Refusal))
}

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

// advanced returns the event of a new position. It conflicts if another Follower has advanced it.
func (c *cursor) advanced(a coordination.SinkAdvanced, now time.Time) (eventstore.StreamAppend, error) {
	a.Context = coordination.Context{EventRole: coordination.RoleObservability}
	a.SinkID = c.id()
	of := eventstore.StreamAppend{Stream: c.stream, Expect: eventstore.Exactly(c.version)}
	err := of.Add(eventstore.NewEvent{Type: coordination.TypeSinkAdvanced, Actor: eventstore.ActorSystem}, a, now.UnixMilli())
	return of, err
}
