package runner_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/runner"
	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/coordination/run"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

const fallback = `{agents: {defaults: {model: {primary: 'scripted/one', fallbacks: ['scripted/two', 'stranger/three']}}}}`

// Promise: model-retry
func TestModelsAreAskedAgainAndThenOthers(t *testing.T) {
	t.Parallel()
	one := func(fault string) string {
		return `{"when": {"model": "one"}, "answer": {"text": "half an answer", "fault": ` + fault + `}}, {"answer": {"text": "{{model}}"}}`
	}
	for name, c := range map[string]struct {
		script, config string
		state          run.State
		text, class    string
		calls          int
		from           string
		contains       []string
	}{
		"once more": {script: `{"when": {"attempt": 1}, "answer": {"fault": {"class": "overloaded"}}}, ` + echo, state: run.OK, text: "echo: hi", calls: 2},
		"after what is asked": {script: `{"when": {"attempt": 1}, "answer": {"fault": {"class": "rate_limited", "retryAfter": "20ms"}}}, ` + echo,
			state: run.OK, text: "echo: hi", calls: 2},
		"thrice and then another": {script: one(`{"class": "unavailable", "after": 1}`), config: fallback, state: run.OK, text: "two", calls: 4, from: "scripted/one"},
		"another at once":         {script: one(`{"class": "rate_limited", "retryAfter": "2m"}`), config: fallback, state: run.OK, text: "two", calls: 2, from: "scripted/one"},
		"longer than there is":    {script: one(`{"class": "rate_limited", "retryAfter": "40s"}`), config: fallback, state: run.OK, text: "two", calls: 2, from: "scripted/one"},
		"no key":                  {script: one(`{"class": "auth"}`), config: fallback, state: run.OK, text: "two", calls: 2, from: "scripted/one"},
		"rejected":                {script: one(`{"class": "rejected"}`), config: fallback, state: run.OK, text: "two", calls: 2, from: "scripted/one"},
		"cannot be opened": {script: echo, config: `{agents: {defaults: {model: {primary: 'stranger/x', fallbacks: ['scripted/two']}}}}`,
			state: run.OK, text: "echo: hi", calls: 1, from: "stranger/x"},
		"all of them": {script: `{"when": {"model": "one"}, "answer": {"fault": {"class": "auth", "status": 401, "message": "who are you"}}}, {"answer": {"fault": {"class": "rejected"}}}`,
			config: fallback, state: run.Failed, class: "auth", calls: 2, contains: []string{"scripted/one: not authorised (401): who are you", "scripted/two: request rejected", "stranger"}},
		"none to open": {script: echo, config: `{agents: {defaults: {model: 'openai/x'}}}`, state: run.Failed, class: "auth", contains: []string{"OPENAI_API_KEY"}},
		"too long":     {script: one(`{"class": "context_exceeded"}`), config: fallback, state: run.OK, text: "two", calls: 4, from: "scripted/one"},
		"too long ever": {script: `{"answer": {"fault": {"class": "context_exceeded"}}}`, config: fallback, state: run.Failed, class: "context_exceeded", calls: 6,
			contains: []string{"scripted/one: context too long", "; then scripted/two: context too long", "stranger"}},
		"too long, then no key": {script: `{"when": {"model": "one"}, "answer": {"fault": {"class": "context_exceeded"}}}, {"answer": {"fault": {"class": "auth"}}}`,
			config: fallback, state: run.Failed, class: "context_exceeded", calls: 4, contains: []string{"scripted/one: context too long"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := setup(t, setting{script: c.script, config: c.config})
			a := ask(t, "r1", "main", "hi")
			if ms := int64(30_000); name == "longer than there is" {
				a.TimeoutMs = &ms
			}
			h.queue(a)
			text := c.text
			r := h.over("r1")
			if r.State != c.state || c.state == run.OK && r.Over.Text != text || r.Over.ErrorClass != c.class || r.Over.ModelCalls != c.calls || r.Over.FallbackFrom != c.from {
				t.Errorf("got %s %+v", r.State, r.Over)
			}
			for _, part := range c.contains {
				if !strings.Contains(r.Over.Error, part) {
					t.Errorf("%q does not say %q", r.Over.Error, part)
				}
			}
			h.checkSettled()
		})
	}
}

