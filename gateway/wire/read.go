package wire

import (
	"slices"
	"strconv"
	"sync"
	"time"
)

// reads knows what waits until a client has read what it was sent. Clients answer pings in the order in which they read, and may leave out
// those before the newest: so an answer to one shows that everything before it was read.
type reads struct {
	mu      sync.Mutex
	sent    int64     // the number of the newest ping, which is its payload
	waiting []reading // in the order of their pings
	over    bool      // nobody reads any more
}

// reading is something to do once a ping was answered.
type reading struct {
	ping  int64
	then  func()
	timer *time.Timer
}

// ping asks a client to show that it has read what it was told before. then, unless it is nil, is called once it has, or will not.
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
		r.waiting = append(r.waiting, reading{number, then, time.AfterFunc(c.hub.opts.ReadTime, func() { c.hasRead(number) })})
	}
	c.give(frame{ping, strconv.AppendInt(nil, number, 10)}) // with the lock: pings go out in the order of their numbers
	r.mu.Unlock()
}

// pong is for an answer to a ping.
func (c *client) pong(text string) {
	c.hear()
	if number, err := strconv.ParseInt(text, 10, 64); err == nil {
		c.hasRead(number)
	}
}

// hasRead does what waits for a ping, or for one before it.
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

func (r *reads) upTo(ping int64) int {
	if i := slices.IndexFunc(r.waiting, func(one reading) bool { return one.ping > ping }); i >= 0 {
		return i
	}
	return len(r.waiting)
}

// readsNoMore is for a connection that is over: nothing waits for it any longer.
func (c *client) readsNoMore() {
	c.reads.mu.Lock()
	c.reads.over = true
	newest := c.reads.sent
	c.reads.mu.Unlock()
	c.hasRead(newest)
}
