package rest_test

import (
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/rest"
)

// Every request is answered with JSON or with a stream that ends, and starts a run only if the status is 200.
func FuzzRequests(f *testing.F) {
	for _, body := range []string{hi, hiStream, `{`, `[]`, `{"model":"m","input":[{"role":"user","content":[{"type":"input_text","text":"x"}]}]}`,
		`{"tool":"look","args":{"a":1},"action":"x"}`, `{"messages":[{"role":"user","content":[null]}]}`, `{"messages":[null]}`, `{"input":[null],"model":"m"}`,
		`{"messages":[{"role":"assistant","tool_calls":[null]},{"role":"user","content":"\u0000"}],"user":"\ud800"}`} {
		f.Add(body, "openclaw:eden")
	}
	f.Fuzz(func(t *testing.T, body, name string) {
		for _, path := range []string{chat, responses, "/tools/invoke"} {
			o := newFakeRuns(echo)
			s := rest.New(rest.Options{Runs: o, Tools: &drawer{}, Offers: func(string) bool { return true },
				Agent: func(id string) (string, error) {
					if id != "" && id != "main" {
						return "", errors.New("unknown agent")
					}
					return "main", nil
				},
				Session: func(_, key string) (coordination.SessionKey, error) { return coordination.SessionKeyOf(key, "main") },
				AgentOf: func(k coordination.SessionKey) string { return k.Agent },
				Now:     func() time.Time { return began }, NewID: uuid.NewString, Logger: slog.New(slog.DiscardHandler)})
			w, r := httptest.NewRecorder(), httptest.NewRequest("POST", path, strings.NewReader(body))
			r.Header.Set("X-Openclaw-Session-Key", name)
			s.Post(path).ServeHTTP(w, r)
			o.jobs.Wait()
			text := w.Body.String()
			streams := strings.HasPrefix(w.Header().Get("Content-Type"), "text/event-stream")
			switch {
			case streams && !strings.HasSuffix(text, "data: [DONE]\n\n"):
				t.Errorf("%s: a stream ends with %.100s", path, text[max(0, len(text)-100):])
			case !streams && !json.Valid([]byte(text)):
				t.Errorf("%s: %d %.200s", path, w.Code, text)
			case len(o.asked()) == 1 != (w.Code == 200) && path != "/tools/invoke":
				t.Errorf("%s: %d, and %d were asked", path, w.Code, len(o.asked()))
			case w.Code >= 500 && path != "/tools/invoke":
				t.Errorf("%s: %d %.200s", path, w.Code, text)
			}
		}
	})
}
