package slack

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// app is one account.
type app struct {
	apps *Apps
	own  config.Account
	wire wire
	log  *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	queue chan incoming
	asked chan struct{} // closed when Slack was asked who the app is
	ended chan struct{} // the socket has ended; capacity 1
	again chan struct{} // what could not be read is to be tried again; capacity 1

	// Used by the folding goroutine only:
	memory *memory
	behind []missed      // not read yet
	fails  int           // consecutive failures
	later  channel.Timer // nil: never postponed
	asks   int           // how many users may still be requested for the present message

	seat   seat
	posts  *posts
	status *channel.BotStatus

	toldAt atomic.Int64 // of events by HTTP: when Slack has told the last one, ms since 1970
	stale  atomic.Bool  // likewise: Slack may have given up some; they are read before the next event
	held   held         // likewise: those that need not be told again

	lostAt atomic.Int64 // when the last socket has ended, ms since 1970; 0: there was none

	mu     sync.Mutex
	auth   authShape
	joined int64 // Slack's time at the connection, in microseconds
}

// incoming is what waits to be folded: an envelope, or a new connection, after which what was missed is read.
type incoming struct {
	connected bool
	brief     bool // connected after a brief gap
	envelope  envelope
	ack       func() // called when everything that the envelope tells is stored
	refuse    func() // called instead if it has to be told again; may be nil
}

// Limits of an app.
const (
	maxQueue   = 1024        // envelopes; beyond that the socket is not read
	longEnough = time.Minute // duration of a connection after which its earlier failures are forgotten
	briefGap   = 5 * time.Minute
)

// startApp starts connecting an app. It ends with the context, or with cancel.
func startApp(ctx context.Context, all *Apps, own config.Account, m *memory) *app {
	a := &app{apps: all, own: own, log: all.o.Log.With("channel", coordination.Slack, "account", own.ID), done: make(chan struct{}),
		queue: make(chan incoming, maxQueue), asked: make(chan struct{}), ended: make(chan struct{}, 1), again: make(chan struct{}, 1), memory: m,
		seat: seat{member: map[string]bool{}}, posts: newPosts(all.o.Now())}
	a.ctx, a.cancel = context.WithCancel(ctx)
	a.status = channel.NewBotStatus(&all.o, own, all.refresh, all.Registry)
	o := all.o
	a.wire = newSession(wireOptions{token: own.Token.Reveal(), appToken: own.AppToken.Reveal(), transport: o.Transport, timeLimit: o.TimeLimit,
		silence: o.Silence, userAgent: o.UserAgent},
		wireEvents{opened: a.opened, told: a.told, lost: func() { signal(a.ended) }})
	var parts sync.WaitGroup
	parts.Go(a.live)
	parts.Go(a.fold)
	go func() {
		defer close(a.done)
		parts.Wait()
		a.status.Update(func(s *health.Bot) { s.State = health.BotOff })
	}()
	return a
}

// is reports whether an account's settings are those that the app was started with.
func (a *app) is(other config.Account) bool {
	return a.own.Token == other.Token && a.own.AppToken == other.AppToken && a.own.Webhook == other.Webhook
}

// live keeps the app connected.
func (a *app) live() {
	o, failures := a.apps.o, 0
	asked := sync.OnceFunc(func() { close(a.asked) })
	defer asked()
	for a.ctx.Err() == nil {
		began := o.Now()
		err := a.check()
		asked()
		if err == nil {
			err = a.connect()
		}
		if a.ctx.Err() != nil {
			break
		}
		if err == nil && o.Now().Sub(began) >= longEnough {
			failures = 0
		}
		failures++
		wait := o.Retries().After(failures)
		if err != nil {
			wait = a.failed(troubleOf(a.own.ID, err), wait)
		}
		if channel.Rest(a.ctx, o.AfterFunc, o.Jitter(wait)) != nil {
			break
		}
	}
}

// check asks Slack who the app is and what it may do.
func (a *app) check() error {
	const deed = "request the app"
	answer, refused := a.ask(a.ctx, deed, "", "auth.test", nil)
	if refused != nil {
		return refused
	}
	var auth authShape
	if err := json.Unmarshal(answer.body, &auth); err != nil || auth.UserID == "" {
		return unreadable(deed, a.own.ID, "", err)
	}
	a.mu.Lock()
	a.auth, a.joined = auth, dated(answer.header.Get("Date"))
	a.mu.Unlock()
	a.apps.directory.addUser(userShape{ID: auth.UserID, Name: auth.User, IsBot: true})
	a.status.Update(func(s *health.Bot) {
		s.UserID, s.UserName, s.GuildID, s.Site = auth.UserID, auth.User, guildID(auth.TeamID), siteOf(auth.URL)
	})
	a.apps.met(a.own.ID, auth.UserID)
	a.lacks(missingScopes(answer.header.Get("X-OAuth-Scopes"), a.apps.reacts()))
	return nil
}

