package slacktest

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"
)

// Use is a use of a button or command by a person.
type Use struct {
	s   *Server
	own *use
}

// use is how an app has answered it.
type use struct {
	app     *app
	by      string
	in      *conversation
	on      *message // the button's message; nil for commands
	at      time.Time
	answers int // to its response_url
	state   UseState
}

// UseState is what the person sees.
type UseState struct {
	Acked  bool
	Failed bool     // Slack says that the app did not respond
	Shown  []string // answers that only the person sees
}

// State returns what the person sees.
func (u *Use) State() UseState {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	return u.own.state
}

// Limits of a response_url.
const (
	maxAnswers = 5
	answerTime = 30 * time.Minute
)

// ErrNoButton and ErrNoCommand are errors of people who use what is not there.
var (
	ErrNoButton  = errors.New("slacktest: the message has no such button")
	ErrNoCommand = errors.New("slacktest: no app has this command")
)

// Press presses a button. The use is answered later.
func (p *Person) Press(channelID, ts, actionID string) (*Use, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := p.in(channelID)
	if err != nil {
		return nil, err
	}
	m := v.message(ts)
	if m == nil {
		return nil, refuse("message_not_found")
	}
	block, action, found := button(m.Blocks, actionID)
	if !found {
		return nil, ErrNoButton
	}
	a := s.appOf(m.User)
	u, answerURL := s.use(a, p.ID, v, m)
	action["action_ts"], action["block_id"] = s.stamp(), block
	container := map[string]any{"type": "message", "message_ts": m.TS, "channel_id": v.id, "is_ephemeral": false}
	told := m.Message
	if told.ThreadTS != "" {
		container["thread_ts"] = told.ThreadTS
	}
	payload := encode(map[string]any{
		"type": "block_actions", "user": s.short(p.ID), "api_app_id": a.id, "token": "legacy", "container": container, "trigger_id": s.trigger(),
		"team": map[string]any{"id": TeamID, "domain": "lab"}, "enterprise": nil, "is_enterprise_install": false,
		"channel": map[string]any{"id": v.id, "name": shownName(v)}, "message": told, "state": map[string]any{"values": map[string]any{}},
		"response_url": answerURL, "actions": []any{action},
	})
	s.deliver(u.delivery(s, interactive, payload))
	return &Use{s: s, own: u}, nil
}

// Slash uses a slash command, e.g. "/ask". The use is answered later.
func (p *Person) Slash(channelID, command, text string) (*Use, error) {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	v, err := p.in(channelID)
	if err != nil {
		return nil, err
	}
	for _, a := range s.apps {
		for _, own := range a.commands {
			if own != command {
				continue
			}
			u, answerURL := s.use(a, p.ID, v, nil)
			payload := encode(map[string]string{
				"token": "legacy", "team_id": TeamID, "team_domain": "lab", "channel_id": v.id, "channel_name": shownName(v), "user_id": p.ID,
				"user_name": s.users[p.ID].Name, "command": command, "text": text, "api_app_id": a.id, "is_enterprise_install": "false",
				"response_url": answerURL, "trigger_id": s.trigger(),
			})
			s.deliver(u.delivery(s, slash, payload))
			return &Use{s: s, own: u}, nil
		}
	}
	return nil, ErrNoCommand
}

// use registers a use; the address is where the app may answer it.
func (s *Server) use(a *app, by string, v *conversation, on *message) (u *use, address string) {
	u = &use{app: a, by: by, in: v, on: on, at: s.o.Now()}
	key := secret(16)
	s.uses[key] = u
	return u, "http://" + s.address + "/respond/" + key
}

