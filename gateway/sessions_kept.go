package gateway

import (
	"context"
	"sync"

	"github.com/pronto-lab/openclawd/config"
)

// Bounds of the answers that are kept.
const (
	maxKeptLists     = 64
	maxKeptListBytes = 8 << 20
)

// keptLists keeps answers of sessions.list while no session and no setting changes. Who asks says how far the sessions are that it sees,
// so an answer of another state is never given; when anything changes, or there are too many, all are forgotten. Those who ask the same at
// the same time wait for the first one of them, who makes the answer.
type keptLists struct {
	mu     sync.Mutex
	at     int64 // seq of the last change that the answers show
	config *config.Config
	bytes  int
	lists  map[listQuery]*keptList
}

// keptList is an answer, or one in the making.
type keptList struct {
	ready chan struct{} // closed when it is made, or could not be
	text  *listText     // nil if it could not be
}

func newKeptLists() *keptLists { return &keptLists{lists: map[listQuery]*keptList{}} }

// find gives the answer as of a change. mine says that nobody has made it yet, and that who asks is to make it and to call done.
func (k *keptLists) find(at int64, c *config.Config, q listQuery) (list *keptList, mine bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if at < k.at {
		return &keptList{ready: make(chan struct{})}, true // of the past: for this one only
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
	list = &keptList{ready: make(chan struct{})}
	k.lists[q] = list
	return list, true
}

func (k *keptLists) forget(at int64, c *config.Config) {
	k.at, k.config, k.bytes = at, c, 0
	clear(k.lists)
}

// done gives the answer to all who wait for it. nil is none: they help themselves.
func (k *keptLists) done(q listQuery, list *keptList, text *listText) {
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

// wait waits for an answer that somebody else makes.
func (l *keptList) wait(ctx context.Context) (*listText, error) {
	select {
	case <-l.ready:
		return l.text, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
