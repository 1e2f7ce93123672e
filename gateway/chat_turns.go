package gateway

import (
	"context"
	"hash/fnv"
)

// turns lets those who say something in the same session do so one after the other, so that it is told in the order in which it was
// stored: who is stored together in one transaction would otherwise race to tell it. Some sessions share a turn, so that there is a bounded
// number of them.
type turns [64]chan struct{}

func newTurns() (t turns) {
	for i := range t {
		t[i] = make(chan struct{}, 1)
	}
	return t
}

// take waits for the turn of a session, and leave ends it.
func (t *turns) take(ctx context.Context, key string) (leave func(), err error) {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key)) // never fails
	turn := t[h.Sum32()%uint32(len(t))]
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
