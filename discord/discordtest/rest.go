package discordtest

import (
	"bytes"
	"encoding/json"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"regexp"
	"strings"
)

const maxBody = 25 << 20

type call struct {
	r     *http.Request
	by    *account // nil if a token in the path suffices
	body  []byte   // JSON
	files []Attachment
}

func (c *call) path(name string) string { return c.r.PathValue(name) }

func (c *call) query(name string) string { return c.r.URL.Query().Get(name) }

// decode parses the body into v. A missing body is an empty one.
func (c *call) decode(v any) *Error {
	if len(c.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(c.body, v); err != nil {
		return badRequest(CodeInvalidBody, "The request body contains invalid JSON.")
	}
	return nil
}

// handler handles a request under the lock. It returns the body of the answer; nil is 204, a created is 201.
type handler func(c *call) (any, *Error)

type created struct{ body any }

// content is an answer that is no JSON.
type content struct {
	kind string
	body []byte
}

type route struct {
	name   string // method and pattern, used by faults, limits and inspection
	do     handler
	open   bool   // requires no bot token
	bucket string // routes with the same bucket share a limit; default: name
}

func (s *Server) routes() []route {
	var all []route
	for _, some := range [][]route{s.generalRoutes(), s.guildRoutes(), s.channelRoutes(), s.messageRoutes(), s.reactionRoutes(),
		s.threadRoutes(), s.webhookRoutes(), s.interactionRoutes(), s.commandRoutes()} {
		all = append(all, some...)
	}
	return all
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	for _, r := range s.routes() {
		method, pattern, _ := strings.Cut(r.name, " ")
		for _, version := range []string{"/api/v9", "/api/v10"} {
			mux.Handle(method+" "+version+pattern, s.serve(r))
		}
	}
	mux.HandleFunc("/gateway", s.serveGateway)
	mux.HandleFunc("/gateway/", s.serveGateway)
	mux.Handle("GET /attachments/{channel}/{file}/{name}", s.serve(route{name: fileRoute, open: true, do: s.readFile}))
	mux.Handle("/", s.serve(route{name: "unknown", open: true, do: func(*call) (any, *Error) {
		return nil, &Error{Status: http.StatusNotFound, Message: "404: Not Found"}
	}}))
	return mux
}

func (s *Server) serve(r route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, err := io.ReadAll(http.MaxBytesReader(w, req.Body, maxBody))
		if err != nil {
			writeError(w, &Error{Status: http.StatusRequestEntityTooLarge, Code: 40005, Message: "Request entity too large"})
			return
		}
		c := &call{r: req}
		refusal := c.read(body)

		s.mu.Lock()
		c.by = s.authorised(req)
		record, effect := s.arrived(r, c)
		s.mu.Unlock()

		if effect.before != nil && !effect.before(s, w, req) {
			s.answered(record, 0)
			return
		}

		s.mu.Lock()
		status, headers, answer := s.answer(r, c, refusal, effect)
		s.mu.Unlock()
		if effect.denied != nil && status < http.StatusMultipleChoices {
			status, headers, answer = effect.denied()
		}
		if effect.after != nil && !effect.after(s, w, req) {
			s.answered(record, 0)
			return
		}
		for name, values := range headers {
			w.Header()[name] = values
		}
		s.answered(record, status)
		if status != http.StatusNoContent && w.Header().Get("Content-Type") == "" {
			w.Header().Set("Content-Type", "application/json")
		}
		w.WriteHeader(status)
		_, _ = w.Write(answer) // a client that has left reads nothing
	})
}

// answer runs the handler, or refuses the request. The lock is held.
func (s *Server) answer(r route, c *call, refusal *Error, effect Effect) (int, http.Header, []byte) {
	if effect.instead != nil {
		return effect.instead()
	}
	if refusal == nil {
		refusal = s.admit(r, c)
	}
	headers := http.Header{}
	if refusal == nil {
		if limited, status, answer := s.charge(r, c, headers); limited {
			return status, headers, answer
		}
	}
	var body any
	if refusal == nil {
		body, refusal = r.do(c)
	}
	status := http.StatusOK
	switch made, is := body.(created); {
	case refusal != nil:
		status, body = refusal.Status, refusal
	case is:
		status, body = http.StatusCreated, made.body
	case body == nil:
		return http.StatusNoContent, headers, nil
	}
	if file, is := body.(content); is {
		headers.Set("Content-Type", file.kind)
		return status, headers, file.body
	}
	return status, headers, encode(body)
}

// admit checks authorization and the form of ids.
func (s *Server) admit(r route, c *call) *Error {
	if !r.open {
		switch {
		case c.by == nil || c.by.refusal == http.StatusUnauthorized:
			return unauthorized()
		case c.by.refusal != 0:
			return &Error{Status: c.by.refusal, Code: CodeMissingAccess, Message: "Missing Access"}
		}
	}
	for _, m := range pathNames.FindAllStringSubmatch(r.name, -1) {
		name, value := m[1], c.path(m[1])
		if name == "emoji" || name == "token" || isSnowflake(value) || value == "@me" || name == "message" && value == "@original" {
			continue
		}
		return invalidForm(name+"_id", "NUMBER_TYPE_COERCE", `Value "`+value+`" is not snowflake.`)
	}
	return nil
}

var pathNames = regexp.MustCompile(`\{(\w+)\}`)

// authorised returns the bot whose token the request has, or nil.
func (s *Server) authorised(r *http.Request) *account {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bot ")
	if !is {
		return nil
	}
	return s.byToken(token)
}

func (s *Server) byToken(token string) *account {
	for _, a := range s.bots {
		if a.token == token {
			return a
		}
	}
	return nil
}

// read parses the JSON and the names of files of a body.
func (c *call) read(body []byte) *Error {
	kind, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		c.body = body
		return nil
	}
	invalid := badRequest(CodeInvalidForm, "Invalid Form Body")
	parts := multipart.NewReader(bytes.NewReader(body), params["boundary"])
	for {
		part, err := parts.NextPart()
		if err == io.EOF {
			return nil
		} else if err != nil {
			return invalid
		}
		content, err := io.ReadAll(part)
		if err != nil {
			return invalid
		}
		if part.FormName() == "payload_json" {
			c.body = content
		} else if part.FileName() != "" {
			c.files = append(c.files, Attachment{Filename: part.FileName(), ContentType: part.Header.Get("Content-Type"), Size: len(content), Content: content})
		}
	}
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("discordtest: encode an answer: " + err.Error())
	}
	return text
}

func writeError(w http.ResponseWriter, e *Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Status)
	_, _ = w.Write(encode(e))
}
