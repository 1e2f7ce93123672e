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

// onceBox calls a tool once per idempotency key, name and arguments: repeated requests wait for and share the first
// result, within the process's lifetime and the limits below. A call that did not start, or was interrupted because
// its client left, is repeated.
type onceBox struct {
	tool.Box
	now func() time.Time

	mu    sync.Mutex
	calls map[onceKey]*onceCall
	kept  []*onceCall // finished calls, oldest first
	bytes int         // bytes of their outputs and keys
}

// Limits of stored results.
const (
	onceTime  = 10 * time.Minute
	onceCalls = 1_000
	onceBytes = 16 << 20
)

type onceKey struct {
	caller tool.Caller // including the key as CallID
	name   string
	args   [sha256.Size]byte
}

type onceCall struct {
	key  onceKey
	over chan struct{} // closed when the fields below are set

	keep   bool // the result may be shared
	output tool.Output
	err    error
	until  time.Time
}

// newOnceBox returns nil without tools.
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

// begin returns the call of a key; mine means that the caller has to run it. Active calls are not limited here:
// connections limit them.
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
	defer o.end(one) // also on panic
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

// drop evicts the oldest call. It is called with the lock held.
func (o *onceBox) drop() {
	delete(o.calls, o.kept[0].key)
	o.bytes -= o.kept[0].size()
	o.kept[0] = nil
	o.kept = o.kept[1:]
}

func (c *onceCall) size() int {
	return len(c.output.Text) + len(c.output.Details) + len(c.key.caller.CallID) + len(c.key.caller.SessionKey)
}
