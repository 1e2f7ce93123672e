package telegram

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/coordination/health"
)

// bot is the bot of one account. It receives updates on one goroutine, in order.
type bot struct {
	bots    *Bots
	account string
	own     config.Account
	wire    wire
	log     *slog.Logger

	ctx    context.Context
	cancel context.CancelFunc
	done   chan struct{}

	known     chan struct{} // closed when the bot's username is known, or will not be soon
	knownOnce sync.Once

	status  *channel.BotStatus
	turns   *turns        // of the calls of the webhook
	handled *handled      // updates of the webhook
	albums  chan struct{} // of the webhook: an album comes, which is polled; capacity 1
	polling atomic.Bool   // while that is done
	held    heldAlbum
	offset  int64 // of the next update; used by the bot's goroutine, and after done
	user    atomic.Int64
	handle  atomic.Pointer[string] // its username

	mu      sync.Mutex
	seesAll bool // privacy mode is off
}

// Limits of a bot.
const (
	pollTime  = 50 * time.Second // how long Telegram waits for updates; its maximum
	pollLimit = 100              // updates at once; its maximum

	longEnough = time.Minute // duration of a connection after which its earlier failures are forgotten
)

// startBot starts connecting a bot. It ends with the context, or with cancel.
func startBot(ctx context.Context, all *Bots, a config.Account) *bot {
	b := &bot{bots: all, account: a.ID, own: a, log: all.o.Log.With("account", a.ID), done: make(chan struct{}), known: make(chan struct{}), turns: newTurns(), handled: newHandled(), albums: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancel(ctx)
	b.status = channel.NewBotStatus(&all.o, a, all.refresh, all.Registry)
	none := ""
	b.handle.Store(&none)
	w, err := newLibrary(a.Token.Reveal(), all.o.UserAgent, all.o.Transport)
	if err != nil { // only without a token: such an account is not started
		b.cancel()
	}
	b.wire = w
	go func() {
		defer close(b.done)
		b.live()
		b.status.Update(func(s *health.Bot) { s.State = health.BotOff })
	}()
	return b
}

// keeps reports whether a running bot is what an account requires.
func (b *bot) keeps(a config.Account) bool {
	return a.Token == b.own.Token && a.Webhook == b.own.Webhook && b.current().State != health.BotFailed
}

// live keeps the bot connected.
func (b *bot) live() {
	defer b.cancel()
	defer b.introduce()
	o, failures := b.bots.o, 0
	for b.ctx.Err() == nil {
		began := o.Now()
		err := b.begin()
		if err == nil {
			b.introduce()
			b.awaitOthers()
			if b.own.Webhook.URL != "" {
				err = b.serve()
			} else {
				err = b.receive()
			}
		}
		if err == nil || b.ctx.Err() != nil { // it ends, even if its own context is told of that a moment later
			break
		}
		if o.Now().Sub(began) >= longEnough {
			failures = 0
		}
		failures++
		wait := b.failed(b.troubleOf(err), max(o.Retries().After(failures), err.Failure.RetryAfter))
		if channel.Rest(b.ctx, o.AfterFunc, o.Jitter(wait)) != nil {
			break
		}
	}
}

func (b *bot) introduce() { b.knownOnce.Do(func() { close(b.known) }) }

// awaitOthers waits until Telegram has told who the other bots are, not longer than for an answer: a mention of a bot
// whose username is not known is none, and a message is decided only once.
func (b *bot) awaitOthers() {
	late := make(chan struct{})
	timer := b.bots.o.AfterFunc(b.bots.o.TimeLimit, func() { close(late) })
	defer timer.Stop()
	for _, other := range b.bots.all() {
		select {
		case <-other.known:
		case <-late:
			return
		case <-b.ctx.Done():
			return
		}
	}
}

// begin asks Telegram who the bot is, and registers its commands.
func (b *bot) begin() *channel.Error {
	a, refused := b.ask(b.ctx, "request the bot", "", meForm{})
	if refused != nil {
		return refused
	}
	me, err := result[userShape]("request the bot", b.account, a)
	if err != nil {
		return err.(*channel.Error)
	}
	if known := b.user.Swap(me.ID); known != me.ID {
		b.offset = b.bots.offsetOf(b.account, me.ID)
	}
	b.handle.Store(&me.Username)
	b.bots.directory.mu.Lock()
	b.bots.directory.addUser(&me)
	b.bots.directory.mu.Unlock()
	b.mu.Lock()
	b.seesAll = me.SeesAll
	b.mu.Unlock()
	b.register()
	b.status.Update(func(s *health.Bot) { s.UserID, s.UserName = idText(me.ID), me.name() })
	missing, hint := "", ""
	if !me.SeesAll {
		missing, hint = missingPrivacy, missingPrivacyHint
	}
	b.lacks(missing, hint)
	return nil
}

// register replaces Telegram's list of the bot's commands if it differs. A failure is only logged: commands work
// without the list.
func (b *bot) register() {
	wanted := b.bots.o.Commands
	if len(wanted) == 0 {
		return
	}
	type shape struct {
		Name        string `json:"command"`
		Description string `json:"description"`
	}
	a, refused := b.ask(b.ctx, "request the commands", "", commandsForm{})
	if refused == nil {
		known, err := result[[]shape]("request the commands", b.account, a)
		if err == nil && slices.EqualFunc(known, wanted, func(s shape, c channel.Command) bool { return s.Name == c.Name && s.Description == c.Description }) {
			return
		}
		_, refused = b.ask(b.ctx, "register the commands", "", setCommandsForm{wanted})
	}
	if refused != nil && b.ctx.Err() == nil {
		b.log.Warn("cannot register the commands in Telegram", "err", refused)
	}
}

// receive polls until it fails; nil is the bot's end. Updates are confirmed by the next request, when those before were handled.
func (b *bot) receive() *channel.Error {
	for b.ctx.Err() == nil {
		wait := pollTime
		if b.state() != health.BotReady {
			wait = 0 // the first answer says that the connection works
		}
		updates, refused := b.poll(wait)
		if refused != nil && refused.Failure.Status == http.StatusConflict && strings.Contains(refused.Said, "webhook") {
			if _, refused = b.ask(b.ctx, "remove the webhook", "", dropWebhookForm{}); refused == nil {
				continue
			}
		}
		if refused != nil {
			return refused
		}
		b.ready()
		again, handled := b.takeAll(updates)
		if !handled || again > 0 && channel.Rest(b.ctx, b.bots.o.AfterFunc, again) != nil {
			return nil
		}
	}
	return nil
}

// poll asks for updates, and waits so long for them. It confirms those before the offset.
func (b *bot) poll(wait time.Duration) ([]*updateShape, *channel.Error) {
	const deed = "receive updates"
	limited, cancel := context.WithTimeout(b.ctx, wait+b.bots.o.TimeLimit)
	defer cancel()
	a, err := b.wire.ask(limited, updatesForm{Offset: b.offset, Limit: pollLimit, Timeout: int(wait / time.Second), Allowed: allowedUpdates})
	if refused := failed(b.ctx, deed, b.account, "", a, err); refused != nil {
		return nil, refused
	}
	updates, unread := result[[]json.RawMessage](deed, b.account, a)
	if unread != nil {
		return nil, unread.(*channel.Error)
	}
	return b.readAll(updates), nil
}

// readAll reads updates. One that cannot be read would stop all others: it is empty but for its id.
func (b *bot) readAll(raw []json.RawMessage) (all []*updateShape) {
	for _, one := range raw {
		u, err := readUpdate(one)
		if err != nil {
			b.log.Warn("cannot read an update of Telegram; skipped", "update", u.ID, "err", err)
		}
		all = append(all, &u)
	}
	return all
}

// ready records that the bot is connected.
func (b *bot) ready() {
	if b.state() == health.BotReady {
		return
	}
	b.status.Update(func(s *health.Bot) {
		resumed := s.State == health.BotResuming || s.Connections > 0
		s.State, s.Class, s.Text, s.Hint, s.NextTry = health.BotReady, "", "", "", 0
		s.Connections++
		if resumed {
			s.Resumes++
		}
	})
	b.log.Info("connected to Telegram", "bot", b.current().UserID)
}

// failed records that the bot is not connected, the reason, and the time of the next attempt.
func (b *bot) failed(t trouble, wait time.Duration) time.Duration {
	if lasts(t.class) {
		wait = b.bots.o.Most
		b.introduce()
	}
	b.status.Update(func(s *health.Bot) {
		s.State, s.Class, s.Text, s.Hint = health.BotFailed, t.class, t.text, t.hint
		s.NextTry = b.bots.o.Now().Add(wait).UnixMilli()
	})
	b.log.Warn("cannot connect to Telegram", "class", t.class, "reason", t.text, "hint", t.hint, "retry_in", wait)
	return wait
}

// lacks records missing rights of the bot.
func (b *bot) lacks(what, hint string) {
	before := b.current().Missing
	b.status.Update(func(s *health.Bot) { s.Missing, s.MissingHint = what, hint })
	if what != "" && what != before {
		b.log.Info("the bot lacks a right", "missing", what, "hint", hint)
	}
}

func (b *bot) current() health.Bot { return b.status.Current() }

func (b *bot) state() health.BotState { return b.current().State }

// refused reports whether Telegram rejects the bot permanently.
func (b *bot) refused() bool {
	s := b.current()
	return s.State == health.BotOff || s.State == health.BotFailed && lasts(s.Class)
}

// ask makes one request and classifies its outcome.
func (b *bot) ask(ctx context.Context, deed, place string, f form) (answer, *channel.Error) {
	limit := b.bots.o.TimeLimit
	if post, is := f.(sendForm); is && post.file != nil {
		limit = max(limit, channel.FileTime)
	}
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	a, err := b.wire.ask(limited, f)
	return a, failed(ctx, deed, b.account, place, a, err)
}

// sees reports whether the bot receives all messages of a group: as an administrator, or without privacy mode.
func (b *bot) sees(chat int64) bool {
	b.mu.Lock()
	all := b.seesAll
	b.mu.Unlock()
	m, known := b.bots.directory.seat(chat, b.user.Load())
	return all && !(known && m.gone()) || known && m.admin()
}

// Classes of failed connections in addition to those of coordination/collaborate.
const (
	ClassToken    = "token_refused"
	ClassConflict = "polled_elsewhere"
	ClassNetwork  = "network"
)

// lasts reports whether a failure of a class is permanent.
func lasts(class string) bool { return class == ClassToken }

// Texts for what a bot lacks.
const (
	missingPrivacy = "privacy mode is on: in groups the bot receives only commands, mentions and replies to it, unless it is an administrator"
	// missingPrivacyHint also says that the group has to be joined again, which is easily missed.
	missingPrivacyHint = "send /setprivacy to @BotFather, choose the bot and Disable, then remove the bot from its groups and add it again; or make it an administrator there"
)

type trouble struct{ class, text, hint string }

// troubleOf classifies why the bot is not connected.
func (b *bot) troubleOf(err *channel.Error) trouble {
	t := trouble{class: string(err.Class), text: err.Error(), hint: err.Hint}
	switch {
	case err.Class == collaborate.ClassUnauthorized:
		t.class, t.text = ClassToken, "Telegram rejects the token of account "+b.account
	case err.Failure.Status == http.StatusConflict:
		t.class, t.hint = ClassConflict, "another program receives the bot's updates: stop it, or create another bot with @BotFather"
	case err.Class == ClassListen:
	case err.Class == collaborate.ClassUnsent || err.Class == collaborate.ClassLost || err.Class == collaborate.ClassTimeout:
		t.class, t.hint = ClassNetwork, "check that this machine can reach api.telegram.org"
	}
	return t
}
