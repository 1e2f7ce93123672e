package telegramtest

import (
	"fmt"
	"strings"
	"time"
)

// Limit is how many messages are allowed within a period, which starts with the first of them. Zero: no limit.
type Limit struct {
	Messages int
	Per      time.Duration
}

// Limits of each bot, for what it sends and edits.
type Limits struct {
	Chat    Limit // per private chat
	Group   Limit // per group or supergroup
	Overall Limit // over all chats
}

// DefaultLimits are those that Telegram's questions and answers for bots name, with room for short bursts in a chat.
func DefaultLimits() Limits {
	return Limits{Chat: Limit{5, 5 * time.Second}, Group: Limit{20, time.Minute}, Overall: Limit{30, time.Second}}
}

// NoLimits is for tests about something else.
func NoLimits() *Limits { return &Limits{} }

// SetLimits changes the limits, and begins all periods again.
func (s *Server) SetLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits, s.buckets = l, map[string]*bucket{}
}

// bucket counts a bot's messages.
type bucket struct {
	used  int
	until time.Time
}

// charge counts a request that sends or edits, and refuses it beyond the limits. The lock is held.
func (s *Server) charge(c *call) *Error {
	method := strings.ToLower(c.method)
	if !strings.HasPrefix(method, "send") && !strings.HasPrefix(method, "edit") || method == "sendchataction" {
		return nil
	}
	perChat := s.limits.Chat
	if c.number("chat_id") < 0 {
		perChat = s.limits.Group
	}
	mine := []*bucket{}
	for key, limit := range map[string]Limit{fmt.Sprint(c.by.ID): s.limits.Overall, fmt.Sprint(c.by.ID, " ", c.text("chat_id")): perChat} {
		if limit.Messages <= 0 {
			continue
		}
		b := s.buckets[key]
		if b == nil || !s.now().Before(b.until) {
			b = &bucket{until: s.now().Add(limit.Per)}
			s.buckets[key] = b
		}
		if b.used >= limit.Messages {
			return tooManyRequests(b.until.Sub(s.now()))
		}
		mine = append(mine, b)
	}
	for _, b := range mine {
		b.used++
	}
	return nil
}
