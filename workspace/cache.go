package workspace

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// cache keeps what was made of files, most recently used first, up to a number of bytes.
type cache struct {
	limit int64

	mu    sync.Mutex
	items map[string]*list.Element // of *cached, by path
	order list.List
	bytes int64
}

// cached is what was made of one file.
type cached struct {
	path     string
	identity identity
	fresh    bool // it was read so shortly after a change that it has to be read again to be sure
	sum      [sha256.Size]byte
	value    any
}

// cost is how many bytes an item is taken to need: the text and about as much for what was made of it.
func (c *cached) cost() int64 { return 2*c.identity.size + 1_000 }

func newCache(limit int64) *cache { return &cache{limit: limit, items: map[string]*list.Element{}} }

func (c *cache) get(path string) (*cached, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[path]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cached), true
}

func (c *cache) put(item *cached) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if old, ok := c.items[item.path]; ok {
		c.drop(old)
	}
	c.items[item.path] = c.order.PushFront(item)
	for c.bytes += item.cost(); c.bytes > c.limit && c.order.Len() > 0; {
		c.drop(c.order.Back())
	}
}

func (c *cache) drop(e *list.Element) {
	item := c.order.Remove(e).(*cached)
	delete(c.items, item.path)
	c.bytes -= item.cost()
}
