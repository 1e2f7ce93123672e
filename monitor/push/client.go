package push

import (
	"cmp"
	"context"
	"runtime"
	"time"
)

// client is one connection. It catches up by itself, reading the log at its own pace; from then on it gets what everybody gets.
type client struct {
	hub    *Hub
	socket *socket
	queue  *queue
	full   bool // the system's own book-keeping too

	seq  int64 // it has been told the log up to here; only its own goroutine touches it
	live bool  // it gets what the hub reads; the hub's lock guards it
}

// serve talks to the client until one side hangs up.
func (c *client) serve() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	deaf := make(chan struct{})
	go func() {
		defer close(deaf)
		defer stop()
		c.socket.listen()
	}()
	end, err := c.tell(ctx)
	if end != "" && c.socket.bid(end, c.seq) == nil {
		c.await(deaf)
	}
	c.hub.opts.Logger.Debug("a client is gone", "client", c.socket.name(), "seq", c.seq, "err", err)
	select {
	case <-deaf:
		_ = c.socket.hangUp()
	default:
		_ = c.socket.close()
		<-deaf
	}
}

// await gives the client time to answer a farewell.
func (c *client) await(deaf <-chan struct{}) {
	patience := time.NewTimer(c.hub.opts.CloseTime)
	defer patience.Stop()
	select {
	case <-deaf:
	case <-patience.C:
	}
}

// tell writes what there is to tell until ctx ends or the connection breaks, or returns with what to say in the end.
func (c *client) tell(ctx context.Context) (end farewell, err error) {
	ping := time.NewTicker(c.hub.opts.PingEvery)
	defer ping.Stop()
	caughtUp := false
	for ctx.Err() == nil && err == nil {
		next, end := c.queue.take()
		switch {
		case end != "":
			return end, nil
		case next != nil:
			err = c.write(next)
		case !caughtUp:
			caughtUp, err = c.catchUp(ctx)
		default:
			select {
			case <-ctx.Done():
			case <-c.queue.wake:
			case <-ping.C:
				err = c.socket.ping()
			}
		}
		select {
		case <-ping.C: // however much there is to tell
			if err == nil {
				err = c.socket.ping()
			}
		default:
		}
	}
	return "", cmp.Or(err, ctx.Err())
}

func (c *client) write(f *frame) error {
	if err := c.socket.write(f); err != nil {
		return err
	}
	c.hub.frames.Add(1)
	c.seq = max(c.seq, f.seq)
	return nil
}

// catchUp tells the next page of the log, or finds that there is none: then the client is live. Its errors are the connection's; a log
// that cannot be read ends the queue.
func (c *client) catchUp(ctx context.Context) (live bool, err error) {
	upTo, live, moved := c.hub.join(c)
	switch {
	case live:
		return true, nil
	case upTo < c.seq: // the client has seen more than the hub has read
		select {
		case <-ctx.Done():
		case <-c.queue.wake:
		case <-moved:
		}
		return false, nil
	}
	page, err := c.hub.replay(ctx, place{c.seq, c.full}, upTo)
	if err != nil {
		if ctx.Err() == nil {
			c.hub.opts.Logger.Error("the log cannot be read for a client", "client", c.socket.name(), "after", c.seq, "err", err)
			c.queue.finish(failed)
		}
		return false, nil
	}
	defer runtime.KeepAlive(page) // so that others find it until it has been told
	for _, f := range page.frames {
		if err := c.write(f); err != nil {
			return false, err
		}
	}
	c.seq = page.seq
	return false, nil
}