// What another model says does not go on from what the one before it has started to say.
func TestRetriedAnswerStartsOver(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{script: `{"when": {"attempt": 1}, "answer": {"text": "half an answer", "fault": {"class": "unavailable", "after": 2}}}, ` + echo})
	h.say("r1", "main", "hi")
	h.ends("r1", run.OK, "echo: hi")
	if diff := cmp.Diff([]string{"started", "text half ", "text half an ", "text echo:  (again)", "text echo: hi", "ended ok"}, h.told("r1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"user: hi", "assistant: echo: hi (stop)"}, h.transcript("main")); diff != "" {
		t.Error(diff)
	}
}

// endpoint is a server of models of the usual kind.
type endpoint struct {
	mu    sync.Mutex
	asked []request
}

type request struct {
	key, model string
	bytes      int
}

// serve starts one. answer is called with what is asked, and how often anything was.
func (e *endpoint) serve(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, body string, n int)) (config string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var asked struct {
			Model string `json:"model"`
		}
		if err := json.Unmarshal(body, &asked); err != nil {
			t.Error(err)
		}
		e.mu.Lock()
		e.asked = append(e.asked, request{key: r.Header.Get("Idempotency-Key"), model: asked.Model, bytes: len(body)})
		n := len(e.asked)
		e.mu.Unlock()
		answer(w, r, string(body), n)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return fmt.Sprintf(`{models: {providers: {fake: {baseUrl: '%s/v1', models: [{id: 'm', contextWindow: 200000}]}}}, agents: {defaults: {model: 'fake/m'}}}`, server.URL)
}

// all is what was asked so far.
func (e *endpoint) all() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.asked)
}

func stream(w http.ResponseWriter, deltas ...string) {
	w.Header().Set("Content-Type", "text/event-stream")
	for _, d := range deltas {
		finish := "null"
		if d == "" {
			d, finish = "{}", `"stop"`
		}
		fmt.Fprintf(w, "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", d, finish)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
	}
}

func content(s string) string { return fmt.Sprintf(`{"content":%q}`, s) }

func answered(w http.ResponseWriter) {
	stream(w, content("fine"), "")
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func called(w http.ResponseWriter, name, arguments string) {
	stream(w, fmt.Sprintf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":%q,"arguments":%q}}]}`, name, arguments), "")
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// Every fault of an endpoint leads to an answer or to an end that says why, and in any case to one.
func TestFaultsOfAnEndpoint(t *testing.T) {
	t.Parallel()
	refuse := func(status int, headers ...string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			fmt.Fprint(w, `{"error":{"message":"as asked"}}`)
		}
	}
	type fault = func(http.ResponseWriter, *http.Request)
	for name, c := range map[string]struct {
		do     fault
		always bool // not only at first
		class  string
		limits runner.Limits
	}{
		"hangs at once":      {do: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }},
		"hangs after a bit":  {do: func(w http.ResponseWriter, r *http.Request) { stream(w, content("ha")); <-r.Context().Done() }},
		"hangs for ever":     {do: func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, always: true, class: "timeout"},
		"truncated":          {do: func(w http.ResponseWriter, _ *http.Request) { stream(w, content("ha")) }},
		"truncated for ever": {do: func(w http.ResponseWriter, _ *http.Request) { stream(w, content("ha")) }, always: true, class: "unavailable"},
		"401":                {do: refuse(401), always: true, class: "auth"},
		"429":                {do: refuse(429, "Retry-After", "0.05")},
		"429 for ever":       {do: refuse(429, "Retry-After", "3600"), always: true, class: "rate_limited"},
		"500":                {do: refuse(500)},
		"500 for ever":       {do: refuse(500), always: true, class: "unavailable"},
		"malformed": {do: func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"choices\": [oh no\n\n")
		}, always: true, class: "malformed"},
		"wrong arguments": {do: func(w http.ResponseWriter, _ *http.Request) { called(w, "look", `{"at": tomorrow}`) }},
		"unknown tool":    {do: func(w http.ResponseWriter, _ *http.Request) { called(w, "nothing", `{}`) }},
		"loops":           {do: func(w http.ResponseWriter, _ *http.Request) { called(w, "look", `{}`) }, always: true, class: "tools"},
		"50 MB": {do: func(w http.ResponseWriter, _ *http.Request) {
			long := content(strings.Repeat("x", 1<<20))
			for range 50 {
				stream(w, long)
			}
		}, always: true, class: "too_large"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var e endpoint
			conf := e.serve(t, func(w http.ResponseWriter, r *http.Request, _ string, n int) {
				if n == 1 || c.always {
					c.do(w, r)
					return
				}
				answered(w)
			})
			idle := patience
			if strings.HasPrefix(name, "hangs") {
				idle = 500 * time.Millisecond
			}
			h := setup(t, setting{config: conf, idle: idle, tools: box{"look": text("x")}, limits: c.limits})
			h.say("r1", "main", "hi")
			r := h.over("r1")
			if c.class == "" && (r.State != run.OK || r.Over.Text != "fine") || c.class != "" && (r.State != run.Failed || r.Over.ErrorClass != c.class || r.Over.Error == "") {
				t.Errorf("got %s %+v", r.State, r.Over)
			}
			if len(r.Over.Text) > runner.DefaultAnswerBytes {
				t.Errorf("%d bytes of text", len(r.Over.Text))
			}
			h.checkSettled()
			last := ""
			for _, asked := range e.all() {
				if !strings.HasPrefix(asked.key, "r1:") || asked.key < last {
					t.Errorf("asked with key %q after %q", asked.key, last)
				}
				last = asked.key
			}
		})
	}
}

