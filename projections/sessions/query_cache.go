package sessions

import (
	"container/list"
	"slices"
	"sync"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Cache keeps messages that were read, those read last, so that a transcript that is read again and again is not decoded each time. An
// event never changes, so a kept message is never out of date; but it may be redacted or archived, which the places of a transcript tell.
// These are kept until the log is changed otherwise than at its end. A nil Cache keeps nothing. It is safe for concurrent use.
type Cache struct {
	most int64 // bytes
	mark func() eventstore.Mark

	mu     sync.Mutex
	bytes  int64
	bySeq  map[int64]*list.Element
	order  *list.List            // of *cachedMessage, read last first
	places map[string]keptPlaces // by transcript
	placed int                   // number of all
}

type cachedMessage struct {
	message Message // without After
	size    int     // of its data as stored
}

// messageRoom is about what a message takes beside its texts.
const messageRoom = 1_000

func (c *cachedMessage) cost() int64 { return int64(c.size) + messageRoom }

// NewCache returns a cache for messages of about so many bytes, and their places, of a log whose present state mark names.
func NewCache(bytes int64, mark func() eventstore.Mark) *Cache {
	return &Cache{most: bytes, mark: mark, bySeq: map[int64]*list.Element{}, order: list.New(), places: map[string]keptPlaces{}}
}

// Open begins a read. It is called before the transaction of the read.
func (c *Cache) Open() Reader {
	if c == nil {
		return Reader{}
	}
	return Reader{c, c.mark()}
}

// find returns those of some messages that are kept, in their order; the others are nil. They are the newest first, and the newest stays longest.
func (c *Cache) find(places []place) []*cachedMessage {
	found := make([]*cachedMessage, len(places))
	if c == nil {
		return found
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, p := range slices.Backward(places) {
		switch e := c.bySeq[p.seq]; {
		case e == nil:
		case p.blank:
			c.drop(e)
		default:
			c.order.MoveToFront(e)
			found[i] = e.Value.(*cachedMessage)
		}
	}
	return found
}

func (c *Cache) drop(e *list.Element) {
	m := c.order.Remove(e).(*cachedMessage)
	delete(c.bySeq, m.message.Seq)
	c.bytes -= m.cost()
}

// keep adds messages, newest first, as they are read. One that is too large to be worth it is left out.
func (c *Cache) keep(messages []*cachedMessage) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, m := range slices.Backward(messages) {
		if c.bySeq[m.message.Seq] != nil || m.message.Redacted || m.cost() > c.most/16 {
			continue
		}
		c.bySeq[m.message.Seq] = c.order.PushFront(m)
		c.bytes += m.cost()
	}
	for c.bytes > c.most {
		c.drop(c.order.Back())
	}
}
