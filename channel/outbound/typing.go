package outbound

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// typingTime is how long it is shown at most.
const typingTime = 10 * time.Minute

// Typing shows that agents are typing while their runs for a channel are active. Nothing is shown if the session key
// contains no channel or thread, as for direct messages in a main session. The zero value, with its fields set, is
// ready for use.
type Typing struct {
	Channel string // default: discord
	Bots    interface {
		Typing(ctx context.Context, account, channel string) error
	}
	Accounts  func() *channel.Registry
	AfterFunc func(time.Duration, func()) channel.Timer
	Logger    *slog.Logger

	mu     sync.Mutex
	closed bool
	shown  map[string]*typing // by run
	under  sync.WaitGroup     // goroutines making requests
	ctx    context.Context
	cancel context.CancelFunc
}

// typing is the state for one run.
type typing struct {
	run, account, channel string
	left                  int // remaining repetitions
	timer                 channel.Timer
}

// Update receives run updates. It does not block.
func (t *Typing) Update(u run.Update) {
	if u.Cause != nameOr(t.Channel) {
		return
	}
	switch u.Kind {
	case run.Started, run.Resumed:
		t.begin(u)
	case run.Ended, run.Parked:
		t.end(u.RunID)
	}
}

func (t *Typing) begin(u run.Update) {
	key, err := coordination.ParseSessionKey(u.SessionKey)
	place, pause := key.Place(), t.pause()
	if err != nil || key.Channel != nameOr(t.Channel) || place == "" || pause == 0 {
		return
	}
	bot, known := t.Accounts().Bot(u.AgentID)
	if !known {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed || t.shown[u.RunID] != nil {
		return
	}
	if t.shown == nil {
		t.shown = map[string]*typing{}
		t.ctx, t.cancel = context.WithCancel(context.Background())
	}
	s := &typing{run: u.RunID, account: bot.AccountID, channel: place, left: int(typingTime / pause)}
	t.shown[s.run] = s
	s.timer = t.AfterFunc(0, func() { t.show(s) })
}

// pause is the time between two requests: the service shows each somewhat longer; 0: it shows none.
func (t *Typing) pause() time.Duration {
	traits, _ := coordination.ChannelNamed(t.Channel)
	return traits.Typing * 4 / 5
}

func (t *Typing) end(runID string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s := t.shown[runID]; s != nil {
		s.timer.Stop()
		delete(t.shown, runID)
	}
}

// show sends one typing request, and repeats after a delay.
func (t *Typing) show(s *typing) {
	t.mu.Lock()
	if t.closed || t.shown[s.run] != s {
		t.mu.Unlock()
		return
	}
	ctx := t.ctx
	t.under.Add(1)
	t.mu.Unlock()
	defer t.under.Done()

	err := t.Bots.Typing(ctx, s.account, s.channel)
	if err != nil && ctx.Err() == nil {
		t.Logger.Debug("cannot show that an agent is typing; stopped trying", "run", s.run, "channel", s.channel, "err", err)
	}

	t.mu.Lock()
	defer t.mu.Unlock()
	if s.left--; err != nil || s.left <= 0 {
		if t.shown[s.run] == s {
			delete(t.shown, s.run)
		}
		return
	}
	if !t.closed && t.shown[s.run] == s {
		s.timer = t.AfterFunc(t.pause(), func() { t.show(s) })
	}
}

// Close ends all typing, and returns when no request is in progress. It may be called twice.
func (t *Typing) Close() {
	t.mu.Lock()
	t.closed = true
	for id, s := range t.shown {
		s.timer.Stop()
		delete(t.shown, id)
	}
	if t.cancel != nil {
		t.cancel()
	}
	t.mu.Unlock()
	t.under.Wait()
}
