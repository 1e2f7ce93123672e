package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/agent/llm"
)

func TestRefusalsHaveTheirClass(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	for _, test := range []struct {
		name   string
		status int
		body   string
		header string
		class  llm.Class
		after  time.Duration
		says   string
	}{
		{"openai rate", 429, `{"error":{"message":"Rate limit reached","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`, "Retry-After: 20", llm.RateLimited, 20 * time.Second, "Rate limit reached"},
		{"fraction", 429, ``, "Retry-After: 1.5", llm.RateLimited, 1500 * time.Millisecond, "Too Many Requests"},
		{"milliseconds", 429, ``, "Retry-After-Ms: 250", llm.RateLimited, 250 * time.Millisecond, ""},
		{"date", 503, `x`, "Retry-After: Mon, 23 Nov 2026 12:01:00 GMT", llm.Overloaded, time.Minute, "x"},
		{"date gone", 429, ``, "Retry-After: Mon, 23 Nov 2026 11:01:00 GMT", llm.RateLimited, 0, ""},
		{"for ever", 429, ``, "Retry-After: 1e300", llm.RateLimited, 24 * time.Hour, ""},
		{"negative", 429, ``, "Retry-After: -5", llm.RateLimited, 0, ""},
		{"no number", 429, ``, "Retry-After: NaN", llm.RateLimited, 0, ""},
		{"openai quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, "", llm.Auth, 0, "quota"},
		{"openai key", 401, `{"error":{"message":"Incorrect API key provided: ` + testKey + `.","code":"invalid_api_key"}}`, "", llm.Auth, 0, "Incorrect API key provided: ***"},
		{"openai context", 400, `{"error":{"message":"too long","type":"invalid_request_error","code":"context_length_exceeded"}}`, "", llm.ContextExceeded, 0, ""},
		{"openai model", 404, `{"error":{"message":"The model does not exist","type":"invalid_request_error","code":"model_not_found"}}`, "", llm.Rejected, 0, ""},
		{"anthropic context", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 205371 tokens > 200000 maximum"}}`, "", llm.ContextExceeded, 0, ""},
		{"anthropic overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, "", llm.Overloaded, 0, ""},
		{"anthropic api", 500, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, "", llm.Unavailable, 0, ""},
		{"anthropic key", 401, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "", llm.Auth, 0, ""},
		{"anthropic size", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, "", llm.ContextExceeded, 0, ""},
		{"vllm context", 400, `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 8203","type":"BadRequestError","code":400}`, "", llm.ContextExceeded, 0, ""},
		{"llama.cpp context", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, "", llm.ContextExceeded, 0, ""},
		{"google", 400, `[{"error":{"code":400,"message":"The input token count (2000000) exceeds the maximum number of tokens allowed","status":"INVALID_ARGUMENT"}}]`, "", llm.ContextExceeded, 0, ""},
		{"google rate", 429, `[{"error":{"code":429,"message":"Resource has been exhausted","status":"RESOURCE_EXHAUSTED"}}]`, "", llm.RateLimited, 0, ""},
		{"openrouter", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"maximum context length is 262144\"}}"}}}`, "", llm.ContextExceeded, 0, "262144"},
		{"openrouter credit", 402, `{"error":{"message":"Insufficient credits","code":402}}`, "", llm.Auth, 0, "credits"},
		{"ollama", 404, `{"error":"model 'x' not found"}`, "", llm.Rejected, 0, "model 'x' not found"},
		{"fastapi", 422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, "", llm.Rejected, 0, "field required"},
		{"throttled by tokens", 429, `{"message":"Too many tokens in the context window, please wait"}`, "", llm.RateLimited, 0, ""},
		{"openai too much for a minute", 429, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 45000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","code":"rate_limit_exceeded"}}`, "", llm.ContextExceeded, 0, ""},
		{"groq too much for a minute", 413, `{"error":{"message":"Request too large for model x on tokens per minute (TPM): Limit 6000, Requested 7012","type":"tokens","code":"rate_limit_exceeded"}}`, "", llm.ContextExceeded, 0, ""},
		{"nginx size", 413, `<html>Request Entity Too Large</html>`, "", llm.ContextExceeded, 0, ""},
		{"openai string", 400, `{"error":{"message":"Invalid 'messages[1].content': string too long.","type":"invalid_request_error","code":"string_above_max_length"}}`, "", llm.ContextExceeded, 0, ""},
		{"anthropic room", 400, `{"error":{"message":"input length and max_tokens exceed context limit: 190000 + 20000 > 200000","type":"invalid_request_error"}}`, "", llm.ContextExceeded, 0, ""},
		{"anthropic credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, "", llm.Auth, 0, ""},
		{"google key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, "", llm.Auth, 0, ""},
		{"xai key", 400, `{"code":"Client specified an invalid argument","error":"Incorrect API key provided"}`, "", llm.Auth, 0, ""},
		{"kimi quota", 429, `{"error":{"message":"You exceeded your current token quota","type":"exceeded_current_quota_error"}}`, "", llm.Auth, 0, ""},
		{"vllm length", 400, `{"error":{"message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","type":"BadRequestError","code":400}}`, "", llm.ContextExceeded, 0, ""},
		{"vllm wrong", 400, `{"error":{"message":"top_p must be in (0, 1]","type":"BadRequestError","code":400}}`, "", llm.Rejected, 0, ""},
		{"ollama rate", 429, `{"error":{"message":"you have reached your hourly usage limit","type":"api_error","param":null,"code":null}}`, "", llm.RateLimited, 0, ""},
		{"ollama key", 401, `{"error":{"message":"unauthorized","type":"api_error","param":null,"code":null}}`, "", llm.Auth, 0, ""},
		{"ollama busy", 503, `{"error":{"message":"server busy, please try again.  maximum pending requests exceeded","type":"api_error"}}`, "", llm.Overloaded, 0, ""},
		{"ollama context", 500, `{"error":{"message":"the input length exceeds the context length","type":"api_error"}}`, "", llm.ContextExceeded, 0, ""},
		{"ollama failed", 500, `{"error":{"message":"llama runner process has terminated","type":"api_error"}}`, "", llm.Unavailable, 0, ""},
		{"llama.cpp older", 500, `{"error":{"code":500,"message":"the request exceeds the available context size","type":"server_error"}}`, "", llm.ContextExceeded, 0, ""},
		{"lm studio", 400, `{"error":"Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, "", llm.ContextExceeded, 0, ""},
		{"tgi", 422, `{"error":"Input validation error: ` + "`inputs` tokens + `max_new_tokens`" + ` must be <= 4096","error_type":"validation"}`, "", llm.ContextExceeded, 0, ""},
		{"openrouter rate", 429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x is temporarily rate-limited upstream","provider_name":"y"}}}`, "", llm.RateLimited, 0, "upstream"},
		{"openrouter tools", 404, `{"error":{"message":"No endpoints found that support tool use","code":404}}`, "", llm.Rejected, 0, ""},
		{"openrouter busy", 502, `{"error":{"message":"Your chosen model is down or we received an invalid response from it","code":502}}`, "", llm.Unavailable, 0, ""},
		{"in the answer", 200, `{"type":"error","error":{"type":"api_error","message":"Internal server error"}}`, "", llm.Unavailable, 0, ""},
		{"page", 502, `<html><body>Bad gateway</body></html>`, "", llm.Unavailable, 0, "Bad Gateway"},
		{"slow gateway", 504, ``, "", llm.Timeout, 0, ""},
		{"redirect", 307, ``, "Location: https://elsewhere.example/", llm.Rejected, 0, "base URL"},
		{"teapot", 418, `{"error":`, "", llm.Rejected, 0, `{"error":`},
		{"plain", 400, "first\r\nsecond\x00", "", llm.Rejected, 0, "first second"},
		{"endless", 500, strings.Repeat("no ", 1<<20), "", llm.Unavailable, 0, "no no"},
		{"with success", 200, `{"error":{"message":"Provider returned error","code":503}}`, "", llm.Overloaded, 0, "Provider returned error"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, Options{Now: func() time.Time { return now }}, func(w http.ResponseWriter, _ *http.Request) {
				if name, value, ok := strings.Cut(test.header, ": "); ok {
					w.Header().Set(name, value)
				}
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
			})
			_, err := p.Complete(t.Context(), hello(), nil)
			var e *llm.Error
			if class := classOf(t, err); class != test.class || !strings.Contains(err.Error(), test.says) {
				t.Errorf("got %s: %v, want %s that says %q", class, err, test.class, test.says)
			}
			if errors.As(err, &e); e.RetryAfter != test.after || test.status != 200 && e.Status != test.status {
				t.Errorf("try again after %s (%d), want %s (%d)", e.RetryAfter, e.Status, test.after, test.status)
			}
		})
	}
}

