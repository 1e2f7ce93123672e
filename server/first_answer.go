package server

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/internal/wait"
)

// firstAnswerTime is how long work waits for the first answer of the API.
const firstAnswerTime = 250 * time.Millisecond

// firstAnswer makes work that grows with files or history wait until the first request is answered: it takes all
// processors for a while. No answer depends on that work, or it says so.
type firstAnswer struct {
	once  sync.Once
	given chan struct{}
}

func newFirstAnswer() *firstAnswer { return &firstAnswer{given: make(chan struct{})} }

// of notes the first answer of a handler.
func (f *firstAnswer) of(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler.ServeHTTP(w, r)
		f.once.Do(func() { close(f.given) })
	})
}

// wait returns after the first answer, after a moment without a request, or when ctx ends.
func (f *firstAnswer) wait(ctx context.Context) { wait.Woken(ctx, f.given, firstAnswerTime) }
