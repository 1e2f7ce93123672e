package playback

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Limits of one connection, the same as the server's.
const (
	readHeaderTime = 10 * time.Second
	readTime       = 30 * time.Second
	writeTime      = time.Minute
	idleTime       = 2 * time.Minute
	maxHeaderBytes = 64 << 10
	drainTime      = 2 * time.Second
)

// refusal is the API's answer to requests that playback cannot serve.
type refusal struct {
	Error string `json:"error"`
	Code  string `json:"code"`
	Hint  string `json:"hint"`
}

// ReadOnly passes on only requests that change nothing and ask for nothing outside the log.
func (p *Player) ReadOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method != http.MethodGet && r.Method != http.MethodHead && r.Method != http.MethodOptions:
			head, _ := p.Head(r.Context()) // never fails
			was := &eventstore.PastError{Seq: head.Seq}
			w.Header().Set("Allow", "OPTIONS, GET, HEAD")
			refuse(w, http.StatusMethodNotAllowed, refusal{was.Error(), was.Code(), "ask the live server"})
		case r.URL.Path == milestones || strings.HasPrefix(r.URL.Path, milestones+"/"):
			refuse(w, http.StatusBadRequest, refusal{"Milestones are stored in Task-Hub, not in the log", "as_of_not_supported", "ask the live server"})
		default:
			next.ServeHTTP(w, r)
		}
	})
}

const milestones = "/api/milestones"

func refuse(w http.ResponseWriter, status int, why refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(why) // the client may be gone
}

// Serve serves listener until ctx ends, and then finishes the requests under way.
func Serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: readHeaderTime, ReadTimeout: readTime, WriteTimeout: writeTime, IdleTimeout: idleTime,
		MaxHeaderBytes: maxHeaderBytes}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	draining, stop := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer stop()
	err := server.Shutdown(draining)
	if errors.Is(err, context.DeadlineExceeded) {
		err = server.Close()
	}
	if ended := <-ended; !errors.Is(ended, http.ErrServerClosed) {
		return ended
	}
	return err
}
