package push

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/pronto-lab/openclawd/internal/wait"
)

// client is one connection. It catches up on its own by reading the log at its own pace, and then receives the hub's
// broadcasts.
type client struct {
	hub     *Hub
	socket  *socket
	queue   *queue
	view    View
	granted bool // see Order

	seq  int64 // seq up to which events were sent; used by its own goroutine only
	live bool  // receives the hub's broadcasts; guarded by the hub's lock
}

func (c *client) serve() {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	deaf := make(chan struct{})
	go func() {
		defer close(deaf)
		defer stop()
		c.socket.listen()
	}()
	end, err := c.writeMessages(ctx)
	if end != "" && c.socket.bid(end, c.seq) == nil {
		wait.Unless(deaf, c.hub.opts.CloseTime) // time to answer a close frame
	}
	c.hub.opts.Logger.Debug("client disconnected", "client", c.socket.name(), "seq", c.seq, "err", err)
	select {
	case <-deaf:
		_ = c.socket.hangUp()
	default:
		_ = c.socket.close()
		<-deaf
	}
}

// writeMessages writes messages until ctx ends or the connection breaks, or returns the close reason.
func (c *client) writeMessages(ctx context.Context) (end closeReason, err error) {
	ping := time.NewTicker(c.hub.opts.PingEvery)
	defer ping.Stop()
	var tick <-chan time.Time // never, unless it was asked for
	if c.view.Topics.Has(Ticks) {
		ticker := time.NewTicker(c.hub.opts.TickEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
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
			case <-tick: // while there is more to send, that shows that the connection lives
				c.hub.tick(c)
			}
		}
		select {
		case <-ping.C: // even if there is always more to send
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

// catchUp sends the next page of the log, or makes the client live if there is none. Its errors are the connection's;
// an unreadable log ends the queue.
func (c *client) catchUp(ctx context.Context) (live bool, err error) {
	upTo, live, moved := c.hub.join(c)
	switch {
	case live:
		return true, nil
	case upTo < c.seq: // the client is ahead of the hub
		select {
		case <-ctx.Done():
		case <-c.queue.wake:
		case <-moved:
		}
		return false, nil
	}
	page, err := c.hub.replay(ctx, pagePosition{c.seq, c.view}, upTo)
	if err != nil {
		if ctx.Err() == nil {
			c.hub.opts.Logger.Error("cannot read the log for a client", "client", c.socket.name(), "after", c.seq, "err", err)
			c.queue.finish(failed)
		}
		return false, nil
	}
	defer runtime.KeepAlive(page) // so that others share it until it has been sent
	for _, f := range page.frames {
		if err := c.write(f); err != nil {
			return false, err
		}
	}
	c.seq = page.seq
	return false, nil
}
