package slack

import (
	"context"
	"encoding/json"
	"maps"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// maxPosts is how many posts of an app are remembered with their nonces.
const maxPosts = 4096

// posts are an app's requests to post that are under way, and the nonces of what it has posted since it began to connect.
type posts struct {
	mu     sync.Mutex
	open   map[string][]chan struct{} // by conversation: each is closed when the request has ended
	nonces map[string]string          // by message id; "" if it was posted without one
	order  []string                   // of nonces, oldest first

	began  time.Time            // what was posted before is not known
	shared map[string]time.Time // by conversation: when Slack was last asked to share a file there
	files  map[string]shared    // by id, of those that it was asked to share
}

// shared is a file that Slack was asked to share.
type shared struct {
	nonce string
	ts    string        // of its message; "" until an event has named it
	named chan struct{} // closed then
}

func newPosts(began time.Time) *posts {
	return &posts{open: map[string][]chan struct{}{}, nonces: map[string]string{}, began: began, shared: map[string]time.Time{}, files: map[string]shared{}}
}

// share records a file that Slack is to be asked to share: the event of its message may come before any answer.
func (p *posts) share(file, nonce string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	put(p.files, file, shared{nonce: nonce, named: make(chan struct{})})
}

// arrived records the message of a file, and returns the nonce with which that was posted, if this is one of such a file.
func (p *posts) arrived(m *messageShape) (nonce string, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(m.Files) != 1 {
		return "", false
	}
	of, known := p.files[m.Files[0].ID]
	if known && of.ts == "" {
		of.ts = m.TS
		p.files[m.Files[0].ID] = of
		close(of.named)
	}
	return of.nonce, known
}

// messageOf is the timestamp of the message of a file; "" if no event has named it, which named waits for.
func (p *posts) messageOf(file string) (ts string, named <-chan struct{}) {
	p.mu.Lock()
	defer p.mu.Unlock()
	of := p.files[file]
	return of.ts, of.named
}

// completed records that Slack was asked to share a file.
func (p *posts) completed(chat string, now time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.shared, func(_ string, at time.Time) bool { return now.Sub(at) > shareTime })
	p.shared[chat] = now
}

// mayShare is when Slack was last asked to share a file in a conversation, at the latest.
func (p *posts) mayShare(chat string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if at, known := p.shared[chat]; known {
		return at
	}
	return p.began
}

// begin registers a request to post in a conversation; end has to be called afterwards.
func (p *posts) begin(chat string) (end func()) {
	done := make(chan struct{})
	p.mu.Lock()
	defer p.mu.Unlock()
	p.open[chat] = append(p.open[chat], done)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		close(done)
		p.open[chat] = slices.DeleteFunc(p.open[chat], func(other chan struct{}) bool { return other == done })
		if len(p.open[chat]) == 0 {
			delete(p.open, chat)
		}
	}
}

// settle waits for the requests in a conversation that are under way now.
func (p *posts) settle(ctx context.Context, chat string) {
	p.mu.Lock()
	open := slices.Clone(p.open[chat])
	p.mu.Unlock()
	for _, done := range open {
		select {
		case <-done:
		case <-ctx.Done():
			return
		}
	}
}

func (p *posts) add(id, nonce string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.nonces[id]; known {
		return
	}
	if len(p.order) >= maxPosts {
		delete(p.nonces, p.order[0])
		p.order = p.order[1:]
	}
	p.nonces[id] = nonce
	p.order = append(p.order, id)
}

func (p *posts) nonce(id string) (nonce string, known bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	nonce, known = p.nonces[id]
	return nonce, known
}

// nonceOf is the nonce of a message that one of our apps has written, "" if it has none. Slack's events do not have it,
// and may come before the answer to the request that posts. What was posted by a request without an answer, or before the
// last restart, is looked up: the metadata of a message has its nonce. It is not known if that fails for now.
// late says that the message was read with its metadata.
func (a *app) nonceOf(m *messageShape, account string, late bool) (nonce string, known bool) {
	own := a.apps.app(account)
	if own == nil {
		own = a
	}
	switch kind, nonce := m.key("nonce"); {
	case kind == metadataPost:
		return nonce, true
	case kind != "", late && own == a: // an app always reads its own metadata
		return "", true
	}
	if nonce, known := own.posts.arrived(m); known {
		return nonce, true
	}
	in := place{chat: m.Channel, thread: m.inThread()}
	id := in.messageID(m.TS)
	own.posts.settle(a.ctx, m.Channel)
	if nonce, known := own.posts.nonce(id); known {
		return nonce, true
	}
	if a.apps.o.Posted(id) {
		return "", true // the log knows more
	}
	nonce, known = own.lookUp(a.ctx, in, m.TS)
	if known {
		own.posts.add(id, nonce)
	}
	return nonce, known
}

// lookUp reads the nonce of one message. What Slack refuses for good has none.
func (a *app) lookUp(ctx context.Context, in place, ts string) (nonce string, known bool) {
	const deed = "request a message of its own"
	method, args := reading(in)
	for name, value := range map[string]string{"oldest": ts, "latest": ts, "inclusive": "true", "include_all_metadata": "true", "limit": "2"} {
		args.Set(name, value)
	}
	got, refused := a.ask(ctx, deed, in.id(), method, args)
	if refused != nil {
		if ctx.Err() == nil {
			a.log.Warn("cannot look up how a message was posted", "place", in.id(), "err", refused)
		}
		return "", ctx.Err() == nil && !passing(refused.Class)
	}
	var page pageShape
	if json.Unmarshal(got.body, &page) != nil {
		return "", true
	}
	for i := range page.Messages {
		if kind, nonce := page.Messages[i].key("nonce"); page.Messages[i].TS == ts && kind == metadataPost {
			return nonce, true
		}
	}
	return "", true
}

// reading is the method that reads a conversation or thread, and what it has to be given.
func reading(in place) (method string, args url.Values) {
	args = url.Values{"channel": {in.chat}}
	if in.thread == "" {
		return "conversations.history", args
	}
	args.Set("ts", in.thread)
	return "conversations.replies", args
}

// passing reports whether a request may succeed later as it is.
func passing(c collaborate.Class) bool {
	return slices.Contains([]collaborate.Class{collaborate.ClassRateLimited, collaborate.ClassUnavailable, collaborate.ClassTimeout,
		collaborate.ClassUnsent, collaborate.ClassLost}, c)
}
