package notifier_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/services/notifier"
)

const secretPath = "/hooks/s3cr3t-address"

// webhook is the configuration of a webhook at an address.
func webhook(address, events string) string {
	return `gateway: {conversationSinks: [{id: 'webhook', enabled: true,
		options: {url: '` + address + secretPath + `', token: 'bearer-t0ken', events: [` + events + `]}}]}`
}

// asked is a request that a webhook has had.
type asked struct {
	Path, Auth, Key, ContentType string
	Body                         string
}

// hook is a server that keeps what it is asked, and answers as it is told.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	had    []asked
	answer http.HandlerFunc
}

func newHook(t *testing.T, answer http.HandlerFunc) *hook {
	h := &hook{answer: answer}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.had = append(h.had, asked{r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"),
			string(body)})
		h.mu.Unlock()
		h.answer(w, r)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) all() []asked {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]asked(nil), h.had...)
}

// works has a worker do what is asked for.
func (d *fixture) works(client *http.Client) {
	d.t.Helper()
	w := worker.New(worker.Options{Log: d.db, Now: time.Now, Pools: func() map[string]int { return map[string]int{notifier.WebhookPool: 2} },
		Jitter: func() float64 { return 1 }, Logger: slog.New(slog.NewTextHandler(&d.logged, nil)),
		Handlers: map[string]worker.Handler{notifier.WebhookKind: notifier.Webhook(client, d.config.Load, time.Now)}})
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	before := d.stop
	d.stop = sync.OnceFunc(func() {
		before()
		cancel()
		if err := <-done; err != nil && !errors.Is(err, eventstore.ErrClosed) {
			d.t.Errorf("worker: %v", err)
		}
	})
}

// Each event is posted once as JSON, with what tells a repetition and who asks; secrets stay where they are.
func TestWebhookIsTold(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	d := setup(t, webhook(h.URL, ""))
	d.follow(1)
	d.works(h.Client())
	seq := d.say("c-1", "key: password=hunter2hunter2")
	d.append("task/t1", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: of("t1"), Description: "not asked for"})
	d.until("it was told", func() bool { return len(d.events(coordination.TypeWorkCompleted)) == 1 })
	event := d.events(coordination.TypeA2ASend)[0]
	var body struct {
		Type, ID, AgentID, WorkSessionID, ConversationID string
		Seq, TS                                          int64
		Data                                             coordination.A2ASend
	}
	had := h.all()
	if len(had) != 1 {
		t.Fatalf("it was asked %d times", len(had))
	}
	if err := json.Unmarshal([]byte(had[0].Body), &body); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"a2a.send", event.ID.String(), "eden", "ws_1", "c-1", seq, event.TS, "key: password=***"},
		[]any{body.Type, body.ID, body.AgentID, body.WorkSessionID, body.ConversationID, body.Seq, body.TS, body.Data.Message}); diff != "" {
		t.Errorf("body (-want +got)\n%s", diff)
	}
	had[0].Body = ""
	want := asked{Path: secretPath, Auth: "Bearer bearer-t0ken", Key: "report/webhook/" + strconv.FormatInt(seq, 10), ContentType: "application/json"}
	if diff := cmp.Diff(want, had[0]); diff != "" {
		t.Errorf("request (-want +got)\n%s", diff)
	}
	if got := string(d.events(coordination.TypeWorkCompleted)[0].Data); !strings.Contains(got, `"result":{"status":204}`) {
		t.Errorf("result is %s", got)
	}
	d.keepsSecrets(h)
}

// keepsSecrets checks that neither log has the address or the token.
func (d *fixture) keepsSecrets(h *hook) {
	d.t.Helper()
	text := d.logged.String()
	for _, e := range d.events("") {
		text += string(e.Data) + "\n"
	}
	for _, secret := range []string{"s3cr3t", "t0ken", "hunter2hunter2", strings.TrimPrefix(h.URL, "http://")} {
		if e := d.events(coordination.TypeA2ASend); secret == "hunter2hunter2" && len(e) == 1 {
			text = strings.ReplaceAll(text, string(e[0].Data), "")
		}
		if strings.Contains(text, secret) {
			d.t.Errorf("%s is told: %s", secret, text)
		}
	}
}

// A webhook gets the types and families that it asks for, and never events about webhook calls.
func TestWebhookAsksForTypes(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(http.ResponseWriter, *http.Request) {})
	d := setup(t, webhook(h.URL, `'*'`))
	d.follow(1)
	d.works(h.Client())
	d.append("task/t1", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: of("t1"), Description: "x"})
	d.say("c-1", "x")
	d.until("all is told", func() bool { return len(d.events(coordination.TypeWorkCompleted)) == 2 })
	d.configure(webhook(h.URL, `'task.*', 'plan.submitted'`))
	d.say("c-1", "not asked for any more")
	d.append("plan/p1", coordination.TypePlanApproved, "eden", coordination.Plan{Context: of("t1"), PlanID: "p1"})
	d.append("plan/p1", coordination.TypePlanSubmitted, "eden", coordination.Plan{Context: of("t1"), PlanID: "p1"})
	d.append("task/t1", coordination.TypeTaskUpdated, "eden", coordination.TaskUpdated{Context: of("t1")})
	d.until("all is told", func() bool { return len(d.events(coordination.TypeWorkCompleted)) == 4 })
	var types []string
	for _, w := range d.asked("", 4) {
		var told struct{ Event struct{ Type string } }
		if err := json.Unmarshal(w.Payload, &told); err != nil {
			t.Fatal(err)
		}
		types = append(types, told.Event.Type)
	}
	if diff := cmp.Diff([]string{"task.started", "a2a.send", "plan.submitted", "task.updated"}, types); diff != "" {
		t.Errorf("told (-want +got)\n%s", diff)
	}
}

