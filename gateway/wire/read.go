package wire

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// readTracker tracks callbacks that wait until a client has read what it was sent. Clients answer pings in reading order and
// may skip all but the newest, so a pong confirms everything before it.
type readTracker struct {
	mu      sync.Mutex
	sent    int64          // number of the newest ping, its payload
	waiting []readCallback // in ping order
	over    bool           // the connection is over
}

type readCallback struct {
	ping  int64
	then  func()
	timer *time.Timer
}

// ping asks a client to confirm that it has read what was sent before. then, unless nil, is called when it has, or
// never will.
func (c *client) ping(then func()) {
	r := &c.reads
	r.mu.Lock()
	if r.over {
		r.mu.Unlock()
		if then != nil {
			then()
		}
		return
	}
	r.sent++
	number := r.sent
	if then != nil {
		r.waiting = append(r.waiting, readCallback{number, then, time.AfterFunc(c.hub.opts.ReadTime, func() { c.hasRead(number) })})
	}
	c.give(frame{ping, strconv.AppendInt(nil, number, 10)}) // under the lock: pings are sent in the order of their numbers
	r.mu.Unlock()
}

func (c *client) pong(text string) {
	c.markAlive()
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		c.hasRead(number)
	}
}

// hasRead runs the callbacks of a ping and all before it.
func (c *client) hasRead(ping int64) {
	r := &c.reads
	r.mu.Lock()
	done := slices.Clone(r.waiting[:r.upTo(ping)])
	r.waiting = slices.Delete(r.waiting, 0, len(done))
	r.mu.Unlock()
	for _, one := range done {
		one.timer.Stop()
		one.then()
	}
}

func (r *readTracker) upTo(ping int64) int {
	if i := slices.IndexFunc(r.waiting, func(one readCallback) bool { return one.ping > ping }); i >= 0 {
		return i
	}
	return len(r.waiting)
}

// readsNoMore runs all callbacks when the connection is over.
func (c *client) readsNoMore() {
	c.reads.mu.Lock()
	c.reads.over = true
	newest := c.reads.sent
	c.reads.mu.Unlock()
	c.hasRead(newest)
}
