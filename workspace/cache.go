package workspace

import (
	"container/list"
	"crypto/sha256"
	"sync"
)

// cache keeps parsed files, most recently used first, up to a number of bytes.
type cache struct {
	limit int64

	mu    sync.Mutex
	items map[string]*list.Element // of *cached, by path
	order list.List
	bytes int64
}

// cacheItem is what was parsed of one file.
type cacheItem struct {
	path     string
	identity identity
	fresh    bool // read so shortly after a change that it must be read again to be sure
	sum      [sha256.Size]byte
	value    any
}

// cost estimates the bytes that an item needs: the text and about as much for what was parsed from it.
func (c *cacheItem) cost() int64 { return 2*c.identity.size + 1_000 }

func newCache(limit int64) *cache { return &cache{limit: limit, items: map[string]*list.Element{}} }

func (c *cache) get(path string) (*cacheItem, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.items[path]
	if !ok {
		return nil, false
	}
	c.order.MoveToFront(e)
	return e.Value.(*cacheItem), true
}

func (c *cache) put(item *cacheItem) {
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
	item := c.order.Remove(e).(*cacheItem)
	delete(c.items, item.path)
	c.bytes -= item.cost()
}
