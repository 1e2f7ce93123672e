package discord

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/config"
)

// bot is one that is connected, or tries to be.
type bot struct {
	bots    *Bots
	account string
	token   config.Secret
	wire    wire
	wireErr error
	log     *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	queue chan dispatch // for the goroutine that folds
	begun chan struct{} // READY or RESUMED has come; capacity 1
	ended chan struct{} // the socket has ended; capacity 1

	application chan string // its id, for whoever registers the commands; capacity 1

	again chan struct{} // what the bot is behind with is to be read; capacity 1

	// Of the goroutine that folds:
	memory *memory
	behind []missed // what could not be read yet
	fails  int      // how often in a row
	later  Timer    // nil: it was never put off

	seat seat

	mu     sync.Mutex
	status Status
}

// dispatch is an event as Discord words it.
type dispatch struct {
	kind string
	data json.RawMessage
}

// What a bot bears.
const (
	maxQueue   = 1024             // dispatches that wait to be folded; then the socket is not read on
	beginning  = 30 * time.Second // until Discord has to begin
	longEnough = time.Minute      // that a connection has to hold for its failures to be forgotten
)

// startBot begins to connect a bot. It ends with the context, or with stop.
func startBot(ctx context.Context, all *Bots, a config.DiscordAccount, m *memory) *bot {
	b := &bot{bots: all, account: a.ID, token: a.Token, log: all.o.Log.With("account", a.ID), done: make(chan struct{}),
		queue: make(chan dispatch, maxQueue), begun: make(chan struct{}, 1), ended: make(chan struct{}, 1),
		application: make(chan string, 1), again: make(chan struct{}, 1), memory: m}
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.status = Status{AccountID: a.ID, UserID: a.BotUserID, State: StateConnecting, Since: all.o.Now().UnixMilli()}
	o := all.o
	b.wire, b.wireErr = newSession(wireOptions{token: a.Token.Reveal(), transport: o.Transport, timeLimit: o.TimeLimit, silence: o.Silence,
		userAgent: o.UserAgent},
		wireEvents{told: b.told, lost: func() { signal(b.ended) }})
	var parts sync.WaitGroup
	parts.Go(b.live)
	parts.Go(b.fold)
	parts.Go(b.register)
	go func() {
		defer close(b.done)
		parts.Wait()
		b.change(func(s *Status) { s.State = StateOff })
	}()
	return b
}

// stop lets the bot end; done is closed when it has.
func (b *bot) stop() { b.cancel() }

// live keeps the bot connected.
func (b *bot) live() {
	defer b.cancel() // only of a wire that cannot be made
	if b.wireErr != nil {
		return
	}
	o, failures, content, checked := b.bots.o, 0, true, false
	for b.ctx.Err() == nil {
		began := o.Now()
		err := error(nil)
		if !checked {
			content, err = b.check()
		}
		if err == nil {
			checked = true
			err = b.connect(content)
		}
		if b.ctx.Err() != nil {
			break
		}
		var closed *closeError
		if errors.As(err, &closed) && closed.code == closeIntents && content {
			content = false // it was taken away meanwhile
			b.lacks(missingContent, missingContentMend)
			continue
		}
		if err == nil && o.Now().Sub(began) >= longEnough {
			failures = 0
		}
		wait := min(o.Least<<min(failures, 16), o.Most)
		failures++
		if err != nil {
			wait = b.failed(troubleOf(b.account, err), wait)
		}
		if rest(b.ctx, o.AfterFunc, o.Jitter(wait)) != nil {
			break
		}
	}
	b.wire.close()
}

// check asks Discord who the bot is and what it may, before a socket is opened: content is whether it may read what does not mention it.
func (b *bot) check() (content bool, err error) {
	const contentIntent, contentIntentLimited = 1 << 18, 1 << 19
	a, refused := b.ask(b.ctx, "ask for the application", "", request{method: http.MethodGet, path: "/applications/@me"})
	if refused != nil {
		return false, refused
	}
	var app struct {
		Flags int `json:"flags"`
	}
	if err := json.Unmarshal(a.body, &app); err != nil {
		return false, err
	}
	if app.Flags&(contentIntent|contentIntentLimited) == 0 {
		b.lacks(missingContent, missingContentMend)
		return false, nil
	}
	b.lacks("", "")
	return true, nil
}

// errNotReady is the error of a connection on which Discord does not begin.
var errNotReady = errors.New("connected, but Discord does not begin the session")