func (u *use) delivery(s *Server, kind string, payload []byte) *delivery {
	return &delivery{s: s, app: u.app, kind: kind, payload: payload, failed: func() { u.state.Failed = true }, done: func(body []byte) {
		u.state.Acked = true
		if kind != slash || len(body) == 0 {
			return
		}
		r := response{}
		if json.Unmarshal(body, &r) != nil {
			r.Text = string(body)
		}
		if r.Text != "" || len(r.Blocks) > 0 {
			_ = s.respond(u, r) // what cannot be shown is not shown
		}
	}}
}

func (s *Server) trigger() string { return s.id("Tr") + ".1." + secret(8) }

func (s *Server) short(user string) map[string]any {
	u := s.users[user]
	return map[string]any{"id": u.ID, "username": u.Name, "name": u.Name, "team_id": TeamID}
}

func shownName(v *conversation) string {
	switch v.kind {
	case Direct:
		return "directmessage"
	case Private:
		return "privategroup"
	}
	return v.name
}

// button finds an action in a message's blocks.
func button(blocks []json.RawMessage, id string) (block string, action map[string]any, found bool) {
	for _, raw := range blocks {
		var b struct {
			Type     string           `json:"type"`
			ID       string           `json:"block_id"`
			Elements []map[string]any `json:"elements"`
		}
		if json.Unmarshal(raw, &b) != nil || b.Type != "actions" {
			continue
		}
		for _, e := range b.Elements {
			if e["type"] == "button" && e["action_id"] == id {
				return b.ID, e, true
			}
		}
	}
	return "", nil, false
}

// response is what an app sends to a response_url.
type response struct {
	Text     string            `json:"text"`
	Blocks   []json.RawMessage `json:"blocks"`
	Type     string            `json:"response_type"`
	Replace  bool              `json:"replace_original"`
	Delete   bool              `json:"delete_original"`
	ThreadTS string            `json:"thread_ts"`
}

func (s *Server) serveResponse(w http.ResponseWriter, r *http.Request) {
	args, err := read(r)
	if err != nil {
		http.Error(w, "invalid_payload", http.StatusBadRequest)
		return
	}
	key := r.PathValue("secret")
	s.serve(w, r, "respond", "", args, func(c *call) result {
		u := s.uses[key]
		if u == nil || s.o.Now().Sub(u.at) > answerTime {
			return jsonStatus(http.StatusNotFound, refuse("expired_url"))
		}
		if u.answers >= maxAnswers {
			return jsonStatus(http.StatusNotFound, refuse("used_url"))
		}
		to := response{Text: c.text("text"), Type: c.text("response_type"), Replace: c.flag("replace_original"), Delete: c.flag("delete_original"),
			ThreadTS: c.text("thread_ts")}
		if refusal := c.object("blocks", &to.Blocks); refusal != nil {
			return jsonStatus(http.StatusBadRequest, refusal)
		}
		if refusal := s.respond(u, to); refusal != nil {
			return jsonStatus(http.StatusBadRequest, refusal)
		}
		u.answers++
		return result{status: http.StatusOK, body: encode(map[string]bool{"ok": true})}
	})
}

func jsonStatus(status int, refusal *Error) result {
	return result{status: status, body: encode(refusal.body())}
}

// respond shows an app's answer to a use. The lock is held.
func (s *Server) respond(u *use, r response) *Error {
	switch {
	case r.Delete && u.on != nil:
		s.remove(u.on)
		return nil
	case r.Replace && u.on != nil:
		d := draft{text: r.Text, blocks: r.Blocks}
		if refusal := d.check(); refusal != nil {
			return refusal
		}
		s.change(u.on, u.app.user, func() { u.on.Text, u.on.Blocks = r.Text, r.Blocks })
		return nil
	}
	d := draft{text: r.Text, blocks: r.Blocks, threadTS: r.ThreadTS}
	if refusal := d.check(); refusal != nil {
		return refusal
	}
	if r.Type == "in_channel" {
		_, refusal := s.write(u.in, u.app.author(), d)
		return refusal
	}
	u.state.Shown = append(u.state.Shown, d.text)
	s.happened()
	return nil
}