// An event with too much data is sent without it.
func TestWebhookIsToldOfLongEventsInShort(t *testing.T) {
	t.Parallel()
	h := newHook(t, func(http.ResponseWriter, *http.Request) {})
	d := setup(t, webhook(h.URL, `'task.*'`))
	d.follow(1)
	d.append("task/t1", coordination.TypeTaskStarted, "eden", coordination.TaskStarted{Context: of("t1"), Description: strings.Repeat("x", 300<<10)})
	var told struct {
		Event struct {
			Data      json.RawMessage
			DataBytes int
		}
	}
	if err := json.Unmarshal(d.asked("", 1)[0].Payload, &told); err != nil || string(told.Event.Data) != "null" || told.Event.DataBytes < 300<<10 {
		t.Errorf("%s, %d bytes, %v", told.Event.Data, told.Event.DataBytes, err)
	}
}

// What may succeed later is retried when the webhook says so; other failures are final, and no error has the address.
func TestWebhookFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		again  bool
		dueIn  time.Duration // at least
		want   string
	}{
		"refused":   {status(http.StatusForbidden, ""), false, 0, "the webhook answered 403 Forbidden"},
		"gone":      {status(http.StatusGone, ""), false, 0, "the webhook answered 410 Gone"},
		"moved":     {http.RedirectHandler("/elsewhere", http.StatusFound).ServeHTTP, false, 0, "the webhook answered 302 Found: give the address"},
		"slow down": {status(http.StatusTooManyRequests, "120"), true, 120 * time.Second, "the webhook answered 429 Too Many Requests"},
		"early":     {status(http.StatusTooEarly, ""), true, 0, "the webhook answered 425 Too Early"},
		"timeout":   {status(http.StatusRequestTimeout, ""), true, 0, "the webhook answered 408 Request Timeout"},
		"broken":    {status(http.StatusBadGateway, "nonsense"), true, 0, "the webhook answered 502 Bad Gateway"},
		"dropped":   {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, true, 0, "no answer from the webhook"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, c.answer)
			d := setup(t, webhook(h.URL, ""))
			d.follow(1)
			d.works(h.Client())
			d.say("c-1", "x")
			typ := coordination.TypeWorkDead
			if c.again {
				typ = coordination.TypeWorkReleased
			}
			d.until("it was tried", func() bool { return len(d.events(typ)) > 0 })
			var end coordination.WorkAttempt
			e := d.events(typ)[0]
			if err := json.Unmarshal(e.Data, &end); err != nil {
				t.Fatal(err)
			}
			early := c.dueIn > 0 && end.DueAtMs < e.TS+c.dueIn.Milliseconds()
			if early || !strings.HasPrefix(end.Error, c.want) || strings.Contains(end.Error, "elsewhere") {
				t.Errorf("end is %+v, want %s", end, c.want)
			}
			if n := len(h.all()); n != 1 {
				t.Errorf("it was asked %d times, want once", n)
			}
			d.keepsSecrets(h)
		})
	}
}

func status(code int, after string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if after != "" {
			w.Header().Set("Retry-After", after)
		}
		w.WriteHeader(code)
	}
}

// Only https and local addresses are called, and none of a sink that was removed.
func TestWebhookHasAGoodAddress(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ address, want string }{
		"without TLS":    {"http://hooks.example.com", "it must begin with https"},
		"another scheme": {"file:///etc", "it is not a valid URL"},
		"no address":     {"://", "it is not a valid URL"},
		"gone":           {"", "is no longer configured"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := newHook(t, func(http.ResponseWriter, *http.Request) {})
			d := setup(t, webhook(h.URL, ""))
			d.follow(1)
			d.say("c-1", "x")
			d.asked("", 1)
			d.stop()
			d.stop = func() {}
			d.configure("")
			if c.address != "" { // the configuration takes no such address
				conf := *d.config.Load()
				conf.Gateway.Sinks = []config.Sink{{ID: "webhook", Enabled: true, Webhook: config.SinkWebhook{URL: config.Secret(c.address + secretPath)}}}
				d.config.Store(&conf)
			}
			d.works(h.Client())
			d.until("it is given up", func() bool { return len(d.events(coordination.TypeWorkDead)) == 1 })
			if got := string(d.events(coordination.TypeWorkDead)[0].Data); !strings.Contains(got, c.want) || strings.Contains(got, "s3cr3t") {
				t.Errorf("%s, want %s", got, c.want)
			}
			if n := len(h.all()); n != 0 {
				t.Errorf("it was asked %d times", n)
			}
		})
	}
}
