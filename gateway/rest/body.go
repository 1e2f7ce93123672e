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

// Limits of request bodies.
const (
	maxInvoke = 2 << 20
	maxAsk    = 1 << 20
)

type failure struct {
	status int
	again  time.Duration // retry delay; 0 is left out
	once   bool          // tells clients that retry on their own not to: an agent has worked on it

	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
	Code    *string `json:"code"`
}

// Types of errors.
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

// gatewayStopping is the error if the gateway stops before the answer is there.
func gatewayStopping() *failure {
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
	s.writeJSON(w, f.status, failureBody{f})
}

type failureBody struct {
	Error *failure `json:"error"`
}

// writeJSON sends JSON. A client that reads too slowly is disconnected.
func (s *Server) writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := encoded(body)
	if err != nil {
		s.opts.Logger.Error("cannot encode an answer", "err", err)
		status, text = http.StatusInternalServerError, []byte(`{"error":{"message":"internal error","type":"api_error","param":null,"code":null}}`)
	}
	header := w.Header()
	header.Set("Content-Type", "application/json; charset=utf-8")
	header.Set("Cache-Control", "no-store")
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(s.writeTime(len(text)))) // a connection without deadlines blocks
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func (s *Server) writeTime(bytes int) time.Duration {
	return s.opts.WriteTime * time.Duration(1+bytes>>20)
}

// encoded is JSON without HTML escaping, with a final newline.
func encoded(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

type fields map[string]json.RawMessage

// read parses the request body, which must be an object. It reads all of it: only then does the server notice that a
// client leaves.
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
		return nil, invalid("the request body was cut short", "", "incomplete_request")
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

// has reports whether a member is present and not null.
func (f fields) has(name string) bool {
	raw, has := f[name]
	return has && string(raw) != "null"
}

// into decodes a member if present; the error says what it should be.
func (f fields) into(name, want string, target any) *failure {
	if f.has(name) && json.Unmarshal(f[name], target) != nil {
		return invalid("`"+name+"` must be "+want, name, "invalid_type")
	}
	return nil
}
