package slack_test

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/channel"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/slack"
	"github.com/pronto-lab/openclawd/slack/slacktest"
)

func newApps(m *team) *slack.Apps { return slack.New(m.options) }

// listen serves the Apps under test, and returns their address.
func (m *team) listen() string {
	receiver := httptest.NewServer(m.Apps)
	m.t.Cleanup(receiver.Close)
	return receiver.URL
}

// send makes a signed request, and returns the status of its answer.
func (m *team) send(to, secret string, at time.Time, body string) int {
	m.t.Helper()
	return m.repeat(to, secret, at, body, 0)
}

// repeat is send for a later attempt.
func (m *team) repeat(to, secret string, at time.Time, body string, attempt int) int {
	m.t.Helper()
	r, err := http.NewRequestWithContext(m.ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		m.t.Fatal(err)
	}
	stamp := strconv.FormatInt(at.Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("X-Slack-Request-Timestamp", stamp)
	r.Header.Set("X-Slack-Signature", slacktest.Signature(secret, stamp, []byte(body)))
	if attempt > 0 {
		r.Header.Set("X-Slack-Retry-Num", strconv.Itoa(attempt))
	}
	answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
	if err != nil {
		m.t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// byHTTP lets ruda's events come by HTTP, and returns its receiver.
func (m *team) byHTTP() *httptest.Server {
	m.t.Helper()
	own := m.accounts[0]
	own.AppToken, own.Webhook = "", config.Webhook{Secret: config.Secret(m.ruda.SigningSecret), Path: "/slack/events"}
	m.accounts[0] = own
	receiver := httptest.NewServer(m.Apps)
	m.t.Cleanup(receiver.Close)
	return receiver
}

// While Slack cannot reach the program, it gives events up. They are read after a silence.
func TestWhatAReceiverHasMissedIsRead(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost, func(_ *slacktest.Options, o *channel.Options) { o.Silence = 50 * time.Millisecond })
	receiver := m.byHTTP()
	m.accounts = m.accounts[:1] // eden's socket would be taken for dead
	m.start()
	if err := m.ruda.SetRequestURL(m.ctx, receiver.URL+"/slack/events"); err != nil {
		t.Fatal(err)
	}
	root := m.post(m.channel.ID, "before")
	m.until("ruda to be told", func() bool { return len(m.told("ruda")) == 1 }) // it may be read as well
	receiver.Close()
	m.post(m.channel.ID, "during the outage")
	must(t)(m.bora.Reply(m.channel.ID, root.TS, "a reply"))
	m.untilTold("ruda", "created during the outage (missed)")
	m.untilTold("ruda", "created a reply (missed)")
}

// The first event after a silence waits for what was missed before it.
func TestTheFirstEventAfterASilenceWaits(t *testing.T) {
	t.Parallel()
	var ahead atomic.Int64
	m := newTeam(t, lost, func(s *slacktest.Options, o *channel.Options) {
		o.Now = func() time.Time { return time.Now().Add(time.Duration(ahead.Load())) }
		s.Now = o.Now
		o.AfterFunc = func(d time.Duration, f func()) channel.Timer {
			if d > time.Minute { // the app's own look after a silence
				d = time.Hour
			}
			return time.AfterFunc(d, f)
		}
	})
	receiver := m.byHTTP()
	m.start()
	address := receiver.URL + "/slack/events"
	if err := m.ruda.SetRequestURL(m.ctx, address); err != nil {
		t.Fatal(err)
	}
	m.post(m.channel.ID, "before")
	m.untilTold("ruda", "created before")
	m.ruda.SetEvents() // Slack tells it nothing
	m.post(m.channel.ID, "missed")
	m.ruda.SetEvents(slacktest.AllEvents()...)
	ahead.Store(int64(6 * time.Minute))
	m.post(m.channel.ID, "after")
	m.until("ruda to be told", func() bool { return len(m.told("ruda")) >= 3 })
	if all := m.told("ruda"); all[1] != "created missed (missed)" || !strings.HasPrefix(all[2], "created after") {
		t.Errorf("ruda was told %q, want what was missed first", all)
	}
}

// A late repetition says that others may have been given up, unless it is one of an event that has come before: it may have waited
// while the app read what was missed, which is no reason to read that again.
func TestOnlyUnknownRepetitionsAreAReasonToRead(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	address := m.byHTTP().URL + "/slack/events"
	m.accounts = m.accounts[:1]
	m.start()
	lists := func() int { return len(m.RequestsTo(slacktest.Match{Method: "users.conversations"})) }
	m.until("the app to arrive", func() bool { return lists() == 1 })
	event := func(id string, attempt int) {
		t.Helper()
		body := `{"type":"event_callback","event_id":"` + id + `","event":{"type":"member_left_channel","user":"U0","channel":"C0"}}`
		if status := m.repeat(address, m.ruda.SigningSecret, time.Now(), body, attempt); status != http.StatusOK {
			t.Errorf("the answer is %d", status)
		}
	}
	event("Ev1", 0)
	event("Ev1", 2)
	if n := lists(); n != 1 {
		t.Errorf("what was missed was read %d times, want once", n)
	}
	event("Ev2", 2)
	if n := lists(); n != 2 {
		t.Errorf("what was missed was read %d times, want twice", n)
	}
}

// What Slack tells before the app knows whose it is has to be told again.
func TestEventsBeforeTheAppIsKnownAreToldAgain(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	address := m.byHTTP().URL + "/slack/events"
	m.accounts = m.accounts[:1]
	refusal := m.Inject(slacktest.Fault{Match: slacktest.Match{Method: "auth.test", App: m.ruda.ID}, Times: -1, Effect: slacktest.Unavailable(http.StatusServiceUnavailable)})
	m.run()
	m.untilState("ruda", health.BotFailed)
	if err := m.ruda.SetRequestURL(m.ctx, address); err != nil {
		t.Fatal(err)
	}
	body := `{"type":"event_callback","event_id":"Ev1","event":{"type":"message","channel":"` + m.channel.ID + `","user":"` + m.bora.ID + `","text":"early","ts":"1700000000.000100"}}`
	for range 2 {
		if status := m.send(address, m.ruda.SigningSecret, time.Now(), body); status != http.StatusServiceUnavailable {
			t.Errorf("the answer is %d, want 503", status)
		}
	}
	if all := m.told(""); len(all) > 0 {
		t.Errorf("told %q", all)
	}
	refusal.Remove()
	m.untilState("ruda", health.BotReady)
	if status := m.send(address, m.ruda.SigningSecret, time.Now(), body); status != http.StatusOK {
		t.Errorf("the answer is %d, want 200", status)
	}
	if in := m.untilTold("ruda", "created early"); in.Message.GuildID != place(slacktest.TeamID) {
		t.Errorf("the workspace is %q", in.Message.GuildID)
	}
}

// Anyone may send requests: an old one is refused without being read, and the log tells of many in one line.
func TestUnsignedRequestsCostLittle(t *testing.T) {
	t.Parallel()
	m := newTeam(t, lost)
	address := m.byHTTP().URL + "/slack/events"
	m.accounts = m.accounts[:1]
	m.start()
	for range 50 {
		if status := m.send(address, "another", time.Now(), `{"type":"event_callback"}`); status != http.StatusUnauthorized {
			t.Fatalf("the answer is %d, want 401", status)
		}
	}
	if n := strings.Count(m.log.String(), "no valid signature"); n != 1 {
		t.Errorf("%d lines in the log, want one", n)
	}
	read := &counted{}
	r := httptest.NewRequestWithContext(m.ctx, http.MethodPost, "/slack/events", read)
	r.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(time.Now().Add(-time.Hour).Unix(), 10))
	w := httptest.NewRecorder()
	m.Apps.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized || read.n.Load() > 0 {
		t.Errorf("an old request is answered with %d after %d reads", w.Code, read.n.Load())
	}
}

// counted counts how often it is read.
type counted struct{ n atomic.Int64 }

func (c *counted) Read(p []byte) (int, error) {
	c.n.Add(1)
	return len(p), nil
}
