package slacktest

import (
	"encoding/json"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const maxBody = 25 << 20

// call is one request to the Web API.
type call struct {
	s      *Server
	method string
	app    *app
	level  bool // the token is the one of the app, not of its bot
	args   map[string]string
	share  <-chan struct{} // of the fault
}

func (c *call) text(name string) string { return c.args[name] }

func (c *call) flag(name string) bool { return c.args[name] == "true" || c.args[name] == "1" }

// number returns an argument within 1 and most, or the usual one.
func (c *call) number(name string, usual, most int) int {
	n, err := strconv.Atoi(c.args[name])
	if err != nil || n < 1 {
		return usual
	}
	return min(n, most)
}

// object parses an argument in JSON; a missing one is left as it is.
func (c *call) object(name string, v any) *Error {
	text := c.args[name]
	if text == "" {
		return nil
	}
	if json.Unmarshal([]byte(text), v) != nil {
		return refuse("invalid_" + name)
	}
	return nil
}

// conversation returns one that the app may see. right is the scope for it, after the kind: history or read.
func (c *call) conversation(right string) (*conversation, *Error) {
	found := c.s.conversations[c.text("channel")]
	if found == nil || found.kind != Public && !found.has(c.app.user) {
		return nil, refuse("channel_not_found")
	}
	if right != "" {
		if refusal := c.need(found.scopePrefix() + ":" + right); refusal != nil {
			return nil, refusal
		}
	}
	return found, nil
}

func (c *call) need(scope string) *Error {
	if c.app.may(scope) {
		return nil
	}
	return &Error{Code: "missing_scope", Needed: scope, Provided: strings.Join(c.app.scopes, ",")}
}

// answer is the body of a successful answer, without ok.
type answer = map[string]any

type method struct {
	scope string // of the bot token; "" depends on the conversation, or none
	level bool   // the app's token is needed
	do    func(c *call) (answer, *Error)
}

func methods() map[string]method {
	return map[string]method{
		"apps.connections.open":        {level: true, do: openConnection},
		"auth.test":                    {do: authTest},
		"bots.info":                    {scope: "users:read", do: botInfo},
		"users.info":                   {scope: "users:read", do: userInfo},
		"users.list":                   {scope: "users:read", do: listUsers},
		"conversations.list":           {do: listConversations},
		"users.conversations":          {do: ownConversations},
		"conversations.info":           {do: conversationInfo},
		"conversations.members":        {do: listMembers},
		"conversations.history":        {do: history},
		"conversations.replies":        {do: replies},
		"conversations.open":           {do: openConversation},
		"chat.postMessage":             {scope: "chat:write", do: postMessage},
		"chat.postEphemeral":           {scope: "chat:write", do: postEphemeral},
		"chat.update":                  {scope: "chat:write", do: updateMessage},
		"chat.delete":                  {scope: "chat:write", do: deleteMessage},
		"reactions.add":                {scope: "reactions:write", do: addReaction},
		"reactions.remove":             {scope: "reactions:write", do: removeReaction},
		"files.getUploadURLExternal":   {scope: "files:write", do: uploadURL},
		"files.completeUploadExternal": {scope: "files:write", do: completeUpload},
	}
}

// result is an answer in HTTP. The zero header and kind are those of JSON.
type result struct {
	status int
	header http.Header
	kind   string
	body   []byte
}

func (s *Server) handler() http.Handler {
	mux := http.NewServeMux()
	all := methods()
	mux.HandleFunc("/api/{method}", func(w http.ResponseWriter, r *http.Request) {
		name := r.PathValue("method")
		m, known := all[name]
		args, err := read(r)
		if err != nil {
			s.send(w, result{status: http.StatusOK, body: encode(refuse("invalid_form_data").body())})
			return
		}
		token := tokenOf(r, args)
		s.serve(w, r, name, token, args, func(c *call) result {
			if !known {
				return jsonResult(nil, refuse("unknown_method"))
			}
			return s.invoke(c, m)
		})
	})
	mux.HandleFunc("POST /upload/{file}", s.serveUpload)
	mux.HandleFunc("GET /files-pri/{file}/download/{name}", s.serveDownload)
	mux.HandleFunc("POST /respond/{secret}", s.serveResponse)
	mux.HandleFunc("GET /link/", s.serveSocket)
	return mux
}

// serve records a request, applies its fault, and answers it with what do returns. The lock is held while do runs.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, method, token string, args map[string]string, do func(c *call) result) {
	c := &call{s: s, method: method, args: args}
	s.mu.Lock()
	c.app, c.level = s.byToken(token)
	record := &Request{At: s.o.Now(), Method: method, Channel: args["channel"], Args: args}
	if c.app != nil {
		record.App = c.app.id
	}
	effect := s.faults.For(*record)
	c.share = effect.share
	record.Fault = effect.name
	s.requests = append(s.requests, record)
	s.happened()
	s.mu.Unlock()

	if effect.before != nil && !effect.before(s, w, r) {
		s.answered(record, result{})
		return
	}
	var answer result
	if effect.instead != nil {
		answer = effect.instead()
	} else {
		s.mu.Lock()
		answer = do(c)
		s.mu.Unlock()
	}
	if effect.after != nil && !effect.after(s, w, r) {
		s.answered(record, result{})
		return
	}
	s.answered(record, answer)
	s.send(w, answer)
}