func TestStreamsThatBreakAreErrors(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, stream string
		class        llm.Class
		streamed     string
	}{
		{"nothing", "", llm.Unavailable, ""},
		{"only [DONE]", doneFrame, llm.Malformed, ""},
		{"only comments", ": hi\n\n", llm.Unavailable, ""},
		{"cut off between", text("Hel"), llm.Unavailable, "Hel"},
		{"cut off within", text("Hel") + text("lo")[:40], llm.Unavailable, "Hel"},
		{"not JSON", text("Hel") + "data: {\"choices\":[{]}\n\n" + text("lo") + doneFrame, llm.Malformed, "Hel"},
		{"other JSON", text("Hel") + "data: {\"choices\":\"none\"}\n\n" + doneFrame, llm.Malformed, "Hel"},
		{"arguments that are no text", frame(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":{"a":1}}}]}`, "") + doneFrame, llm.Malformed, ""},
		{"a page", "<!doctype html>", llm.Malformed, ""},
		{"prose", "Service is down\n", llm.Malformed, ""},
		{"half a document", `{"choices":[`, llm.Malformed, ""},
		{"an error", text("Hel") + `data: {"error":{"message":"Overloaded","type":"overloaded_error"}}` + "\n\n", llm.Overloaded, "Hel"},
		{"an error with space", text("Hel") + `data: { "error" : {"message":"slow down","code":429}}` + "\n\n" + text("lo"), llm.RateLimited, "Hel"},
		{"an event of Anthropic's", "event: error\n" + `data: {"type":"error","error":{"type":"api_error","message":"oops"}}` + "\n\n", llm.Unavailable, ""},
		{"an error in words", `data: {"error":"out of memory"}` + "\n\n", llm.Unavailable, ""},
		{"an error of vllm's", `data: {"object":"error","message":"bad","type":"BadRequestError","code":400}` + "\n\n", llm.Rejected, ""},
		{"an error as reason", text("Hel") + frame("{}", "error") + doneFrame, llm.Unavailable, "Hel"},
		{"a call of nothing", frame(`{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}`, "") + doneFrame, llm.Malformed, ""},
		{"a call with a novel for a name", frame(`{"tool_calls":[{"index":0,"function":{"name":"`+strings.Repeat("x", 300)+`"}}]}`, "") + doneFrame, llm.Malformed, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			var said []string
			a, err := serve(t, Options{}, sends(test.stream)).Complete(t.Context(), hello(), heard(&said))
			if class := classOf(t, err); class != test.class || a != nil {
				t.Errorf("got %s (%v) and %v, want %s", class, err, a, test.class)
			}
			if got := strings.Join(said, ""); got != test.streamed {
				t.Errorf("streamed %q, want %q", got, test.streamed)
			}
		})
	}
}

