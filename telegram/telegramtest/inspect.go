package telegramtest

import (
	"context"
	"maps"
	"time"

	"github.com/pronto-lab/openclawd/internal/faults"
)

// Request is a client's request.
type Request struct {
	At     time.Time
	Bot    int64             // 0: the token is unknown
	Method string            // as requested
	Chat   int64             // chat_id, 0 if there is none
	Params map[string]string // objects as JSON; without files
	Fault  string            // the fault applied
	Status int               // 0: not answered, or not yet
	Over   bool
}

// Requests returns the requests that match, in order.
func (s *Server) Requests(m Match) (all []Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.requests {
		if m.Matches(*r) {
			all = append(all, *r)
		}
	}
	return all
}

func (s *Server) arrived(c *call) (*Request, Effect) {
	record := &Request{At: s.now(), Method: c.method, Chat: c.number("chat_id"), Params: maps.Clone(c.params)}
	if c.by != nil {
		record.Bot = c.by.ID
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

// Messages returns what a chat shows to people, oldest first, with service messages.
func (ch *Chat) Messages() []Message {
	ch.s.mu.Lock()
	defer ch.s.mu.Unlock()
	all := make([]Message, len(ch.own.messages))
	for i, m := range ch.own.messages {
		all[i] = *m.shapeFor(nil)
	}
	return all
}

// Texts returns the texts and captions of a chat's messages, oldest first, without service messages.
func (ch *Chat) Texts() (all []string) {
	for _, m := range ch.Messages() {
		if !m.own.isService() {
			all = append(all, m.Text+m.Caption)
		}
	}
	return all
}

// IDFor is the id of a message as a bot knows it.
func (b *Bot) IDFor(m Message) int {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return m.own.idFor(b.own)
}

// WaitMessage waits for a message in a chat that passes test, and returns the first one.
func (ch *Chat) WaitMessage(ctx context.Context, test func(Message) bool) (Message, error) {
	return faults.First(ctx, ch.s.Until, func() []Message { return ch.Messages() }, test, "a message in chat %d", ch.ID)
}

// WaitRequest waits for a matching request, and returns the first one, possibly unanswered.
func (s *Server) WaitRequest(ctx context.Context, m Match) (Request, error) {
	return faults.First(ctx, s.Until, func() []Request { return s.Requests(m) }, faults.Any[Request], "a request to %q of bot %d", m.Method, m.Bot)
}

// WaitPolling waits until a getUpdates of the bot waits.
func (b *Bot) WaitPolling(ctx context.Context) error {
	return faults.Waited(b.s.Until(ctx, b.Polling), "bot %d to poll", b.ID)
}

// WaitConfirmed waits until the bot has confirmed all its updates.
func (b *Bot) WaitConfirmed(ctx context.Context) error {
	return faults.Waited(b.s.Until(ctx, func() bool { return b.Pending() == 0 }), "bot %d to confirm its updates", b.ID)
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
