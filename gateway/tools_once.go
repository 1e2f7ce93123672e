package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

// onceBox calls a tool once for clients that ask again with the same key, the same name and the same arguments: the second one waits for the
// first and has what that has, as long as the process lives and the bounds below allow. What a tool has not begun with, or what was broken off
// because the client has left, is called again.
type onceBox struct {
	tool.Box
	now func() time.Time

	mu    sync.Mutex
	calls map[onceKey]*onceCall
	kept  []*onceCall // of calls, those that are over, the oldest first
	bytes int         // of their outputs and keys
}

// Bounds of what is kept of calls.
const (
	onceTime  = 10 * time.Minute
	onceCalls = 1_000
	onceBytes = 16 << 20
)

type onceKey struct {
	caller tool.Caller // with the key, which is its CallID
	name   string
	args   [sha256.Size]byte
}

type onceCall struct {
	key  onceKey
	over chan struct{} // closed when what follows is there

	keep   bool // others may have it
	output tool.Output
	err    error
	until  time.Time
}

// newOnceBox is nil for no tools.
func newOnceBox(tools tool.Box, now func() time.Time) tool.Box {
	if tools == nil {
		return nil
	}
	return &onceBox{Box: tools, now: now, calls: map[onceKey]*onceCall{}}
}

// Call implements tool.Box.
func (o *onceBox) Call(ctx context.Context, c tool.Caller, name string, args json.RawMessage) (tool.Output, error) {
	if c.CallID == "" {
		return o.Box.Call(ctx, c, name, args)
	}
	key := onceKey{c, name, sha256.Sum256(args)}
	for {
		one, mine := o.begin(key)
		if mine {
			return o.do(ctx, one, args)
		}
		select {
		case <-one.over:
		case <-ctx.Done():
			return tool.Output{}, ctx.Err()
		}
		if one.keep {
			return one.output, one.err
		}
	}
}

// begin is the call of a key; mine if the caller has to do it. Those under way are not counted: connections bound them.
func (o *onceBox) begin(key onceKey) (one *onceCall, mine bool) {
	now := o.now()
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.kept) > 0 && !now.Before(o.kept[0].until) {
		o.drop()
	}
	if one = o.calls[key]; one != nil {
		return one, false
	}
	one = &onceCall{key: key, over: make(chan struct{})}
	o.calls[key] = one
	return one, true
}

func (o *onceBox) do(ctx context.Context, one *onceCall, args json.RawMessage) (tool.Output, error) {
	defer o.end(one) // also if it panics
	one.output, one.err = o.Box.Call(ctx, one.key.caller, one.key.name, args)
	failed, _ := errors.AsType[*tool.Error](one.err)
	one.keep = one.err == nil || failed != nil && failed.Code == tool.CodeBroken
	return one.output, one.err
}

func (o *onceBox) end(one *onceCall) {
	one.until = o.now().Add(onceTime)
	o.mu.Lock()
	defer o.mu.Unlock()
	close(one.over)
	if !one.keep {
		delete(o.calls, one.key)
		return
	}
	o.kept = append(o.kept, one)
	o.bytes += one.size()
	for len(o.kept) > onceCalls || o.bytes > onceBytes {
		o.drop()
	}
}

// drop forgets the oldest. It is called with the lock held.
func (o *onceBox) drop() {
	delete(o.calls, o.kept[0].key)
	o.bytes -= o.kept[0].size()
	o.kept[0] = nil
	o.kept = o.kept[1:]
}

func (c *onceCall) size() int {
	return len(c.output.Text) + len(c.output.Details) + len(c.key.caller.CallID) + len(c.key.caller.SessionKey)
}
