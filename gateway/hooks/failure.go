package hooks

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/run"
)

// failure is the answer to a request that was not accepted. Nothing has changed then. OpenClaw has ok and error.
type failure struct {
	status int
	again  time.Duration // retry delay; 0 is left out

	OK      bool   `json:"ok"`
	Message string `json:"error"`
	Code    string `json:"code"`
	Field   string `json:"field,omitempty"`
	Value   string `json:"value,omitempty"`
	Hint    string `json:"hint,omitempty"`
}

func failureOf[D any](r *coordination.Refusal[D], status int) *failure {
	return &failure{status: status, Code: r.Reason, Message: r.Text, Field: r.Field, Value: r.Value, Hint: r.HintText}
}

// busyAgain is the retry delay if too many runs wait.
const busyAgain = 5 * time.Second

// refused is the answer for a run that was not queued.
func (s *Server) refused(err error) *failure {
	if busy, is := errors.AsType[*run.Busy](err); is {
		return &failure{status: http.StatusTooManyRequests, again: busyAgain, Code: busy.Code(), Message: busy.Error(), Field: "sessionKey", Value: busy.SessionKey, Hint: busy.Hint()}
	}
	if no, is := errors.AsType[*run.Refusal](err); is {
		status := http.StatusBadRequest
		if no.Reason == run.CodeNotAllowed {
			status = http.StatusForbidden
		}
		return failureOf(no, status)
	}
	return s.broken(err)
}

func (s *Server) broken(err error) *failure {
	s.o.Logger.Error("cannot accept a request to a hook", "err", err)
	return &failure{status: http.StatusServiceUnavailable, again: busyAgain, Code: "unavailable", Message: "the request could not be stored", Hint: "send it again, with the same idempotency key"}
}

// refuse answers a request that was not accepted. Of the request, only the path and the address are logged.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, path string, why *failure) {
	s.o.Logger.Info("request to a hook refused", "code", why.Code, "client", r.RemoteAddr, "path", coordination.Quoted(path))
	header := w.Header()
	if why.again > 0 {
		header.Set("Retry-After", strconv.Itoa(int(why.again/time.Second)))
	}
	switch why.status {
	case http.StatusMethodNotAllowed:
		header.Set("Allow", http.MethodPost)
	case http.StatusUnauthorized:
		header.Set("WWW-Authenticate", "Bearer")
	case http.StatusRequestTimeout, http.StatusRequestEntityTooLarge:
		header.Set("Connection", "close") // the rest of the body is not read
	}
	writeJSON(w, why.status, why)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a sender that has left does not read it
}
