package search

import (
	"context"
	"fmt"
	"time"
)

// Poll intervals for events without a notification: recovery from an error, progress of the index projection, and its
// replacement.
const (
	patience = time.Second
	idle     = 10 * time.Second
)

// Run feeds the file until ctx ends. It follows the log as far as the index projection has come. Errors are in the
// status and are retried; a damaged file is rebuilt.
func (x *Index) Run(ctx context.Context) error {
	f := feeder{Index: x}
	for ctx.Err() == nil {
		more, err := f.step(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			f.failed(err)
			f.wait(ctx)
		case more:
			x.opts.Rest(ctx)
		default:
			f.wait(ctx)
		}
	}
	return nil
}

// failed records and logs an error: once, not at every retry.
func (f *feeder) failed(err error) {
	if before := f.Status().Err; before == nil || before.Error() != err.Error() {
		f.opts.Logger.Warn("cannot update the search index; will retry", "err", err)
	}
	f.change(func(s *Status) { s.Err = err })
	f.fitted = false
}

// feeder is the cursor that feeds the file.
type feeder struct {
	*Index
	fitted   bool
	at       position
	head     int64 // of the log, before the last fed events were read
	tokens   tokenizer
	sessions map[string]int64 // ids of some, by name
}

// step feeds one page. more reports that there is another.
func (f *feeder) step(ctx context.Context) (more bool, err error) {
	if why := f.due(); why != "" {
		f.at, err = f.restart(ctx, why)
		f.forget()
	} else if !f.fitted {
		f.at, err = f.fit(ctx)
		f.forget()
	}
	if err != nil {
		return false, err
	}
	f.fitted = true
	head, err := f.opts.Log.Head(ctx)
	if err != nil {
		return false, err
	}
	f.head = head.Seq
	f.change(func(s *Status) { s.Head = max(s.Seq, f.head) })
	p, err := f.next(ctx)
	if err != nil {
		return false, fmt.Errorf("read events to feed: %w", err)
	}
	if f.at.seq > 0 && p.indexVersion != f.at.indexVersion {
		f.at, err = f.restart(ctx, "the index projection was rebuilt")
		f.forget()
		return true, err
	}
	if len(p.events) > 0 {
		if err := f.store(ctx, p); damaged(err) {
			f.at, err = f.restart(ctx, err.Error())
			f.forget()
			return true, err
		} else if err != nil {
			return false, fmt.Errorf("feed search file: %w", err)
		}
	}
	f.change(func(s *Status) {
		s.Seq, s.Head, s.Err = f.at.seq, max(f.at.seq, s.Head), nil
		s.Rebuilding = s.Rebuilding && p.more
	})
	return p.more, nil
}

// due returns why the file has to be rebuilt; "" if it does not.
func (f *feeder) due() (why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.damaged:
		return "the file is damaged"
	case f.again:
		return "redacted texts must be removed"
	}
	return ""
}

// forget drops the cached state of the file.
func (f *feeder) forget() { f.sessions = map[string]int64{} }

// wait returns when there is work: the log has grown, the file has to be rebuilt, or the poll interval is over. After
// a failure it does not wait for the log: a busy one would cause constant retries.
func (f *feeder) wait(ctx context.Context) {
	pause, failing := idle, f.Status().Err != nil
	if f.at.seq < f.head || failing {
		pause = patience
	}
	waiting, stop := context.WithTimeout(ctx, pause)
	defer stop()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		if !failing {
			if _, err := f.opts.Log.Wait(waiting, max(f.at.seq, f.head)+1); err == nil {
				return
			}
		}
		<-waiting.Done()
	}()
	select {
	case <-gone:
	case <-f.wake:
	}
	stop()
	<-gone
}
