package hooks_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/runqueue"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/gateway/hooks"
	"github.com/pronto-lab/openclawd/projections"
	"github.com/pronto-lab/openclawd/projections/runs"
	"github.com/pronto-lab/openclawd/projections/sessions"
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

const (
	token    = "hook-token-of-the-test-0123456789"
	settings = `{
  agents: {entries: {main: {default: true, model: 'fake/echo'}, eden: {model: 'fake/echo'}}},
  models: {providers: {fake: {baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'none', models: [{id: 'echo'}]}}},
  gateway: {auth: {token: 'another-token'}},
  hooks: {enabled: true, token: '` + token + `', maxBodyBytes: 1000%s, mappings: [
    {match: {path: 'mail'}, name: 'Mail', agentId: 'eden', messageTemplate: 'From {{from}}', sessionKey: 'hook:mail', sessionMode: 'persistent', deliver: false},
    {match: {path: 'note'}, action: 'wake', textTemplate: '{{text}}'},
    {match: {path: 'lost'}, agentId: 'stranger', messageTemplate: 'x'},
  ]}}`
)

// stand is a server of hooks on a real log.
type stand struct {
	t      *testing.T
	db     *sqlite.DB
	path   string
	conf   *config.Config
	shared string // what opens the gateway
	now    time.Time
	log    *bytes.Buffer
	http   http.Handler
}

func newStand(t *testing.T, more string) *stand {
	t.Helper()
	s := &stand{t: t, path: filepath.Join(t.TempDir(), "log.db"), now: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC), log: &bytes.Buffer{}}
	file := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(file, fmt.Appendf(nil, settings, more), 0o600); err != nil {
		t.Fatal(err)
	}
	conf, findings := config.Load(file, func(string) string { return "" })
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	s.conf = conf
	s.open()
	return s
}

// open opens the log and makes a new server on it, as a restart does.
func (s *stand) open() {
	s.t.Helper()
	if s.db != nil {
		if err := s.db.Close(); err != nil {
			s.t.Fatal(err)
		}
	}
	db, err := sqlite.Open(context.Background(), sqlite.Options{Path: s.path})
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = db.Close() })
	if _, err := projections.Start(context.Background(), db, []projections.Definition{sessions.Definition(), runs.Definition(), workqueue.Definition()}, projections.Options{}); err != nil {
		s.t.Fatal(err)
	}
	s.db = db
	inForce, now := func() *config.Config { return s.conf }, func() time.Time { return s.now }
	models := catalogue.New(s.conf, catalogue.Options{})
	queue := runqueue.New(runqueue.Options{Log: db, Config: inForce, Models: func() *catalogue.Catalogue { return models }, Now: now, NewID: uuid.NewString})
	s.http = hooks.New(hooks.Options{Runs: queue, Config: inForce, LastRoute: s.lastRoute, IsOfGateway: func(token string) bool { return token == s.shared }, Now: now, NewID: uuid.NewString,
		Logger: slog.New(slog.NewTextHandler(s.log, nil))}).Before(http.NotFoundHandler())
}

func (s *stand) lastRoute(ctx context.Context, key coordination.SessionKey) (r sessions.LastRoute, err error) {
	err = s.db.View(ctx, func(tx *sql.Tx) error {
		r, err = sessions.LoadRoute(projections.Reading(ctx, tx), key)
		return err
	})
	return r, err
}

// said is an answer.
type said struct {
	status                          int
	header                          http.Header
	OK                              bool
	RunID, Mode                     string
	Error, Code, Field, Value, Hint string
}

func (s *stand) post(path, body string, headers ...string) said {
	s.t.Helper()
	return s.send(http.MethodPost, path, strings.NewReader(body), append([]string{"Authorization", "Bearer " + token}, headers...)...)
}

func (s *stand) send(method, path string, body io.Reader, headers ...string) (a said) {
	s.t.Helper()
	r := httptest.NewRequest(method, path, body)
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.http.ServeHTTP(w, r)
	if w.Header().Get("Content-Type") == "application/json; charset=utf-8" {
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
			s.t.Fatal(err)
		}
	}
	a.status, a.header = w.Code, w.Header()
	return a
}

// queued returns the runs in the log.
func (s *stand) queued() (all []coordination.RunQueued) {
	s.t.Helper()
	events, err := s.db.Read(s.t.Context(), 0, 10_000)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := range events {
		if events[i].Type != coordination.TypeRunQueued {
			continue
		}
		var q coordination.RunQueued
		if err := json.Unmarshal(events[i].Data, &q); err != nil {
			s.t.Fatal(err)
		}
		all = append(all, q)
	}
	return all
}

