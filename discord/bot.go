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

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
)

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

	queue    chan dispatch // for the folding goroutine
	accepted chan struct{} // READY or RESUMED was received; capacity 1
	ended    chan struct{} // the socket has closed; capacity 1

	application chan string // application id, for registering commands; capacity 1

	again chan struct{} // missed messages are to be fetched; capacity 1

	// Used by the folding goroutine only:
	memory *memory
	behind []missed      // not fetched yet
	fails  int           // consecutive failures
	later  channel.Timer // nil: never postponed

	seat   seat
	status *channel.BotStatus
}

// dispatch is a gateway event in Discord's format.
type dispatch struct {
	kind string
	data json.RawMessage
}

// Limits of a bot.
const (
	maxQueue   = 1024             // dispatches that wait to be folded; beyond that the socket is not read
	beginning  = 30 * time.Second // timeout for READY
	longEnough = time.Minute      // duration of a connection after which its earlier failures are forgotten
)

// startBot starts connecting a bot. It ends with the context, or with stop.
func startBot(ctx context.Context, all *Bots, a config.Account, m *memory) *bot {
	b := &bot{bots: all, account: a.ID, token: a.Token, log: all.o.Log.With("account", a.ID), done: make(chan struct{}),
		queue: make(chan dispatch, maxQueue), accepted: make(chan struct{}, 1), ended: make(chan struct{}, 1),
		application: make(chan string, 1), again: make(chan struct{}, 1), memory: m}
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.status = channel.NewBotStatus(&all.o, a, all.refresh, all.Registry)
	o := all.o
	b.wire, b.wireErr = newSession(wireOptions{token: a.Token.Reveal(), transport: o.Transport, timeLimit: o.TimeLimit, silence: o.Silence,
		userAgent: o.UserAgent},
		wireEvents{told: b.receive, lost: func() { signal(b.ended) }})
	var parts sync.WaitGroup
	parts.Go(b.live)
	parts.Go(b.fold)
	parts.Go(b.register)
	go func() {
		defer close(b.done)
		parts.Wait()
		b.status.Update(func(s *health.Bot) { s.State = health.BotOff })
	}()
	return b
}

// stop ends the bot; done is closed when it has ended.
func (b *bot) stop() { b.cancel() }

// live keeps the bot connected.
func (b *bot) live() {
	defer b.cancel() // only if no wire can be created
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
			content = false // it was removed meanwhile
			b.lacks(missingContent, missingContentHint)
			continue
		}
		if err == nil && o.Now().Sub(began) >= longEnough {
			failures = 0
		}
		failures++
		wait := o.Retries().After(failures)
		if err != nil {
			wait = b.failed(troubleOf(b.account, err), wait)
		}
		if channel.Rest(b.ctx, o.AfterFunc, o.Jitter(wait)) != nil {
			break
		}
	}
	b.wire.close()
}

// check asks Discord for the bot's identity and intents before the socket is opened: content is whether it may read
// messages that do not mention it.
func (b *bot) check() (content bool, err error) {
	a, refused := b.ask(b.ctx, "request the application", "", request{method: http.MethodGet, path: "/applications/@me"})
	if refused != nil {
		return false, refused
	}
	if content, err = readsContent(a.body); err != nil {
		return false, err
	}
	if !content {
		b.lacks(missingContent, missingContentHint)
		return false, nil
	}
	b.lacks("", "")
	return true, nil
}

// errNotReady means that Discord sent no READY.
var errNotReady = errors.New("connected, but Discord does not start the session")

// connect opens the socket and returns when it has closed, with an error if no session was established.
func (b *bot) connect(content bool) error {
	drain(b.accepted)
	drain(b.ended)
	stop := context.AfterFunc(b.ctx, b.wire.end) // open blocks and takes no context
	err := b.wire.open(content)
	switch {
	case !stop(): // ends open, and the socket with it
		return b.ctx.Err()
	case errors.Is(err, errStillOpen): // the loss of the socket was reported before
		b.status.Update(func(s *health.Bot) { s.State = health.BotReady })
	case err != nil:
		return err
	}
	late := make(chan struct{}, 1)
	timer := b.bots.o.AfterFunc(beginning, func() { signal(late) })
	defer timer.Stop()
	for {
		select {
		case <-b.accepted:
			timer.Stop()
		case <-b.ended:
			if s := b.current(); s.State == health.BotReady {
				b.status.Update(func(s *health.Bot) { s.State = health.BotResuming })
				b.log.Info("connection to Discord lost")
				return nil
			}
			return errNotReady
		case <-late:
			if b.state() != health.BotReady {
				b.wire.cut() // the library then detects the loss
			}
		case <-b.ctx.Done():
			return nil
		}
	}
}

// failed records that the bot is not connected, the reason, and the time of the next attempt.
func (b *bot) failed(t trouble, wait time.Duration) time.Duration {
	if lasts(t.class) {
		wait = b.bots.o.Most
	}
	b.status.Update(func(s *health.Bot) {
		s.State, s.Class, s.Text, s.Hint = health.BotFailed, t.class, t.text, t.hint
		s.NextTry = b.bots.o.Now().Add(wait).UnixMilli()
	})
	b.log.Warn("cannot connect to Discord", "class", t.class, "reason", t.text, "hint", t.hint, "retry_in", wait)
	return wait
}

// receive receives an event on the socket's reading goroutine, possibly under the library's lock.
func (b *bot) receive(kind string, data json.RawMessage) {
	switch kind {
	case "READY":
		var r readyShape
		if json.Unmarshal(data, &r) == nil {
			b.status.Update(func(s *health.Bot) { s.UserID, s.UserName = r.User.ID, r.User.name() })
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
	b.status.Update(func(s *health.Bot) {
		s.State, s.Class, s.Text, s.Hint, s.NextTry = health.BotReady, "", "", "", 0
		s.Connections++
		if resumed {
			s.Resumes++
		}
	})
	signal(b.accepted)
	b.log.Info("connected to Discord", "bot", b.current().UserID, "resumed", resumed)
}

// lacks records missing permissions of the bot.
func (b *bot) lacks(what, hint string) {
	b.status.Update(func(s *health.Bot) { s.Missing, s.MissingHint = what, hint })
	if what != "" {
		b.log.Warn("the bot lacks an intent or permission", "missing", what, "hint", hint)
	}
}

func (b *bot) current() health.Bot { return b.status.Current() }

func (b *bot) state() health.BotState { return b.current().State }

// refused reports whether Discord rejects the bot permanently.
func (b *bot) refused() bool {
	s := b.current()
	return s.State == health.BotOff || s.State == health.BotFailed && lasts(s.Class)
}

// ask makes one request and classifies its outcome.
func (b *bot) ask(ctx context.Context, deed, place string, r request) (answer, *channel.Error) {
	limit := b.bots.o.TimeLimit
	if r.file != nil {
		limit = max(limit, channel.FileTime)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a, err := b.wire.ask(limited, r)
	if around, is := errors.AsType[*url.Error](err); is && r.secret {
		err = around.Err // the URL contains a secret
	}
	return a, failed(ctx, deed, b.account, place, a, err)
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