// siteOf is the address of a workspace, for links; "" if it is no such address.
func siteOf(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return ""
	}
	return "https://" + u.Host + "/"
}

// dated is the second that an answer names; 0 if it names none.
func dated(date string) int64 {
	t, err := http.ParseTime(date)
	if err != nil {
		return 0
	}
	return t.UnixMicro()
}

// connect opens a socket and returns when it has ended, with an error if there was none. An app whose events come by
// HTTP has none: see listen.
func (a *app) connect() error {
	if a.own.Webhook.Path != "" {
		return a.listen()
	}
	drain(a.ended)
	if err := a.wire.open(a.ctx); err != nil {
		return err
	}
	select {
	case <-a.ended:
		a.lostAt.Store(a.apps.o.Now().UnixMilli())
		a.status.Update(func(s *health.Bot) { s.State = health.BotResuming })
		a.log.Info("connection to Slack lost")
	case <-a.ctx.Done():
		a.wire.cut()
		<-a.ended
	}
	return nil
}

// opened begins a connection, before its first event.
func (a *app) opened() {
	a.status.Update(func(s *health.Bot) {
		s.State, s.Class, s.Text, s.Hint, s.NextTry = health.BotReady, "", "", "", 0
		s.Connections++
	})
	a.log.Info("connected to Slack", "bot", a.current().UserID)
	lost := a.lostAt.Load()
	a.enqueue(incoming{connected: true, brief: lost != 0 && a.apps.o.Now().Sub(time.UnixMilli(lost)) < briefGap})
}

// told takes an envelope from the socket. Interactions are acknowledged at once: Slack accepts no answer after three
// seconds, and does not repeat them.
func (a *app) told(e envelope) {
	ack := func() { a.wire.ack(a.ctx, e.ID) }
	if e.Type != typeEvents {
		ack()
		a.interacted(e)
		return
	}
	a.enqueue(incoming{envelope: e, ack: ack})
}

func (a *app) enqueue(in incoming) {
	select {
	case a.queue <- in:
	case <-a.ctx.Done():
	}
}

// failed records that the app is not connected, the reason, and the time of the next attempt.
func (a *app) failed(t trouble, wait time.Duration) time.Duration {
	if lasts(t.class) {
		wait = a.apps.o.Most
	}
	wait = max(wait, t.wait)
	a.status.Update(func(s *health.Bot) {
		s.State, s.Class, s.Text, s.Hint = health.BotFailed, t.class, t.text, t.hint
		s.NextTry = a.apps.o.Now().Add(wait).UnixMilli()
	})
	a.log.Warn("cannot connect to Slack", "class", t.class, "reason", t.text, "hint", t.hint, "retry_in", wait)
	return wait
}

// lacks records missing rights of the app.
func (a *app) lacks(what string) {
	hint := ""
	if what != "" {
		hint = scopeHint(what)
		what = "scopes " + what
	}
	before := a.current().Missing
	a.status.Update(func(s *health.Bot) { s.Missing, s.MissingHint = what, hint })
	if what != "" && what != before {
		a.log.Warn("the app lacks scopes", "missing", what, "hint", hint)
	}
}

func (a *app) current() health.Bot { return a.status.Current() }

func (a *app) state() health.BotState { return a.current().State }

// team is the id of the app's workspace; "" before the first connection.
func (a *app) team() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.auth.TeamID
}

// refused reports whether Slack rejects the app permanently.
func (a *app) refused() bool {
	s := a.current()
	return s.State == health.BotOff || s.State == health.BotFailed && lasts(s.Class)
}

// ask makes one request and classifies its outcome.
func (a *app) ask(ctx context.Context, deed, place, method string, args url.Values) (answer, *channel.Error) {
	limited, cancel := context.WithTimeout(ctx, a.apps.o.TimeLimit)
	defer cancel()
	got, err := a.wire.ask(limited, request{method: method, args: args})
	return got, failed(ctx, deed, a.own.ID, place, got, err)
}

// signal wakes the current or next receiver.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drain removes a stale signal.
func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}