// What is too long for a model is told with half of its window, and with a quarter, before the run fails.
func TestPromptsThatAreTooLongAreShortened(t *testing.T) {
	t.Parallel()
	var e endpoint
	conf := e.serve(t, func(w http.ResponseWriter, _ *http.Request, body string, n int) {
		if len(body) > 250_000 {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is 50000 tokens","code":"context_length_exceeded"}}`)
			return
		}
		answered(w)
	})
	h := setup(t, setting{config: conf})
	for i := range 8 {
		h.say(fmt.Sprint("r", i), "main", strings.Repeat("word ", 20_000))
		h.ends(fmt.Sprint("r", i), run.OK, "fine")
	}
	if !slices.ContainsFunc(e.all(), func(r request) bool { return r.bytes > 250_000 }) {
		t.Error("nothing was too long")
	}
}

// What is too long for a model however short is told to another one in full length.
func TestOverlongPromptGoesToFallbackModel(t *testing.T) {
	t.Parallel()
	var e endpoint
	conf := e.serve(t, func(w http.ResponseWriter, _ *http.Request, body string, n int) {
		if strings.Contains(body, `"model":"m"`) && len(body) > 10_000 {
			w.WriteHeader(400)
			fmt.Fprint(w, `{"error":{"message":"This model's maximum context length is 2000 tokens","code":"context_length_exceeded"}}`)
			return
		}
		answered(w)
	})
	conf = strings.Replace(conf, "models: [", "models: [{id: 'n', contextWindow: 200000}, ", 1)
	conf = strings.Replace(conf, "model: 'fake/m'", "model: {primary: 'fake/m', fallbacks: ['fake/n']}", 1)
	h := setup(t, setting{config: conf})
	const messages = 8
	for i := range messages {
		h.say(fmt.Sprint("r", i), "main", strings.Repeat("word ", 20_000))
		h.ends(fmt.Sprint("r", i), run.OK, "fine")
	}
	longest := map[string]int{}
	for _, r := range e.all() {
		longest[r.model] = max(longest[r.model], r.bytes)
	}
	if longest["n"] == 0 || longest["n"] != longest["m"] {
		t.Errorf("asked were at most so many bytes: %v", longest)
	}
	if r := h.over("r0"); r.Over.FallbackFrom != "fake/m" {
		t.Errorf("got %+v", r.Over)
	}
	h.checkSettled()
}

// A session's model that cannot be opened any more is replaced, and the run says so.
func TestModelOfASessionIsGone(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{})
	h.patch("main", `{"model":"stranger/x"}`)
	h.say("r1", "main", "hi")
	if r := h.ends("r1", run.OK, "echo: hi"); r.Over.FallbackFrom != "stranger/x" || r.Over.Provider != "scripted" {
		t.Errorf("got %+v", r.Over)
	}
	h.checkSettled()
}

