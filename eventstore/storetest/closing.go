package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/pronto-lab/openclawd/eventstore"
)

func cancelledAppendIsWholeOrNothing(t *testing.T, s *subject) {
	const attempts = 10
	for i := range attempts {
		ctx, cancel := context.WithCancel(s.ctx)
		if i%2 == 0 {
			cancel()
		} else {
			go cancel()
		}
		stream := fmt.Sprintf("task/%d", i)
		_, err := s.Log.Append(ctx, to(stream, event(`{}`)), to(stream, event(`{}`)), to(stream, event(`{}`)))
		cancel()
		if err != nil {
			wantIs(t, err, context.Canceled)
		}
		// What was queued completes before this.
		s.append(t, to("fence", event(`{}`)))
		version, versionErr := s.Log.StreamVersion(s.ctx, stream)
		if versionErr != nil {
			t.Fatalf("StreamVersion: %v", versionErr)
		}
		if version != 3 && (err == nil || version != 0) {
			t.Errorf("Append of 3 events with a cancelled context returned %v and stored %d", err, version)
		}
	}
}

func closeEndsEverything(t *testing.T, s *subject) {
	s.append(t, to("task/a", eventWithID(1, `{}`)))
	log := s.all(t)
	waiting := block(s.ctx, t, func(ctx context.Context) (int64, error) { return s.Log.Wait(ctx, 2) })
	following := block(s.ctx, t, func(ctx context.Context) (int64, error) {
		return 0, eventstore.Subscribe(ctx, s.Log, 1, func(eventstore.Event) error { return nil })
	})

	s.close(t)
	s.close(t)
	s.closed = true

	wantIs(t, (<-waiting).err, eventstore.ErrClosed)
	wantIs(t, (<-following).err, eventstore.ErrClosed)
	for name, call := range map[string]func() error{
		"Append":        func() error { _, err := s.Log.Append(s.ctx, to("task/a", event(`{}`))); return err },
		"Head":          func() error { _, err := s.Log.Head(s.ctx); return err },
		"Read":          func() error { _, err := s.Log.Read(s.ctx, 0, 1); return err },
		"ReadStream":    func() error { _, err := s.Log.ReadStream(s.ctx, "task/a", 0, 1); return err },
		"Event":         func() error { _, err := s.Log.Event(s.ctx, 1); return err },
		"EventByID":     func() error { _, err := s.Log.EventByID(s.ctx, fixedID(1)); return err },
		"StreamVersion": func() error { _, err := s.Log.StreamVersion(s.ctx, "task/a"); return err },
		"Wait":          func() error { _, err := s.Log.Wait(s.ctx, 1); return err },
		"Restore":       func() error { return s.Restorer.Restore(s.ctx, log) },
		"Redact":        func() error { return s.Redact(s.ctx, 1) },
	} {
		if err := call(); !errors.Is(err, eventstore.ErrClosed) {
			t.Errorf("%s after Close: %v, want %v", name, err, eventstore.ErrClosed)
		}
	}
}

func closeKeepsWhatItAcknowledged(t *testing.T, s *subject) {
	const appenders, before = 4, 10
	var (
		appending    sync.WaitGroup
		mu           sync.Mutex
		acknowledged []eventstore.Stored
	)
	enough := make(chan struct{})
	for a := range appenders {
		appending.Go(func() {
			for {
				result, err := s.Log.Append(s.ctx, to(fmt.Sprintf("task/%d", a), event(`{}`)))
				if err != nil {
					if !errors.Is(err, eventstore.ErrClosed) {
						t.Errorf("Append while closing: %v, want %v", err, eventstore.ErrClosed)
					}
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, result.Events...)
				if len(acknowledged) == before {
					close(enough)
				}
				mu.Unlock()
			}
		})
	}
	select {
	case <-enough:
	case <-s.ctx.Done():
		t.Fatal("no append was acknowledged")
	}
	s.close(t)
	appending.Wait()
	s.closed = true
	if s.Reopen == nil {
		return
	}
	s.reopen(t)
	s.closed = false
	for _, stored := range acknowledged {
		if e := s.event(t, stored.Seq); e.ID != stored.ID {
			t.Errorf("acknowledged id %s at seq %d, found %s there", stored.ID, stored.Seq, e.ID)
		}
	}
}