// connect opens the socket, and returns when it has ended, with an error if the session did not begin.
func (b *bot) connect(content bool) error {
	drain(b.begun)
	drain(b.ended)
	stop := context.AfterFunc(b.ctx, b.wire.end) // open waits for Discord, and knows no context
	err := b.wire.open(content)
	switch {
	case !stop(): // it ends, and the socket with it
		return b.ctx.Err()
	case errors.Is(err, errStillOpen): // that it was lost was said of the socket before
		b.change(func(s *Status) { s.State = StateReady })
	case err != nil:
		return err
	}
	late := make(chan struct{}, 1)
	timer := b.bots.o.AfterFunc(beginning, func() { signal(late) })
	defer timer.Stop()
	for {
		select {
		case <-b.begun:
			timer.Stop()
		case <-b.ended:
			if s := b.current(); s.State == StateReady {
				b.change(func(s *Status) { s.State = StateResuming })
				b.log.Info("connection to Discord lost")
				return nil
			}
			return errNotReady
		case <-late:
			if b.state() != StateReady {
				b.wire.cut() // and the library finds it lost
			}
		case <-b.ctx.Done():
			return nil
		}
	}
}

// failed says that the bot is not connected, and why, and how long to wait.
func (b *bot) failed(t trouble, wait time.Duration) time.Duration {
	if t.class.lasts() {
		wait = b.bots.o.Most
	}
	b.change(func(s *Status) {
		s.State, s.Class, s.Text, s.Mend = StateFailed, t.class, t.text, t.mend
		s.NextTry = b.bots.o.Now().Add(wait).UnixMilli()
	})
	b.log.Warn("not connected to Discord", "class", t.class, "reason", t.text, "mend", t.mend, "wait", wait)
	return wait
}

// told takes an event in, by the goroutine that reads the socket. It may hold the library's lock.
func (b *bot) told(kind string, data json.RawMessage) {
	switch kind {
	case "READY":
		var r readyShape
		if json.Unmarshal(data, &r) == nil {
			b.change(func(s *Status) { s.UserID, s.UserName = r.User.ID, r.User.name() })
			select {
			case b.application <- r.Application.ID:
			default:
			}
		}
		b.ready(false)
	case "INTERACTION_CREATE":
		b.interacted(data)
		return
	case "RESUMED":
		b.ready(true)
		return
	}
	if !folded(kind) {
		return
	}
	select {
	case b.queue <- dispatch{kind, data}:
	case <-b.ctx.Done():
	}
}

func (b *bot) ready(resumed bool) {
	b.change(func(s *Status) {
		s.State, s.Class, s.Text, s.Mend, s.NextTry = StateReady, "", "", "", 0
		s.Connections++
		if resumed {
			s.Resumes++
		}
	})
	signal(b.begun)
	b.log.Info("connected to Discord", "bot", b.current().UserID, "resumed", resumed)
}

// lacks says what the bot may not do.
func (b *bot) lacks(what, mend string) {
	b.change(func(s *Status) { s.Missing, s.MissingMend = what, mend })
	if what != "" {
		b.log.Warn("the bot lacks something", "missing", what, "mend", mend)
	}
}

// change changes the status, and tells of it if the state has changed.
func (b *bot) change(how func(*Status)) {
	b.mu.Lock()
	before := b.status
	how(&b.status)
	changed := b.status.State != before.State || b.status.Missing != before.Missing
	if b.status.State != before.State {
		b.status.Since = b.bots.o.Now().UnixMilli()
	}
	now := b.status
	b.mu.Unlock()
	if !changed {
		return
	}
	if now.State != before.State {
		b.bots.refresh()
	}
	if who, known := b.bots.Registry().Account(b.account); known {
		now.AgentID = who.AgentID
	}
	b.bots.o.OnStatus(now)
}

func (b *bot) current() Status {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.status
}

func (b *bot) state() State { return b.current().State }

// refused says whether Discord will not have the bot, which does not go away by itself.
func (b *bot) refused() bool {
	s := b.current()
	return s.State == StateOff || s.State == StateFailed && s.Class.lasts()
}

// ask makes one request, and says what has become of it.
func (b *bot) ask(ctx context.Context, deed, place string, r request) (answer, *Error) {
	limited, cancel := context.WithTimeout(ctx, b.bots.o.TimeLimit)
	defer cancel()
	a, err := b.wire.ask(limited, r)
	if around, is := errors.AsType[*url.Error](err); is && r.secret {
		err = around.Err // the address tells what nobody may know
	}
	return a, failed(ctx, deed, b.account, place, a, err)
}

// signal wakes whoever waits, or will.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// drain takes an old signal away.
func drain(c chan struct{}) {
	select {
	case <-c:
	default:
	}
}