// An accepted request is a run in the log when it is answered, marked as text from outside.
func TestRequestsBecomeRuns(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	_, err := s.db.Append(t.Context(), eventstore.StreamAppend{Stream: "session/eden", Events: []eventstore.NewEvent{
		{Type: coordination.TypeSessionCreated, Actor: eventstore.ActorSystem, Data: []byte(`{"sessionKey":"agent:eden:main","sessionId":"s1"}`)},
		{Type: coordination.TypeSessionMessage, Actor: eventstore.ActorHuman, Data: []byte(`{"sessionKey":"agent:eden:main","sessionId":"s1","author":"user","text":"a","channel":"discord","to":"channel:7","accountId":"eden"}`)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range []struct {
		path, body    string
		status        int
		session, text string
		reset         string
		to            string
	}{
		{"/hooks/agent", `{"message":"do it","agentId":"eden","name":"CI"}`, 202, "agent:eden:hook:", "do it", "new", "channel:7"},
		{"/hooks/agent/", `{"message":"do it","deliver":false,"timeoutSeconds":5,"model":"fake/echo"}`, 202, "agent:main:hook:", "do it", "new", ""},
		{"/hooks/agent", `{"message":"do it","agentId":"EDEN","channel":"slack","to":"channel:C1"}`, 202, "agent:eden:hook:", "do it", "new", "channel:C1"},
		{"/hooks/wake", `{"text":"the build is done","mode":"next-heartbeat","agentId":"eden"}`, 200, "agent:eden:main", "the build is done", "", ""},
		{"/hooks/mail", `{"from":"ada"}`, 202, "agent:eden:hook:mail", "From ada", "", ""},
		{"/hooks/note", `{"text":"hello"}`, 200, "agent:main:main", "hello", "", ""},
	} {
		a := s.post(c.path, c.body)
		all := s.queued()
		if a.status != c.status || !a.OK || len(all) != i+1 {
			t.Fatalf("%s %s: %+v; %d runs", c.path, c.body, a, len(all))
		}
		q := all[i]
		if q.RunID != a.RunID || !strings.HasPrefix(q.SessionKey, c.session) || q.Reset != c.reset || q.Deliver != (c.to != "") || q.To != c.to || q.Cause != coordination.CauseHook ||
			q.Provenance != "external_user" || !strings.Contains(q.Message, "data from outside") || !strings.Contains(q.Message, "---\n"+c.text+"\n---") {
			t.Errorf("%s %s: %+v", c.path, c.body, q)
		}
	}
	if q := s.queued()[1]; q.TimeoutMs == nil || *q.TimeoutMs != 5000 || q.Model != "fake/echo" {
		t.Errorf("%+v", q)
	}
}

// What is refused says what is wrong with which field, and changes nothing.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	for _, c := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/hooks/agent", `{}`, 400, "invalid_request"},
		{"/hooks/agent", ``, 400, "invalid_request"},
		{"/hooks/agent", `{"message":`, 400, "invalid_json"},
		{"/hooks/agent", `[1]`, 400, "invalid_json"},
		{"/hooks/agent", `null`, 400, "invalid_json"},
		{"/hooks/agent", `{"message":"a"} {}`, 400, "invalid_json"},
		{"/hooks/agent", `{"message":"` + strings.Repeat("a", 1000) + `"}`, 413, "body_too_large"},
		{"/hooks/agent", `{"message":"a","agentId":"stranger"}`, 400, "unknown_agent"},
		{"/hooks/agent", `{"message":"a","agentId":"../eden"}`, 400, "unknown_agent"},
		{"/hooks/agent", `{"message":"a","sessionKey":"main"}`, 400, "session_key_not_allowed"},
		{"/hooks/agent", `{"message":"a","model":"no/such"}`, 400, "unknown_model"},
		{"/hooks/agent", `{"message":"a","idempotencyKey":"` + strings.Repeat("k", 257) + `"}`, 400, "invalid_idempotency_key"},
		{"/hooks/wake", `{"text":"a","sessionKey":"main"}`, 400, "session_key_not_allowed"},
		{"/hooks/lost", `{}`, 400, "unknown_agent"},
		{"/hooks/note", `{}`, 400, "no_text"},
		{"/hooks/other", `{}`, 404, "unknown_hook"},
		{"/hooks", `{}`, 404, "unknown_hook"},
		{"/hooks/agent?token=" + token, `{"message":"a"}`, 400, "token_in_query"},
	} {
		a := s.post(c.path, c.body)
		if a.status != c.status || a.OK || a.Code != c.code || a.Error == "" || a.Hint == "" || a.Field == "" {
			t.Errorf("%s %.60s: %+v, want %d %s", c.path, c.body, a, c.status, c.code)
		}
	}
	if a := s.send(http.MethodGet, "/hooks/agent", nil, "Authorization", "Bearer "+token); a.status != http.StatusMethodNotAllowed || a.header.Get("Allow") != http.MethodPost {
		t.Errorf("GET: %+v", a)
	}
	if a := s.send(http.MethodPost, "/hooksy/agent", nil); a.status != http.StatusNotFound || a.Code != "" {
		t.Errorf("another path: %+v", a)
	}
	if all := s.queued(); len(all) != 0 {
		t.Errorf("%+v", all)
	}
	if strings.Contains(s.log.String(), token) {
		t.Errorf("the log has the token:\n%s", s.log)
	}
}

// A repeated key gets the same answer and starts nothing, at the same time, with another body and after a restart.
//
// Promise: one-key
func TestARepeatedKeyDoesNothing(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	var ids [8]string
	var all sync.WaitGroup
	for i := range ids {
		all.Go(func() { ids[i] = s.post("/hooks/agent", `{"message":"do it"}`, "Idempotency-Key", "k").RunID })
	}
	all.Wait()
	s.open()
	again := s.post("/hooks/agent", `{"message":"something else","idempotencyKey":"k"}`)
	named := s.post("/hooks/agent", `{"message":"do it"}`, "X-OpenClaw-Idempotency-Key", "k")
	for _, id := range append(ids[:], named.RunID) {
		if id == "" || id != again.RunID || again.status != http.StatusAccepted || named.status != http.StatusAccepted {
			t.Errorf("%q, then %+v and %+v", ids, again, named)
		}
	}
	if other := s.post("/hooks/wake", `{"text":"do it"}`, "Idempotency-Key", "k"); other.RunID == again.RunID {
		t.Error("the same key of another path is the same request")
	}
	if n := len(s.queued()); n != 2 {
		t.Errorf("%d runs", n)
	}
}

// Wrong tokens lock an address out; right ones in either header are accepted, and none in the query.
//
// Promise: access
func TestTokens(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	body := func() io.Reader { return strings.NewReader(`{"text":"a"}`) }
	for _, headers := range [][]string{{"X-OpenClaw-Token", token}, {"Authorization", "bearer " + token}, {"Authorization", "Basic x", "X-OpenClaw-Token", " " + token + " "}} {
		if a := s.send(http.MethodPost, "/hooks/wake", body(), headers...); a.status != http.StatusOK {
			t.Errorf("%q: %+v", headers, a)
		}
	}
	for i := range 20 {
		headers := [][]string{nil, {"Authorization", "Bearer "}, {"Authorization", "Bearer " + token[1:]}, {"Authorization", "Bearer another-token"}, {"X-OpenClaw-Token", strings.ToUpper(token)}}[i%5]
		if a := s.send(http.MethodPost, "/hooks/wake", body(), headers...); a.status != http.StatusUnauthorized || a.Code != "unauthorized" || a.Value != "" {
			t.Fatalf("%q: %+v", headers, a)
		}
	}
	a := s.post("/hooks/wake", `{"text":"a"}`)
	if wait, err := strconv.Atoi(a.header.Get("Retry-After")); a.status != http.StatusTooManyRequests || a.Code != "rate_limited" || err != nil || wait < 1 {
		t.Errorf("a locked address: %+v", a)
	}
	s.now = s.now.Add(time.Hour)
	if a := s.post("/hooks/wake", `{"text":"a"}`); a.status != http.StatusOK {
		t.Errorf("an hour later: %+v", a)
	}
	for _, e := range []string{s.log.String(), fmt.Sprint(s.queued())} {
		if strings.Contains(e, token) {
			t.Errorf("the token is in %s", e)
		}
	}
}

func TestRequestsPerMinuteAreLimited(t *testing.T) {
	t.Parallel()
	s := newStand(t, ", maxPerMinute: 3")
	var statuses []int
	for range 4 {
		statuses = append(statuses, s.post("/hooks/wake", `{"text":"a"}`).status)
	}
	s.now = s.now.Add(20 * time.Second)
	for range 2 {
		statuses = append(statuses, s.post("/hooks/wake", `{"text":"a"}`).status)
	}
	s.now = s.now.Add(-time.Hour) // the clock is set back
	last := s.post("/hooks/wake", `{"text":"a"}`)
	if got := fmt.Sprint(statuses, last.status); got != "[200 200 200 429 200 429] 429" || last.Code != "too_many_requests" || last.header.Get("Retry-After") == "" {
		t.Errorf("%s %+v", got, last)
	}
}

// A token that opens the gateway too, because that has it from elsewhere than the configuration, is not taken.
func TestTheTokenIsNotThatOfTheGateway(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	s.shared = token
	if a := s.post("/hooks/wake", `{"text":"a"}`); a.status != http.StatusServiceUnavailable || a.Code != "token_shared" || a.Value != "" || len(s.queued()) != 0 {
		t.Errorf("%+v", a)
	}
}

func TestDisabledHooksAreNotThere(t *testing.T) {
	t.Parallel()
	s := newStand(t, "")
	s.conf.Hooks.Enabled = false
	if a := s.post("/hooks/wake", `{"text":"a"}`); a.status != http.StatusNotFound || a.Code != "" {
		t.Errorf("%+v", a)
	}
}
