package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/agent/llm"
)

func TestHeadersAreSentBelowOurOwn(t *testing.T) {
	t.Parallel()
	var got http.Header
	p := serve(t, Options{Headers: http.Header{"x-title": {"openclawd"}, "Authorization": {"Bearer other"}, "Content-Type": {"text/plain"},
		"Accept-Encoding": {"br"}, "Idempotency-Key": {"mine"}}}, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		sends(text("ok")+frame("{}", "stop")+doneFrame)(w, r)
	})
	r := hello()
	r.IdempotencyKey = "run-1:1"
	if _, err := p.Complete(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"X-Title": "openclawd", "Authorization": "Bearer " + testKey, "Content-Type": "application/json",
		"Accept-Encoding": "", "Idempotency-Key": "run-1:1"} {
		if got.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Get(name), want)
		}
	}
}

// A header is as secret as a key, and so is the token within it.
func TestHeadersAreInNoError(t *testing.T) {
	t.Parallel()
	const token = "zq9-0123456789-header"
	p := serve(t, Options{Headers: http.Header{"X-Auth": {"Bearer " + token}}}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":{"message":"wrong key `+strings.TrimPrefix(r.Header.Get("X-Auth"), "Bearer ")+`, sent as `+r.Header.Get("X-Auth")+`"}}`)
	})
	_, err := p.Complete(context.Background(), hello(), nil)
	var e *llm.Error
	if !errors.As(err, &e) || e.Class != llm.Auth || strings.Contains(fmt.Sprintf("%v %+v", err, *e), token) {
		t.Errorf("got %v", err)
	}
	if shown := fmt.Sprintf("%v %+v %#v", p, p, p); strings.Contains(shown, token) {
		t.Errorf("printing a provider shows a header: %s", shown)
	}
}
