package gateway

import (
	"context"
	"sync"

	"github.com/pronto-lab/openclawd/config"
)

// Limits of the cache.
const (
	maxKeptLists     = 64
	maxKeptListBytes = 8 << 20
)

// listCache caches answers of sessions.list while no session and no setting changes. Callers pass the state they see,
// so an answer of another state is never returned; any change, or too many entries, clears the cache. Concurrent equal
// requests share one computation.
type listCache struct {
	mu     sync.Mutex
	at     int64 // seq of the last change included in the answers
	config *config.Config
	bytes  int
	lists  map[listQuery]*cachedList
}

type cachedList struct {
	ready chan struct{} // closed when computed or failed
	text  *listText     // nil if failed
}

func newListCache() *listCache { return &listCache{lists: map[listQuery]*cachedList{}} }

// find returns the entry as of a change. mine means that the caller has to compute the answer and call done.
func (k *listCache) find(at int64, c *config.Config, q listQuery) (list *cachedList, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at < k.at {
		return &cachedList{ready: make(chan struct{})}, true // older than the cache: for this caller only
	}
	if at > k.at || c != k.config || k.bytes > maxKeptListBytes {
		k.forget(at, c)
	}
	if list = k.lists[q]; list != nil {
		return list, false
	}
	if len(k.lists) >= maxKeptLists {
		k.forget(at, c)
	}
	list = &cachedList{ready: make(chan struct{})}
	k.lists[q] = list
	return list, true
}

func (k *listCache) forget(at int64, c *config.Config) {
	k.at, k.config, k.bytes = at, c, 0
	clear(k.lists)
}

// done publishes the answer to all waiters. nil means failure: waiters compute their own.
func (k *listCache) done(q listQuery, list *cachedList, text *listText) {
	k.mu.Lock()
	defer k.mu.Unlock()
	list.text = text
	close(list.ready)
	if k.lists[q] != list {
		return
	}
	if text == nil {
		delete(k.lists, q)
		return
	}
	k.bytes += text.size
}

func (l *cachedList) wait(ctx context.Context) (*listText, error) {
	select {
	case <-l.ready:
		return l.text, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
