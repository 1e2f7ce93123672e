package discordtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// Request is a client's request.
type Request struct {
	At      time.Time
	Bot     string // id; empty without a bot's token
	Method  string
	Route   string // method and pattern; "unknown" for an unknown route
	Path    string // below /api/vN, with query
	Channel string // id in the path
	Body    json.RawMessage
	Nonce   string
	Fault   string // the fault applied
	Status  int    // 0: not answered, or not yet
	Over    bool
}

// Requests returns all requests in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := make([]Request, len(s.requests))
	for i, r := range s.requests {
		all[i] = *r
	}
	return all
}

// RequestsTo returns the requests that match.
func (s *Server) RequestsTo(m Match) []Request {
	return slices.DeleteFunc(s.Requests(), func(r Request) bool { return !m.Matches(r) })
}

func (s *Server) arrived(r route, c *call) (*Request, Effect) {
	record := &Request{At: s.now(), Method: c.r.Method, Route: r.name, Channel: c.path("channel"), Path: below(c.r), Nonce: nonceOf(c.body)}
	if c.by != nil {
		record.Bot = c.by.ID
	}
	if json.Valid(c.body) {
		record.Body = slices.Clone(c.body)
	}
	effect := s.faults.For(*record)
	record.Fault = effect.name
	s.requests = append(s.requests, record)
	s.happened()
	return record, effect
}

func (s *Server) answered(record *Request, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	record.Status, record.Over = status, true
	s.happened()
}

func below(r *http.Request) string {
	parts := strings.SplitN(r.URL.RequestURI(), "/", 4) // "", api, vN, rest
	if len(parts) < 4 || parts[1] != "api" {
		return r.URL.RequestURI()
	}
	return "/" + parts[3]
}

// nonceOf is the nonce in a body, as text.
func nonceOf(body []byte) string {
	var b struct {
		Nonce json.RawMessage `json:"nonce"`
	}
	if json.Unmarshal(body, &b) != nil {
		return ""
	}
	return nonceText(b.Nonce)
}

func nonceText(raw json.RawMessage) string {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// Channel returns a channel or thread; false if there is none.
func (s *Server) Channel(id string) (Channel, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[id]
	if c == nil {
		return Channel{}, false
	}
	return c.public(), true
}

// Messages returns a channel's messages, oldest first, including system messages.
func (s *Server) Messages(channelID string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channelID]
	if c == nil {
		return nil
	}
	all := make([]Message, len(c.messages))
	for i, m := range c.messages {
		all[i] = s.messageFor(m, nil)
	}
	return all
}

// Threads returns a channel's threads, archived ones too, in order of creation.
func (s *Server) Threads(parentID string) []Channel {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Channel
	for _, c := range s.threadsOf(func(c *channel) bool { return c.parent() == parentID }) {
		all = append(all, c.public())
	}
	return all
}

// Dispatch is one event for one session.
type Dispatch struct {
	Bot     string // id
	Session string
	Seq     int64
	Type    string
	Data    json.RawMessage
	Written bool // to a socket, at least once
}

// Dispatches returns a bot's dispatches over all its existing sessions, oldest first.
func (s *Server) Dispatches(botID string) []Dispatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Dispatch
	for _, g := range s.sessions {
		if g.bot.ID == botID {
			for _, e := range g.log {
				all = append(all, e.Dispatch)
			}
		}
	}
	return all
}

// Connected returns the ids of the bots with a connected session, in the order of AddBot.
func (s *Server) Connected() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, b := range s.bots {
		if s.connected(b) {
			all = append(all, b.ID)
		}
	}
	return all
}

func (s *Server) connected(b *account) bool {
	return slices.ContainsFunc(s.sessions, func(g *gatewaySession) bool { return g.bot == b && g.socket != nil })
}

// Heartbeats is the number of heartbeats on the bot's current sockets. discordgo sends one as soon as it is connected,
// and closes the next socket as well if it cannot: before cutting a socket that is to be resumed, wait for the first
// one.
func (s *Server) Heartbeats(botID string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.sessions {
		if g.bot.ID == botID && g.socket != nil {
			n += g.socket.beats
		}
	}
	return n
}

// FileOf returns the content of a message's file.
func (s *Server) FileOf(f Attachment) []byte {
	u, err := url.Parse(f.URL)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.files[u.EscapedPath()]
}
