package catalogue_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func load(t *testing.T, text string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "openclaw.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, findings := config.Load(path, func(string) string { return "" })
	if err := findings.Err(); err != nil {
		t.Fatal(err)
	}
	return c
}

func environment(pairs ...string) func(string) string {
	return func(name string) string {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1]
			}
		}
		return ""
	}
}

// asked is what an endpoint of any name was asked.
type asked struct {
	mu    sync.Mutex
	seen  []string
	bodys []string
}

func (a *asked) RoundTrip(r *http.Request) (*http.Response, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	text := new(strings.Builder)
	if _, err := fmt.Fprint(text, r.URL.String(), " ", r.Header.Get("Authorization")); err != nil {
		return nil, err
	}
	a.seen = append(a.seen, text.String())
	w := httptest.NewRecorder()
	body := new(strings.Builder)
	buffer := make([]byte, 64<<10)
	for {
		n, err := r.Body.Read(buffer)
		body.Write(buffer[:n])
		if err != nil {
			break
		}
	}
	a.bodys = append(a.bodys, body.String())
	fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	return w.Result(), nil
}

func TestModelsAreAskedWhereTheyAre(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ config, ref, want string }{
		"configured":      {`{models: {providers: {fake: {baseUrl: 'http://127.0.0.1:9/v1', apiKey: 'secret-1', api: 'openai-completions', models: [{id: 'echo-1'}]}}}}`, "fake/echo-1", "http://127.0.0.1:9/v1/chat/completions Bearer secret-1"},
		"without key":     {`{models: {providers: {fake: {baseUrl: 'http://llm.example/v1', models: [{id: 'a/b'}]}}}}`, "fake/a/b", "http://llm.example/v1/chat/completions "},
		"own variable":    {`{models: {providers: {'my-llm': {baseUrl: 'http://llm.example/v1'}}}}`, "my-llm/x", "http://llm.example/v1/chat/completions Bearer mine"},
		"named variable":  {`{models: {providers: {fake: {baseUrl: 'http://llm.example/v1', apiKey: 'SOME_KEY'}}}}`, "fake/x", "http://llm.example/v1/chat/completions Bearer some"},
		"openai":          {`{}`, "openai/gpt-4o", "https://api.openai.com/v1/chat/completions Bearer env-openai"},
		"anthropic":       {`{}`, "anthropic/claude-x", "https://api.anthropic.com/v1/chat/completions Bearer env-anthropic"},
		"anthropic's own": {`{models: {providers: {anthropic: {baseUrl: 'https://api.anthropic.com', api: 'anthropic-messages', apiKey: 'conf-key'}}}}`, "anthropic/claude-x", "https://api.anthropic.com/v1/chat/completions Bearer conf-key"},
		"google":          {`{}`, "google/gemini", "https://generativelanguage.googleapis.com/v1beta/openai/chat/completions Bearer env-google"},
		"openrouter":      {`{}`, "openrouter/meta/llama", "https://openrouter.ai/api/v1/chat/completions Bearer env-openrouter"},
		"ollama":          {`{}`, "ollama/llama", "http://127.0.0.1:11434/v1/chat/completions "},
		"ollama's own":    {`{models: {providers: {ollama: {baseUrl: 'http://10.0.0.2:11434', api: 'ollama'}}}}`, "ollama/llama", "http://10.0.0.2:11434/v1/chat/completions "},
		"known but near":  {`{models: {providers: {xai: {baseUrl: 'http://localhost:1/v1'}}}}`, "xai/m", "http://localhost:1/v1/chat/completions "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var a asked
			models := catalogue.New(load(t, test.config), catalogue.Options{Transport: &a, Getenv: environment("OPENAI_API_KEY", "env-openai",
				"ANTHROPIC_API_KEY", "env-anthropic", "GOOGLE_API_KEY", "env-google", "OPENROUTER_API_KEY", "env-openrouter", "MY_LLM_API_KEY", "mine", "SOME_KEY", "some")})
			m, err := models.Open(test.ref)
			if err != nil {
				t.Fatal(err)
			}
			answer, err := m.Complete(t.Context(), &llm.Request{Model: "other"}, nil)
			if err != nil || answer.Text != "ok" || answer.Provider != m.ProviderID {
				t.Fatalf("got %+v, %v", answer, err)
			}
			if diff := cmp.Diff([]string{test.want}, a.seen); diff != "" {
				t.Error(diff)
			}
			if !strings.Contains(a.bodys[0], `"model":"`+m.ID+`"`) {
				t.Errorf("asked %s", a.bodys[0])
			}
		})
	}
}

