package slacktest

import (
	"encoding/json"
	"slices"
	"time"
)

// Request is a client's request, without its token.
type Request struct {
	At      time.Time
	App     string // id; empty without a valid token
	Method  string
	Channel string
	Args    map[string]string // lists and objects as JSON
	Fault   string            // the fault applied
	Status  int               // 0: not answered, or not yet
	Error   string            // of the answer
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

// Messages returns a conversation's messages, oldest first, with those in threads.
func (s *Server) Messages(channelID string) []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.conversations[channelID]
	if c == nil {
		return nil
	}
	all := make([]Message, len(c.messages))
	for i, m := range c.messages {
		all[i] = m.Message
	}
	return all
}

// Delivery is an event, a command or a use of a button, as told to one app.
type Delivery struct {
	App      string // id
	Kind     string // events_api, interactive or slash_commands
	EventID  string // of an event
	Payload  json.RawMessage
	Attempts int // how often it was sent
	Acked    bool
	Lost     bool // it is not sent again
}

// Deliveries returns an app's deliveries, in order.
func (s *Server) Deliveries(appID string) []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []Delivery
	for _, d := range s.deliveries {
		if d.app.id == appID {
			all = append(all, Delivery{App: appID, Kind: d.kind, EventID: d.event, Payload: d.payload, Attempts: d.attempts, Acked: d.acked, Lost: d.lost})
		}
	}
	return all
}

// Sockets is how many open sockets an app has.
func (s *Server) Sockets(appID string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, k := range s.sockets {
		if k.app.id == appID {
			n++
		}
	}
	return n
}

// Members returns the users of a conversation.
func (s *Server) Members(channelID string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.conversations[channelID].members)
}

// FileOf returns the content of a file.
func (s *Server) FileOf(id string) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f := s.files[id]; f != nil {
		return f.content
	}
	return nil
}
