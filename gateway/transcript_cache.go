package gateway

import (
	"encoding/json"
	"sync"
)

// shownCache keeps messages as they are shown, so that a transcript that is asked for again is not encoded each time. A message never
// changes; one that is redacted or archived is shown as such without the cache. The messages that were used last stay, the others go in
// turn. A nil cache keeps nothing.
type shownCache struct {
	most int // bytes

	mu           sync.Mutex
	bytes        int // of newer
	newer, older map[shownKey]json.RawMessage
}

type shownKey struct {
	seq      int64 // of the event
	position int64 // in the transcript; 0: not shown
}

// shownBytes is the memory for messages as they are shown.
const shownBytes = 8 << 20

func newShownCache(most int) *shownCache {
	return &shownCache{most: most, newer: map[shownKey]json.RawMessage{}}
}

func (c *shownCache) find(key shownKey) json.RawMessage {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if text := c.newer[key]; text != nil {
		return text
	}
	text := c.older[key]
	if text != nil {
		c.keepLocked(key, text)
	}
	return text
}

func (c *shownCache) keep(key shownKey, text json.RawMessage) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.keepLocked(key, text)
}

func (c *shownCache) keepLocked(key shownKey, text json.RawMessage) {
	const room = 100 // what an entry takes beside its text
	if c.bytes += len(text) + room; c.bytes > c.most/2 {
		c.newer, c.older, c.bytes = map[shownKey]json.RawMessage{}, c.newer, len(text)+room
	}
	c.newer[key] = text
}
