package slack_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/coordination/collaborate"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

const completing = "files.completeUploadExternal"

// newSharing makes a team in whose time the pauses of a search for a shared file are over at once. rested is called with how many there were.
func newSharing(t *testing.T, rested func(m *team, n int64)) (m *team, ahead *atomic.Int64) {
	t.Helper()
	ahead = &atomic.Int64{}
	var rests atomic.Int64
	m = newTeam(t, func(s *slacktest.Options, o *channel.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s.Now = o.Now
		o.AfterFunc = func(d time.Duration, f func()) channel.Timer {
			if d >= 500*time.Millisecond && d <= 4*time.Second {
				ahead.Add(int64(d))
				rested(m, rests.Add(1))
				d = 0
			}
			return time.AfterFunc(d, f)
		}
	})
	return m.start().fast(), ahead
}

func report(m *team) channel.Post {
	return channel.Post{AccountID: "ruda", ChannelID: m.place, Nonce: "n1", File: &channel.File{Name: "a.txt", Type: "text/plain", Size: 2, Content: []byte("in")}}
}

// shared waits until the channel has a message.
func (m *team) shared() {
	if err := m.Until(m.ctx, func() bool { return len(m.Messages(m.channel.ID)) > 0 }); err != nil {
		m.t.Error(err)
	}
}

func TestAFileThatIsSharedLateIsPosted(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	m, _ := newSharing(t, func(m *team, n int64) {
		if n == 13 { // more than half a minute
			close(release)
			m.shared()
		}
	})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: completing}, Effect: slacktest.ShareLater(release)})
	p, err := m.Send(m.ctx, report(m))
	if err != nil || p.ID != m.place+":"+m.last(m.channel.ID).TS {
		t.Errorf("the file is posted as %+v, %v", p, err)
	}
}

// What Slack has accepted is an error of its own, after which nothing posts it again.
func TestAFileThatIsNotSharedInTimeIsAccepted(t *testing.T) {
	t.Parallel()
	m, _ := newSharing(t, func(*team, int64) {})
	release := make(chan struct{})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: completing}, Effect: slacktest.ShareLater(release)})
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: listing, Channel: m.channel.ID}, Effect: slacktest.Unavailable(500)}) // a failed look changes nothing
	post := report(m)
	if _, err := m.Send(m.ctx, post); !errors.Is(err, channel.ErrAccepted) {
		t.Fatalf("the error is %v, want ErrAccepted", err)
	}
	look := channel.Lookup{AccountID: "ruda", ChannelID: m.place, Nonce: post.Nonce, File: post.File, Since: m.options.Now().Add(-2 * time.Minute).UnixMilli()}
	if _, found, err := m.FindMessage(m.ctx, look); found || err != nil {
		t.Errorf("a search finds %v, %v, want nothing", found, err)
	}
	close(release)
	m.shared()
	if _, found, err := m.FindMessage(m.ctx, look); !found || err != nil {
		t.Errorf("a search finds %v, %v, want the message", found, err)
	}
}

// A file is not missing before Slack has had a minute to share it.
func TestAFileIsMissingOnlyAfterAMinute(t *testing.T) {
	t.Parallel()
	m, ahead := newSharing(t, func(*team, int64) {})
	ahead.Add(int64(2 * time.Minute)) // since the app began
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: completing}, Effect: slacktest.Cut()})
	post := report(m)
	if _, err := m.Send(m.ctx, post); err == nil {
		t.Fatal("the request was not cut")
	}
	look := channel.Lookup{AccountID: "ruda", ChannelID: m.place, Nonce: post.Nonce, File: post.File, Since: m.options.Now().UnixMilli()}
	_, found, err := m.FindMessage(m.ctx, look)
	early, is := errors.AsType[*channel.Error](err)
	if found || !is || early.Class != collaborate.ClassUnavailable || early.Failure.RetryAfter <= 50*time.Second || early.Failure.RetryAfter > time.Minute {
		t.Fatalf("a search at once finds %v, %v, want a pause of a minute", found, err)
	}
	ahead.Add(int64(time.Minute))
	if _, found, err := m.FindMessage(m.ctx, look); found || err != nil {
		t.Errorf("a search after a minute finds %v, %v, want nothing", found, err)
	}
}

// The message of a file is known by its event, and holds up no other, also while Slack lets nothing be looked up.
func TestAFileIsKnownByItsEvent(t *testing.T) {
	t.Parallel()
	m := newTeam(t).start().fast()
	m.Inject(slacktest.Fault{Match: slacktest.Match{Method: listing, App: m.ruda.ID}, Times: -1, Effect: slacktest.TooManyRequests(10 * time.Minute)})
	posted, err := m.Send(m.ctx, report(m))
	if err != nil {
		t.Fatal(err)
	}
	m.post(m.channel.ID, "after it")
	m.untilTold("ruda", "created after it")
	if own := m.untilTold("ruda", "created "); own.Message.ID != posted.ID || own.Message.Nonce != "n1" {
		t.Errorf("the file's message is %s with nonce %q, want %s", own.Message.ID, own.Message.Nonce, posted.ID)
	}
}
