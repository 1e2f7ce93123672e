package slack

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
)

// Limits of requests from Slack.
const (
	maxBody    = 1 << 20
	maxAge     = 5 * time.Minute         // difference between Slack's clock and ours, in both directions
	answerTime = 2500 * time.Millisecond // Slack waits three seconds
	readTime   = 10 * time.Second
	mostReads  = 8 // requests at once
	lateRetry  = 2 // from this attempt on, other events may have been given up

	unsignedPause = time.Minute // between two lines in the log
	longestQuiet  = 12          // times the silence: the most between two looks
)

// listen connects an app whose events come by HTTP, until Slack cannot be asked any more or the app ends. There is no
// connection that ends in an outage. But Slack repeats an event for about six minutes: what it has given up came before a
// silence. So after a silence the app asks for what it was not told, ever more rarely while that lasts, and the first
// event after one waits for that.
func (a *app) listen() error {
	a.toldAt.Store(a.apps.o.Now().UnixMilli())
	a.opened()
	for wait := a.quiet(); channel.Rest(a.ctx, a.apps.o.AfterFunc, wait) == nil; {
		if !a.isSilent() {
			wait = a.quiet()
			continue
		}
		if err := a.check(); err != nil {
			return err
		}
		a.enqueue(incoming{connected: true})
		wait = min(2*wait, longestQuiet*a.quiet())
	}
	return nil
}

// quiet is how long Slack says nothing before something may be missing: with the usual options, five minutes.
func (a *app) quiet() time.Duration { return 3 * a.apps.o.Silence }

func (a *app) isSilent() bool {
	return a.apps.o.Now().Sub(time.UnixMilli(a.toldAt.Load())) >= a.quiet()
}

// hears records that Slack has told something. That it repeats an event which waits here means nothing.
func (a *app) hears(h http.Header, event string) {
	attempt, err := strconv.Atoi(h.Get("X-Slack-Retry-Num"))
	if a.isSilent() || err == nil && attempt >= lateRetry && !a.held.has(event) {
		a.stale.Store(true)
	}
	a.toldAt.Store(a.apps.o.Now().UnixMilli())
}

// ServeHTTP takes what Slack sends to the request URL of an app: a request without the signature of one of the accounts
// with that path is refused. An event is answered with 200 only after everything that it tells is stored; otherwise
// Slack sends it again.
func (b *Apps) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	candidates := b.receivers(r.URL.Path)
	if len(candidates) == 0 {
		http.NotFound(w, r)
		return
	}
	if r.Method != http.MethodPost {
		http.Error(w, "only POST", http.StatusMethodNotAllowed)
		return
	}
	if !recent(r.Header, b.o.Now()) {
		b.unsigned(w)
		return
	}
	body, err := b.read(w, r)
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	for _, own := range candidates {
		if signedWith(own.own.Webhook.Secret, r.Header, body) {
			own.receive(w, r, body)
			return
		}
	}
	b.unsigned(w)
}

// read reads a request, few at once: what anyone may send is held in memory before its signature can be checked.
func (b *Apps) read(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	select {
	case b.reading <- struct{}{}:
		defer func() { <-b.reading }()
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
	reader := http.NewResponseController(w)
	timer := b.o.AfterFunc(readTime, func() { _ = reader.SetReadDeadline(time.Unix(1, 0)) }) // it is over at once; a recorder in a test has none
	defer timer.Stop()
	return io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
}

// unsigned refuses a request. The log says so at most once a minute: anyone may send them.
func (b *Apps) unsigned(w http.ResponseWriter) {
	http.Error(w, "invalid signature", http.StatusUnauthorized)
	now := b.o.Now().UnixMilli()
	told := b.unsignedAt.Load()
	b.unsignedSince.Add(1)
	if told != 0 && now-told < unsignedPause.Milliseconds() || !b.unsignedAt.CompareAndSwap(told, now) {
		return
	}
	b.o.Log.Warn("requests to the address of Slack's events have no valid signature", "requests", b.unsignedSince.Swap(0),
		"hint", "compare signingSecret with Basic Information of the app, and the clock")
}

// receivers are the apps whose events come to a path.
func (b *Apps) receivers(path string) (all []*app) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, own := range b.apps {
		if own.own.Webhook.Path == path && path != "" {
			all = append(all, own)
		}
	}
	return all
}

// sentHeader is the time of a request, which is signed with it.
const sentHeader = "X-Slack-Request-Timestamp"

// recent reports whether a request says that it was sent not long ago.
func recent(h http.Header, now time.Time) bool {
	seconds, err := strconv.ParseInt(h.Get(sentHeader), 10, 64)
	return err == nil && now.Sub(time.Unix(seconds, 0)).Abs() <= maxAge
}

// signedWith reports whether a request was signed with a secret.
func signedWith(secret config.Secret, h http.Header, body []byte) bool {
	if secret == "" {
		return false
	}
	sum := hmac.New(sha256.New, []byte(secret.Reveal()))
	_, _ = fmt.Fprintf(sum, "v0:%s:%s", h.Get(sentHeader), body) // a hash takes everything
	got, err := hex.DecodeString(strings.TrimPrefix(h.Get("X-Slack-Signature"), "v0="))
	return err == nil && hmac.Equal(got, sum.Sum(nil))
}

// receive takes a request with a valid signature. Before Slack has said who the app is, it is not known where anything
// happens: then Slack has to tell it again.
func (a *app) receive(w http.ResponseWriter, r *http.Request, body []byte) {
	early := func() bool {
		if a.team() != "" {
			return false
		}
		http.Error(w, "not connected yet", http.StatusServiceUnavailable)
		return true
	}
	if strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded") {
		if !early() {
			a.receiveForm(w, body)
		}
		return
	}
	var outer struct {
		Type      string `json:"type"`
		Challenge string `json:"challenge"`
		EventID   string `json:"event_id"`
	}
	if json.Unmarshal(body, &outer) != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	switch outer.Type {
	case "url_verification":
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = io.WriteString(w, outer.Challenge) // Slack asks again
	case "event_callback":
		if early() {
			return
		}
		a.hears(r.Header, outer.EventID)
		a.receiveEvent(w, r, outer.EventID, body)
	case "app_rate_limited": // Slack has told no events for a while
		a.stale.Store(true)
	}
}

func (a *app) receiveEvent(w http.ResponseWriter, r *http.Request, id string, body []byte) {
	ctx, cancel := context.WithTimeout(r.Context(), answerTime)
	defer cancel()
	stored := make(chan struct{})
	a.held.add(id)
	select {
	case a.queue <- incoming{envelope: envelope{Type: typeEvents, Payload: body}, ack: func() { close(stored) }, refuse: func() { a.held.drop(id) }}:
	case <-a.ctx.Done():
	case <-ctx.Done():
		a.held.drop(id)
	}
	select {
	case <-stored:
		return
	case <-a.ctx.Done():
	case <-ctx.Done():
	}
	http.Error(w, "not stored yet", http.StatusServiceUnavailable)
}

// receiveForm takes an interaction. The empty answer is the acknowledgement.
func (a *app) receiveForm(w http.ResponseWriter, body []byte) {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	e := envelope{Type: typeInteractive, Payload: json.RawMessage(form.Get("payload"))}
	if form.Has("command") {
		all := map[string]string{}
		for name := range form {
			all[name] = form.Get(name)
		}
		payload, err := json.Marshal(all)
		if err != nil {
			http.Error(w, "unreadable", http.StatusBadRequest)
			return
		}
		e = envelope{Type: typeSlash, Payload: payload}
	}
	w.WriteHeader(http.StatusOK)
	a.interacted(e)
}
