package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"
)

func TestWorkWaitsForTheFirstAnswer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		asked, want time.Duration // after the start
	}{
		"a client asks": {30 * time.Millisecond, 50 * time.Millisecond},
		"no one asks":   {time.Hour, firstAnswerTime},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				const answering = 20 * time.Millisecond
				f := newFirstAnswer()
				handler := f.of(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { <-time.After(answering) }))
				start := time.Now()
				for range 2 {
					time.AfterFunc(c.asked, func() { handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil)) })
				}
				f.wait(t.Context())
				if took := time.Since(start); took != c.want {
					t.Errorf("work waited for %s, want %s", took, c.want)
				}
			})
		})
	}
}
