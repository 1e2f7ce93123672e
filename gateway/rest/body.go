package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Bounds of the bodies of requests.
const (
	maxInvoke = 2 << 20
	maxAsk    = 1 << 20
)

// failure is why a request is not done, in the shape of OpenAI's API.
type failure struct {
	status int
	again  time.Duration // after which it may be tried again; 0 is not told
	once   bool          // clients that would try again by themselves are told not to: an agent has worked on it

	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Types of failures.
const (
	typeInvalid = "invalid_request_error"
	typeServer  = "api_error"
)

func invalid(message, param, code string) *failure {
	return &failure{status: http.StatusBadRequest, Message: message, Type: typeInvalid, Param: orNull(param), Code: orNull(code)}
}

func internalError() *failure {
	return &failure{status: http.StatusInternalServerError, Message: "internal error", Type: typeServer, Code: orNull("internal_error")}
}

// stopping is told where the gateway ends before the answer is there.
func stopping() *failure {
	return &failure{status: http.StatusServiceUnavailable, again: time.Second, Message: "the gateway is stopping", Type: typeServer, Code: orNull("stopping")}
}

func orNull(text string) *string {
	if text == "" {
		return nil
	}
	return &text
}

func (s *Server) fail(w http.ResponseWriter, f *failure) {
	if f.again > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(f.again.Round(time.Second)/time.Second)))
	}
	if f.once {
		w.Header().Set("X-Should-Retry", "false")
	}
	s.tell(w, f.status, failureBody{f})
}

// failureBody is a failure as it is told.
type failureBody struct {
	Error *failure `json:"error"`
}

// tell answers with JSON. A client that does not take it in time is cut off.
func (s *Server) tell(w http.ResponseWriter, status int, body any) {
	text, err := encoded(body)
	if err != nil {
		s.opts.Logger.Error("an answer cannot be told", "err", err)
		status, text = http.StatusInternalServerError, []byte(`{"error":{"message":"internal error","type":"api_error","param":null,"code":null}}`)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.writeTime(len(text)))) // one that has no deadlines waits
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (s *Server) writeTime(bytes int) time.Duration {
	return s.opts.WriteTime * time.Duration(1+bytes>>20)
}

// encoded is JSON that leaves <, > and & as they are, with a line end.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// fields are the members of an object that a client has sent.
type fields map[string]json.RawMessage

// read reads the object that is the body of a request, all of it: only then the server notices that a client leaves.
func read(w http.ResponseWriter, r *http.Request, limit int64) (fields, *failure) {
	tooLarge := &failure{status: http.StatusRequestEntityTooLarge, Type: typeInvalid, Code: orNull("request_too_large"),
		Message: "the request is too large: at most " + strconv.FormatInt(limit, 10) + " bytes are read"}
	if r.ContentLength > limit {
		w.Header().Set("Connection", "close")
		return nil, tooLarge
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if tooMany := (*http.MaxBytesError)(nil); errors.As(err, &tooMany) {
		return nil, tooLarge
	}
	if err != nil {
		return nil, invalid("the request could not be read whole", "", "incomplete_request")
	}
	var f fields
	switch err := json.Unmarshal(text, &f); {
	case err != nil && json.Valid(text), err == nil && f == nil:
		return nil, invalid("the request must be a JSON object", "", "invalid_json")
	case err != nil:
		return nil, invalid("the request is not valid JSON: "+err.Error(), "", "invalid_json")
	}
	return f, nil
}

// has reports whether there is a member that is not null.
func (f fields) has(name string) bool {
	raw, has := f[name]
	return has && string(raw) != "null"
}

// into reads a member, if there is one, and says what it should be where it is not.
func (f fields) into(name, want string, target any) *failure {
	if f.has(name) && json.Unmarshal(f[name], target) != nil {
		return invalid("`"+name+"` must be "+want, name, "invalid_type")
	}
	return nil
}
