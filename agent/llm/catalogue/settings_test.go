package catalogue_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/config"
)

// detour reaches one server, whatever host is asked for.
type detour struct {
	server *url.URL
	*http.Transport
}

func (d *detour) RoundTrip(r *http.Request) (*http.Response, error) {
	asked := r.Clone(r.Context())
	asked.Host, asked.URL.Scheme, asked.URL.Host = r.URL.Host, d.server.Scheme, d.server.Host
	return d.Transport.RoundTrip(asked)
}

func serve(t *testing.T, handle http.HandlerFunc) *detour {
	t.Helper()
	server := httptest.NewServer(handle)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	d := &detour{at, openai.NewTransport()}
	t.Cleanup(func() {
		d.CloseIdleConnections()
		server.CloseClientConnections()
		server.Close()
	})
	return d
}

// What anthropic/<model> is asked goes to Anthropic's endpoint that speaks as OpenAI's, with the key of the environment and the key that
// makes a repetition one; and nothing that comes back shows the first.
func TestAnthropicIsAskedByItsCompatibleEndpoint(t *testing.T) {
	t.Parallel()
	const key = "sk-ant-api03-0123456789abcdefghijklmnop"
	var seen []string
	d := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		seen = append(seen, strings.Join([]string{r.Method, r.Host, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Anthropic-Beta")}, " "))
		if r.Header.Get("Idempotency-Key") == "run-1:2" {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"type":"authentication_error","message":"invalid x-api-key %s"}}`, key)
			return
		}
		fmt.Fprint(w, `data: {"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	models := catalogue.New(load(t, `{models: {providers: {anthropic: {headers: {'anthropic-beta': 'beta-1'}}}}}`),
		catalogue.Options{Transport: d, Getenv: environment("ANTHROPIC_API_KEY", key)})
	m, err := models.Open("anthropic/claude-sonnet-4-5")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(idempotency string) error {
		_, err := m.Complete(t.Context(), &llm.Request{IdempotencyKey: idempotency, Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, nil)
		return err
	}
	if err := ask("run-1:1"); err != nil {
		t.Fatal(err)
	}
	var refused *llm.Error
	if err := ask("run-1:2"); !errors.As(err, &refused) || refused.Class != llm.Auth || strings.Contains(fmt.Sprintf("%v %+v", err, *refused), key) {
		t.Errorf("got %v", err)
	}
	const want = "POST api.anthropic.com /v1/chat/completions Bearer " + key + " run-1:"
	if diff := cmp.Diff([]string{want + "1 beta-1", want + "2 beta-1"}, seen); diff != "" {
		t.Error(diff)
	}
	if shown := fmt.Sprintf("%v %+v %#v %+v", m, m, m, models); strings.Contains(shown, key) || strings.Contains(shown, "beta-1") {
		t.Errorf("printing shows a secret: %s", shown)
	}
}

func TestSilenceIsBoundedAsConfigured(t *testing.T) {
	t.Parallel()
	d := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // a server notices that its client leaves only behind the body
		<-r.Context().Done()
	})
	waits := make(chan time.Duration, 1)
	never := time.NewTimer(time.Hour)
	t.Cleanup(func() { never.Stop() })
	models := catalogue.New(load(t, `{models: {providers: {slow: {baseUrl: 'http://slow/v1', timeoutSeconds: 1}}}}`), catalogue.Options{Transport: d,
		OpenAI: openai.Options{AfterFunc: func(d time.Duration, f func()) openai.Timer {
			waits <- d
			go f() // the time is over
			return never
		}}})
	m, err := models.Open("slow/m")
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Complete(t.Context(), &llm.Request{}, nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.Timeout {
		t.Errorf("got %v", err)
	}
	if wait := <-waits; wait != time.Second {
		t.Errorf("waited for %s", wait)
	}
}

// A key in a header is one.
func TestHeaderCanStandForTheKey(t *testing.T) {
	t.Parallel()
	var a asked
	m, err := catalogue.New(load(t, `{models: {providers: {groq: {headers: {authorization: 'Bearer from-header'}}}}}`), catalogue.Options{Transport: &a}).Open("groq/x")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Complete(t.Context(), &llm.Request{}, nil); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"https://api.groq.com/openai/v1/chat/completions Bearer from-header"}, a.seen); diff != "" {
		t.Error(diff)
	}
}

// scriptedBy is a configuration that names a script with this text.
func scriptedBy(t *testing.T, text string) (*config.Config, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"talk.json": text,
		"openclaw.json": `{models: {scripted: {script: 'talk.json'}, providers: {fake: {baseUrl: 'http://h/v1'}, mine: {api: 'scripted', models: [{id: 'm'}]}}}}`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, findings := config.Load(filepath.Join(dir, "openclaw.json"), func(string) string { return "" })
	if len(findings) > 0 {
		t.Fatal(findings)
	}
	return c, filepath.Join(dir, "talk.json")
}

func TestConfiguredScriptAnswers(t *testing.T) {
	t.Parallel()
	c, _ := scriptedBy(t, `{"rules": [{"answer": {"text": "by the file"}}]}`)
	if findings := catalogue.Check(c); findings != nil {
		t.Errorf("%v", findings)
	}
	for _, ref := range []string{"scripted/scripted", "mine/m"} {
		m, err := catalogue.New(c, catalogue.Options{}).Open(ref)
		if err != nil {
			t.Fatal(err)
		}
		if a, err := m.Complete(t.Context(), &llm.Request{Messages: []llm.Message{{Role: llm.User, Text: "hi"}}}, nil); err != nil || a.Text != "by the file" {
			t.Errorf("%s: got %+v, %v", ref, a, err)
		}
	}
}

// A broken script is told with the place of the mistake, and keeps no other model from answering.
func TestScriptErrorNamesPosition(t *testing.T) {
	t.Parallel()
	c, file := scriptedBy(t, "{\"rules\": [\n {\"answer\": {\"tekst\": 1}},\n {\"when\": {}}]}")
	models := catalogue.New(c, catalogue.Options{Transport: &asked{}})
	for range 2 {
		m, err := models.Open("scripted/scripted")
		var e *catalogue.Error
		if m != nil || !errors.As(err, &e) || e.Setting != "models.scripted.script" || !strings.Contains(err.Error(), file+":2:14: rules[0].answer.tekst: unknown key") {
			t.Errorf("got %v", err)
		}
	}
	if _, err := models.Open("fake/x"); err != nil {
		t.Error(err)
	}
	var told []string
	for _, f := range catalogue.Check(c) {
		told = append(told, fmt.Sprintf("%s %s %s:%d:%d %s", f.Severity, f.Code, filepath.Base(f.File), f.Line, f.Column, f.Path))
	}
	if diff := cmp.Diff([]string{"warning script talk.json:2:14 rules[0].answer.tekst", "warning script talk.json:3:2 rules[1]"}, told); diff != "" {
		t.Error(diff)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	gone, _ := config.Load(filepath.Join(filepath.Dir(file), "openclaw.json"), func(string) string { return "" })
	if _, err := catalogue.New(gone, catalogue.Options{}).Open("scripted/scripted"); err == nil || !strings.Contains(err.Error(), "talk.json does not exist") {
		t.Errorf("got %v", err)
	}
	if findings := catalogue.Check(gone); findings != nil {
		t.Errorf("told twice: %v", findings)
	}
}
