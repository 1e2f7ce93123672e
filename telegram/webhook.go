package telegram

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

// ClassListen is the class of a connection that failed because no calls can be received on this machine.
const ClassListen = "cannot_listen"

const (
	maxCall      = 4 << 20          // bytes of one update
	callTime     = 30 * time.Second // for reading a call
	shutdownTime = 5 * time.Second
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
)

// serve receives updates by Telegram's calls until that fails. A call is answered when its update was handled; Telegram
// repeats what was not answered, also across restarts.
func (b *bot) serve() *channel.Error {
	hook := b.own.Webhook
	var config net.ListenConfig
	listener, err := config.Listen(b.ctx, "tcp", net.JoinHostPort(hook.Host, strconv.Itoa(hook.Port)))
	if err != nil {
		f := collaborate.Failure{Unsent: true}
		return &channel.Error{Deed: "receive calls of Telegram", AccountID: b.account, Failure: f, Class: ClassListen, Local: true, Err: err,
			Hint: fmt.Sprintf("choose a free port for channels.telegram.accounts.%s.webhookPort; each account needs its own", b.account)}
	}
	server := &http.Server{Handler: b.calls(), ReadTimeout: callTime, ErrorLog: log.New(io.Discard, "", 0)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.Serve(listener) // ends with Shutdown or Close
	}()
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(b.ctx), shutdownTime)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
		<-ended
	}()
	for over := false; !over; {
		b.polling.Store(false)
		if _, refused := b.ask(b.ctx, "set the webhook", "", setWebhookForm{url: hook.URL, secret: hook.Secret.Reveal()}); refused != nil {
			return refused
		}
		b.ready()
		select {
		case <-b.ctx.Done():
			return nil
		case <-b.albums:
			if refused := b.pollAlbum(); refused != nil || b.ctx.Err() != nil {
				return refused
			}
		case <-ended:
			over = true
		}
	}
	return &channel.Error{Deed: "receive calls of Telegram", AccountID: b.account, Class: ClassListen, Local: true, Err: errors.New("the listener has ended")}
}

// calls handles Telegram's calls, one at a time: of those that wait the one with the lowest id first. Telegram makes one
// call at a time, as it was asked to, and repeats what was not answered.
func (b *bot) calls() http.Handler {
	var reading sync.Mutex // bounds the memory
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != b.own.Webhook.Path {
			http.NotFound(w, r)
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(b.own.Webhook.Secret.Reveal())) != 1 {
			http.Error(w, "the secret is wrong", http.StatusForbidden)
			return
		}
		reading.Lock()
		raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCall))
		u, unreadable := readUpdate(raw)
		reading.Unlock()
		if err != nil || u.ID <= 0 {
			http.Error(w, "this is no update", http.StatusBadRequest)
			return
		}
		if unreadable != nil { // it would be so the next time, and hold up the others
			b.log.Warn("cannot read an update of Telegram; skipped", "update", u.ID, "err", unreadable)
			return
		}
		defer b.turns.enter(u.ID)()
		if b.handled.has(u.ID) {
			return
		}
		if u.part() != (albumKey{}) && !b.polling.Swap(true) {
			b.albums <- struct{}{}
		}
		if b.polling.Load() || b.ctx.Err() != nil || !b.update(&u) {
			http.Error(w, "not handled", http.StatusServiceUnavailable)
			return
		}
		b.handled.add(u.ID)
	})
}

// turns let one update be handled at a time, of those that wait the one with the lowest id.
type turns struct {
	mu      sync.Mutex
	changed *sync.Cond
	busy    bool
	waiting []int64
}

func newTurns() *turns {
	t := &turns{}
	t.changed = sync.NewCond(&t.mu)
	return t
}

// enter waits for the turn of an update; leave has to be called afterwards.
func (t *turns) enter(id int64) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.waiting = append(t.waiting, id)
	for t.busy || slices.Min(t.waiting) != id {
		t.changed.Wait()
	}
	t.busy = true
	at := slices.Index(t.waiting, id)
	t.waiting = slices.Delete(t.waiting, at, at+1)
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.busy = false
		t.changed.Broadcast()
	}
}

// maxHandled is how many updates of a webhook are remembered, so that a repeated one is only acknowledged.
const maxHandled = 1000

// handled are the last updates that were handled.
type handled struct {
	mu    sync.Mutex
	known map[int64]bool
	order []int64 // of known, oldest first
}

func newHandled() *handled { return &handled{known: map[int64]bool{}} }

func (h *handled) has(id int64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.known[id]
}

func (h *handled) add(id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.order) >= maxHandled {
		delete(h.known, h.order[0])
		h.order = h.order[1:]
	}
	h.known[id] = true
	h.order = append(h.order, id)
}
