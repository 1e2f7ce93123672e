package search

import (
	"context"
	"fmt"
	"time"
)

// How long to wait for what does not tell: a fault to go away or the index projection to come on, and it to be exchanged.
const (
	patience = time.Second
	idle     = 10 * time.Second
)

// Run feeds the file until ctx ends. It follows the log as far as the index projection has come. What goes wrong is in the status, and
// is tried again; a damaged file is begun anew.
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

// failed remembers and reports what went wrong: once, not at every try.
func (f *feeder) failed(err error) {
	if before := f.Status().Err; before == nil || before.Error() != err.Error() {
		f.opts.Logger.Warn("search is not fed; trying again", "err", err)
	}
	f.change(func(s *Status) { s.Err = err })
	f.fitted = false
}

// feeder is the cursor that feeds the file.
type feeder struct {
	*Index
	fitted   bool
	at       position
	head     int64 // of the log, before the events were read that were fed last
	tokens   tokenizer
	sessions map[string]int64 // ids of some, by name
}

// step feeds one page. more says that there is another.
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
		f.at, err = f.restart(ctx, "roles and categories were made anew")
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

// due says why the file has to be begun anew; "" for no reason.
func (f *feeder) due() (why string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case f.damaged:
		return "it is damaged"
	case f.again:
		return "it shall forget what was redacted"
	}
	return ""
}

// forget gives up what is known of the file's rows.
func (f *feeder) forget() { f.sessions = map[string]int64{} }

// wait returns when there is something to do: the log has gone on, the file has to be mended, or it is time to look again. After a
// failure the log is not waited for, or a busy one would have the feeder try again and again.
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