// Providers are asked again only with the key of the same step.
//
// Promise: model-retry
func TestEveryAttemptAtAStepHasItsKey(t *testing.T) {
	t.Parallel()
	var e endpoint
	conf := e.serve(t, func(w http.ResponseWriter, _ *http.Request, _ string, n int) {
		switch n {
		case 1, 3:
			w.WriteHeader(503)
		case 2:
			called(w, "look", `{}`)
		default:
			answered(w)
		}
	})
	h := setup(t, setting{config: conf, tools: box{"look": text("x")}})
	h.say("r1", "main", "hi")
	h.ends("r1", run.OK, "fine")
	var keys []string
	for _, r := range e.all() {
		keys = append(keys, r.key)
	}
	if diff := cmp.Diff([]string{"r1:1", "r1:1", "r1:2", "r1:2"}, keys); diff != "" {
		t.Error(diff)
	}
}

// A disk that is full in the middle of a run holds it up, and nothing is lost.
func TestDiskIsFullInTheMiddle(t *testing.T) {
	t.Parallel()
	full := make(chan struct{})
	var h *fixture
	h = setup(t, setting{script: useTool, tools: box{"look": func(context.Context, tool.Caller, json.RawMessage) (tool.Output, error) {
		h.limit(1)
		close(full)
		return tool.Output{Text: strings.Repeat("x", 60_000)}, nil
	}}})
	h.say("r1", "main", "use it")
	<-full
	if _, err := h.Queue(t.Context(), ask(t, "r2", "main", strings.Repeat("y", 500_000))); err == nil {
		t.Error("a message was accepted though there is no room")
	}
	if r, _, err := h.Get(t.Context(), "r1"); err != nil || r.State != run.Running {
		t.Errorf("got %+v, %v", r, err)
	}
	h.limit(1_000_000)
	h.ends("r1", run.OK, "It says "+strings.Repeat("x", 60_000))
	h.checkSettled()
}

// A disk that is full when a run is to begin lets it wait, and it begins once there is room.
func TestDiskIsFullAtTheBeginning(t *testing.T) {
	t.Parallel()
	h := setup(t, setting{asleep: true})
	long := strings.Repeat("x", 100_000)
	h.say("r1", "main", long)
	h.limit(1)
	h.wake()
	for range 3 {
		h.refused()
	}
	if r, _, err := h.Get(t.Context(), "r1"); err != nil || r.State != run.Queued {
		t.Errorf("got %+v, %v", r, err)
	}
	h.limit(1_000_000)
	h.ends("r1", run.OK, "echo: "+long)
	if diff := cmp.Diff([]string{"queued", "started", "ended"}, h.events("r1")); diff != "" {
		t.Error(diff)
	}
	if lines := h.transcript("main"); len(lines) != 2 {
		t.Errorf("said was %.200q", lines)
	}
	h.checkSettled()
}

// While the disk is full at the end of a run, that is tried until its lease ends and no longer. Then it is its worker who ends it, with
// what it has said.
func TestDiskIsFullAtTheEndUntilTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	var e endpoint
	var h *fixture
	long := strings.Repeat("x", 100_000)
	conf := e.serve(t, func(w http.ResponseWriter, _ *http.Request, _ string, _ int) {
		h.limit(1)
		stream(w, content(long), "")
		fmt.Fprint(w, "data: [DONE]\n\n")
	})
	h = setup(t, setting{config: conf, asleep: true})
	h.say("r1", "main", "hi")
	item := h.begin("r1")
	ctx, end := context.WithCancelCause(t.Context())
	done := make(chan error, 1)
	go func() { done <- h.Do(ctx, item) }()
	for range 3 {
		h.refused()
	}
	if r, _, err := h.Get(t.Context(), "r1"); err != nil || r.State != run.Running {
		t.Errorf("got %+v, %v", r, err)
	}
	end(worker.ErrLease)
	select {
	case err := <-done:
		if !errors.Is(err, worker.ErrLease) {
			t.Errorf("got %v", err)
		}
	case <-time.After(patience):
		t.Fatal("it still tries to write its end")
	}
	h.limit(1_000_000)
	h.lose("r1")
	h.ends("r1", run.TimedOut, long)
	if diff := cmp.Diff([]string{"queued", "started", "timed_out"}, h.events("r1")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"user: hi", "assistant: " + long + " (aborted)"}, h.transcript("main")); diff != "" {
		t.Errorf("%.400s", diff)
	}
	h.until("r1", is(run.Ended))
	h.checkSettled()
	h.idle()
}