func (s *Server) answered(record *Request, a result) {
	var said struct {
		Error string `json:"error"`
	}
	_ = json.Unmarshal(a.body, &said) // a page has none
	s.mu.Lock()
	defer s.mu.Unlock()
	record.Status, record.Error, record.Over = a.status, said.Error, true
	s.happened()
}

// invoke runs a method, or refuses it. The lock is held.
func (s *Server) invoke(c *call, m method) result {
	switch {
	case c.app == nil:
		return jsonResult(nil, refuse("invalid_auth"))
	case c.app.refusal != "":
		return jsonResult(nil, refuse(c.app.refusal))
	case m.level != c.level:
		return jsonResult(nil, refuse("not_allowed_token_type"))
	}
	if refusal := c.need(m.scope); refusal != nil && !m.level {
		return jsonResult(nil, refusal)
	}
	if wait := s.charge(c); wait > 0 {
		return tooMany(wait)
	}
	body, refusal := m.do(c)
	a := jsonResult(body, refusal)
	if !c.level {
		a.header = http.Header{"X-Oauth-Scopes": {strings.Join(c.app.scopes, ",")}, "X-Accepted-Oauth-Scopes": {m.scope}}
	}
	return a
}

func jsonResult(body answer, refusal *Error) result {
	if refusal != nil {
		return result{status: http.StatusOK, body: encode(refusal.body())}
	}
	if body == nil {
		body = answer{}
	}
	body["ok"] = true
	return result{status: http.StatusOK, body: encode(body)}
}

func (s *Server) send(w http.ResponseWriter, a result) {
	w.Header().Set("Date", s.o.Now().UTC().Format(http.TimeFormat))
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if a.kind == "" {
		a.kind = "application/json; charset=utf-8"
	}
	w.Header().Set("Content-Type", a.kind)
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body) // a client that has left reads nothing
}

// byToken returns the app of a token, and whether it is the one of the app instead of its bot. The lock is held.
func (s *Server) byToken(token string) (own *app, level bool) {
	for _, a := range s.apps {
		if token != "" && (a.token == token || a.appToken == token) {
			return a, a.appToken == token
		}
	}
	return nil, false
}

// tokenOf returns the token of a request, and removes it from its arguments.
func tokenOf(r *http.Request, args map[string]string) string {
	token, is := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !is {
		token = args["token"]
	}
	delete(args, "token")
	return token
}

// read returns the arguments of a request as text: lists and objects as JSON, as in forms.
func read(r *http.Request) (map[string]string, error) {
	args := map[string]string{}
	for name, values := range r.URL.Query() {
		args[name] = values[0]
	}
	kind := r.Header.Get("Content-Type")
	switch {
	case strings.HasPrefix(kind, "application/json"):
		body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
		if err != nil || len(body) == 0 {
			return args, err
		}
		var all map[string]json.RawMessage
		if err := json.Unmarshal(body, &all); err != nil {
			return nil, err
		}
		for name, raw := range all {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			args[name] = text
		}
	case strings.HasPrefix(kind, "multipart/form-data"):
		if err := r.ParseMultipartForm(maxBody); err != nil {
			return nil, err
		}
		for name, values := range r.MultipartForm.Value {
			args[name] = values[0]
		}
	default:
		if err := r.ParseForm(); err != nil {
			return nil, err
		}
		for name, values := range r.PostForm {
			args[name] = values[0]
		}
	}
	return args, nil
}

func encode(v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("slacktest: encode an answer: " + err.Error())
	}
	return text
}

// after reports whether a timestamp is later than another.
func after(ts, other string) bool { return parseTS(ts) > parseTS(other) }

// parseTS returns a timestamp in microseconds; 0 if it is none.
func parseTS(ts string) int64 {
	whole, part, _ := strings.Cut(ts, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0
	}
	micros, _ := strconv.ParseInt((part + "000000")[:6], 10, 64)
	return seconds*int64(time.Second/time.Microsecond) + micros
}