func TestModelOpenErrorHasHint(t *testing.T) {
	t.Parallel()
	const conf = `{models: {providers: {fake: {baseUrl: 'http://h/v1', models: [{id: 'echo-1'}, {id: 'echo-2'}]}, odd: {baseUrl: 'https://h/v1', api: 'bedrock-converse-stream'},
		bad: {baseUrl: 'h/v1', apiKey: 'secret-word'}, empty: {}, proxy: {baseUrl: 'https://proxy.example', api: 'anthropic-messages'}}}}`
	for ref, want := range map[string]string{
		"echo-1":        `model echo-1: model: names no provider; write provider/model, such as fake/echo-1`,
		"fake/":         `names no provider`,
		"fake/echo-3":   `model fake/echo-3: models.providers.fake.models: does not list echo-3; add it, or name one of echo-1, echo-2`,
		"odd/x":         `model odd/x: models.providers.odd.api: bedrock-converse-stream is an API that openclawd does not support; set it to openai-completions`,
		"proxy/x":       `models.providers.proxy.api: anthropic-messages`,
		"bad/x":         `models.providers.bad.baseUrl: must begin with http:// or https:// and a host`,
		"empty/x":       `models.providers.empty.baseUrl: is not set`,
		"stranger/x":    `models.providers.stranger: is not configured, and no provider of this name is known; configure it, or name one of fake, odd, bad, empty, proxy, scripted`,
		"anthropic/x":   `models.providers.anthropic.apiKey: there is no API key; set it, or the environment variable ANTHROPIC_API_KEY`,
		"openrouter/x":  `environment variable OPENROUTER_API_KEY`,
		"deepseek/chat": `environment variable DEEPSEEK_API_KEY`,
	} {
		m, err := catalogue.New(load(t, conf), catalogue.Options{Transport: http.DefaultTransport}).Open(ref)
		var e *catalogue.Error
		if m != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), want) || e.Hint() == "" || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("%s: got %v, want %s", ref, err, want)
		}
	}
}

func TestChoicesAreInOrderAndEndInTheScript(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		`{}`: {"scripted/scripted"},
		`{agents: {defaults: {model: {primary: 'a/1', fallbacks: ['b/2', 'a/1', 'b/2', 'c/3']}}}}`: {"a/1", "b/2", "c/3"},
		`{agents: {defaults: {model: 'a/1'}, list: [{id: 'eden', model: {fallbacks: ['b/2']}}]}}`:  {"a/1", "b/2"},
		`{models: {providers: {fake: {baseUrl: 'http://h', models: [{id: 'echo-1'}]}}}}`:           {"fake/echo-1"},
	} {
		if diff := cmp.Diff(want, catalogue.New(load(t, text), catalogue.Options{}).Choices("Eden")); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestScriptAnswersWhereNothingIsConfigured(t *testing.T) {
	t.Parallel()
	models := catalogue.New(config.Default(), catalogue.Options{})
	m, err := models.Open(models.Choices("eden")[0])
	if err != nil {
		t.Fatal(err)
	}
	a, err := m.Complete(t.Context(), &llm.Request{Agent: "eden", Messages: []llm.Message{{Role: llm.User, Text: "고마워"}}}, nil)
	if err != nil || a.Text == "" || m.ContextWindow != config.DefaultContextTokens {
		t.Errorf("got %+v, %v", a, err)
	}
	s, err := scripted.Read("s", []byte(`{"rules": [{"when": {"model": "two"}, "answer": {"text": "I am {{model}}"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if m, err = catalogue.New(config.Default(), catalogue.Options{Script: s}).Open("scripted/two"); err != nil {
		t.Fatal(err)
	}
	if a, err := m.Complete(t.Context(), &llm.Request{}, nil); err == nil {
		t.Errorf("answers %+v to no one", a)
	}
	if a, err := m.Complete(t.Context(), &llm.Request{Messages: []llm.Message{{Role: llm.User}}}, nil); err != nil || a.Text != "I am two" {
		t.Errorf("got %+v, %v", a, err)
	}
}

func TestNothingIsAskedOfAModelThatItDoesNotHave(t *testing.T) {
	t.Parallel()
	var a asked
	models := catalogue.New(load(t, `{models: {providers: {fake: {baseUrl: 'http://h/v1', models: [{id: 'plain', maxTokens: 100, contextWindow: 8000},
		{id: 'rich', reasoning: true, input: ['text', 'image']}]}}}}`), catalogue.Options{Transport: &a})
	r := &llm.Request{MaxTokens: 500, Thinking: "high", Messages: []llm.Message{{Role: llm.User, Text: "see", Images: []llm.Image{{MediaType: "image/png", Data: []byte("x")}}}}}
	for _, id := range []string{"plain", "rich"} {
		m, err := models.Open("fake/" + id)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Complete(t.Context(), r, nil); err != nil {
			t.Fatal(err)
		}
	}
	if plain := a.bodys[0]; strings.Contains(plain, "high") || strings.Contains(plain, "image_url") || !strings.Contains(plain, `"max_tokens":100`) || !strings.Contains(plain, "cannot see") {
		t.Errorf("asked %s", plain)
	}
	if rich := a.bodys[1]; !strings.Contains(rich, `"reasoning_effort":"high"`) || !strings.Contains(rich, "image_url") || !strings.Contains(rich, `"max_tokens":500`) {
		t.Errorf("asked %s", rich)
	}
	if len(r.Messages[0].Images) != 1 || r.Model != "" || r.Thinking != "high" {
		t.Errorf("the request was changed: %+v", r)
	}
}

func TestProvidersAreOpenedOnceByAll(t *testing.T) {
	t.Parallel()
	var opened sync.Map
	models := catalogue.New(load(t, `{models: {providers: {fake: {baseUrl: 'http://h/v1'}}}}`), catalogue.Options{Transport: &asked{}, OpenAI: openai.Options{Idle: time.Second}})
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			m, err := models.Open(fmt.Sprintf("fake/m%d", i))
			if err != nil {
				t.Error(err)
				return
			}
			opened.Store(m, true)
			if _, err := m.Complete(context.Background(), &llm.Request{}, nil); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	n := 0
	opened.Range(func(any, any) bool { n++; return true })
	if n != 16 {
		t.Errorf("%d models", n)
	}
}