// A connection that is cut off is no end of an answer, even if the answer looks whole up to there.
func TestConnectionThatBreaksIsAnError(t *testing.T) {
	t.Parallel()
	p := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		sends(text("Hel"))(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	_, err := p.Complete(t.Context(), hello(), nil)
	if class := classOf(t, err); class != llm.Unavailable {
		t.Errorf("got %v", err)
	}

	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	gone, err := New(Options{ID: "fake", BaseURL: "http://" + l.Addr().String(), Key: testKey})
	if err != nil {
		t.Fatal(err)
	}
	_, err = gone.Complete(t.Context(), hello(), nil)
	if class := classOf(t, err); class != llm.Unavailable {
		t.Errorf("got %v", err)
	}
}

func TestFiftyMegabytesAreCutOff(t *testing.T) {
	t.Parallel()
	const all = 50 << 20
	flood := func(w io.Writer, part string) (n int) {
		for n < all {
			m, err := io.WriteString(w, part)
			if n += m; err != nil {
				return n
			}
		}
		return n
	}
	block := strings.Repeat("x", 32<<10)
	for name, shape := range map[string]struct {
		before, part string
		limit        int // of the stream; 0 is the default
	}{
		"text":      {"", text(block), 0},
		"thinking":  {"", frame(`{"reasoning_content":"`+block+`"}`, ""), 8 << 20},
		"one line":  {`data: {"choices":[{"index":0,"delta":{"content":"`, block, 0},
		"lines":     {"", "data: [" + strings.Repeat("1,", 500) + "\n", 0},
		"comments":  {"", ": " + block + "\n", 0},
		"document":  {`{"choices":[{"message":{"content":"`, block, 0},
		"arguments": {frame(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"x"}}]}`, ""), frame(`{"tool_calls":[{"index":0,"function":{"arguments":"`+block+`"}}]}`, ""), 0},
		"calls":     {"", frame(`{"tool_calls":[{"function":{"name":"x","arguments":"{}"}}]}`, ""), 0},
		"prose":     {"", block, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sent := make(chan int, 1)
			p := serve(t, Options{StreamBytes: shape.limit}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.WriteString(w, shape.before)
				sent <- flood(w, shape.part)
			})
			_, err := p.Complete(t.Context(), hello(), nil)
			if class := classOf(t, err); class != llm.TooLarge || err.(*llm.Error).Retryable() {
				t.Errorf("got %v", err)
			}
			if n := <-sent; n >= all {
				t.Errorf("all %d bytes were taken", n)
			}
		})
	}
}

func TestSilenceEndsACall(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]string{"at once": "", "after a comment": ": hang\n\n", "within the answer": text("Hel")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			release := make(chan struct{})
			defer close(release)
			p := serve(t, Options{First: 50 * time.Millisecond, Idle: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				if begin != "" {
					_, _ = io.WriteString(w, begin)
					w.(http.Flusher).Flush()
				}
				select {
				case <-release:
				case <-r.Context().Done():
				}
			})
			_, err := p.Complete(t.Context(), hello(), nil)
			if class := classOf(t, err); class != llm.Timeout || !strings.Contains(err.Error(), "50ms") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// watchedTimer knows whether it runs. It never fires.
type watchedTimer struct{ running atomic.Bool }

func (t *watchedTimer) Reset(time.Duration) bool { return t.running.Swap(true) }
func (t *watchedTimer) Stop() bool               { return t.running.Swap(false) }

func TestSlowReaderIsNoSilence(t *testing.T) {
	t.Parallel()
	var timer watchedTimer
	p := serve(t, Options{AfterFunc: func(time.Duration, func()) Timer { timer.running.Store(true); return &timer }}, sends(text2(doneFrame)))
	called := false
	_, err := p.Complete(t.Context(), hello(), func(llm.Chunk) { called = called || !timer.running.Load() })
	if err != nil || !called || timer.running.Load() {
		t.Errorf("the time runs while the caller reads, or afterwards (%v)", err)
	}
}

func TestContextEndsACallAtOnce(t *testing.T) {
	t.Parallel()
	p := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, text("Hel"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := p.Complete(ctx, hello(), func(llm.Chunk) { cancel(errors.New("aborted")) })
	if err != context.Canceled {
		t.Errorf("got %v, want context.Canceled", err)
	}
	late, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	if _, err := p.Complete(late, hello(), nil); err != context.DeadlineExceeded {
		t.Errorf("got %v, want context.DeadlineExceeded", err)
	}
}

func TestConnectionsAreUsedAgain(t *testing.T) {
	t.Parallel()
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(sends(text2(usageFrame + doneFrame)))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	p, err := New(Options{ID: "fake", BaseURL: server.URL, Transport: transport, AfterFunc: func(time.Duration, func()) Timer { return &watchedTimer{} }})
	if err != nil {
		t.Fatal(err)
	}
	const lanes, requests = 16, 20
	var all sync.WaitGroup
	for range lanes {
		all.Go(func() {
			for range requests {
				if _, err := p.Complete(t.Context(), hello(), nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if n := opened.Load(); n > lanes*requests/2 { // some are opened too many where another becomes free meanwhile
		t.Errorf("%d connections for %d requests in %d lanes", n, lanes*requests, lanes)
	}
}

// An endpoint that holds its answer open after the end delays it for a moment, and no longer.
func TestAnswerDoesNotWaitForTheConnection(t *testing.T) {
	t.Parallel()
	p := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		sends(text2(doneFrame))(w, r)
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	if a, err := p.Complete(t.Context(), hello(), nil); err != nil || a.Text != "ok" {
		t.Errorf("got %v, %v", a, err)
	}
}

func TestBaseURLIsChecked(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"", "host", "ftp://host", "http://", "https://h/v1?key=x", "https://h/#x", "https://u:secret-word@h/v1", "http://[::1", "://"} {
		if _, err := New(Options{BaseURL: s}); err == nil || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%q: %v", s, err)
		}
	}
	for _, s := range []string{"http://h/v1", "http://h/v1/", " http://h/v1/chat/completions/ "} {
		if p, err := New(Options{BaseURL: s}); err != nil || p.baseURL != "http://h/v1" {
			t.Errorf("%q: %v, %v", s, p, err)
		}
	}
}

// Whatever an endpoint repeats of what it was sent, no text of an error holds the key.
//
// Promise: model-retry
func TestKeyIsInNoError(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var answer func(w http.ResponseWriter, key string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		answer(w, strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}))
	defer server.Close()
	transport := NewTransport()
	defer transport.CloseIdleConnections()
	say := func(format string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, key string) { fmt.Fprintf(w, format, key) }
	}
	refuse := func(format string) func(http.ResponseWriter, string) {
		return func(w http.ResponseWriter, key string) {
			w.WriteHeader(401)
			fmt.Fprintf(w, format, key)
		}
	}
	answers := []func(http.ResponseWriter, string){
		refuse(`{"error":{"message":"no such key: %s!"}}`), refuse("your key %s"), refuse(`{"detail":{"headers":{"x":"%s"}}}`), refuse(`{"error":"%s"}`),
		say("data: {\"error\":{\"message\":\"%s\"}}\n\n"), say("data: {%s\n\n"), say("%s\n"), say(`{"error":{"type":"%s","message":"%[1]s"}}`), say("<p>%s"), say("data: [\"%s\"]\n\n"),
		func(w http.ResponseWriter, key string) {
			w.Header().Set("Location", "/?"+key)
			w.WriteHeader(302)
		},
		func(w http.ResponseWriter, key string) {
			w.WriteHeader(500)
			_, _ = io.WriteString(w, strings.Repeat("a", 395)+key)
		},
		func(w http.ResponseWriter, key string) { refuse("%s")(w, key[:len(key)-3]) },
	}
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringMatching(`[A-Za-z0-9+/=._~-]{12,80}`).Draw(t, "key")
		mu.Lock()
		answer = rapid.SampledFrom(answers).Draw(t, "answer")
		mu.Unlock()
		p, err := New(Options{ID: "fake", BaseURL: server.URL, Key: key, Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Complete(context.Background(), hello(), nil)
		var e *llm.Error
		if !errors.As(err, &e) {
			t.Fatalf("got %v", err)
		}
		for _, shown := range []string{e.Error(), fmt.Sprintf("%+v %#v", e, *e), e.Hint(), fmt.Sprintf("%v %+v %#v", p, p, p), fmt.Sprintf("%+v", *p)} {
			if strings.Contains(shown, key) || strings.Contains(shown, key[:len(key)-3]) {
				t.Fatalf("shows the key: %s", shown)
			}
		}
	})
}
