package telegram

import (
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
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
	if _, refused := b.ask(b.ctx, "set the webhook", "", setWebhookForm{url: hook.URL, secret: hook.Secret.Reveal()}); refused != nil {
		return refused
	}
	b.ready()
	select {
	case <-b.ctx.Done():
		return nil
	case <-ended:
	}
	return &channel.Error{Deed: "receive calls of Telegram", AccountID: b.account, Class: ClassListen, Local: true, Err: errors.New("the listener has ended")}
}

// calls handles Telegram's calls, one at a time.
func (b *bot) calls() http.Handler {
	var turn sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != b.own.Webhook.Path {
			http.NotFound(w, r)
			return
		}
		if subtle.ConstantTimeCompare([]byte(r.Header.Get(secretHeader)), []byte(b.own.Webhook.Secret.Reveal())) != 1 {
			http.Error(w, "the secret is wrong", http.StatusForbidden)
			return
		}
		var u updateShape
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCall)).Decode(&u); err != nil {
			http.Error(w, "this is no update", http.StatusBadRequest)
			return
		}
		turn.Lock()
		defer turn.Unlock()
		if b.ctx.Err() != nil || !b.update(&u) {
			http.Error(w, "not handled", http.StatusServiceUnavailable)
		}
	})
}
