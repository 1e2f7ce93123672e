package slacktest

import (
	"maps"
	"time"
)

// Limit is how many requests an app may make within a period.
type Limit struct {
	Requests int
	Per      time.Duration
}

// DefaultLimits are those of Slack's tiers. One post per second and channel is accepted; all others count per method.
func DefaultLimits() map[string]Limit {
	tier := func(perMinute int) Limit { return Limit{perMinute, time.Minute} }
	return map[string]Limit{
		"apps.connections.open": tier(20), "auth.test": tier(300), "bots.info": tier(50),
		"chat.postMessage": {1, time.Second}, "chat.update": tier(50), "chat.delete": tier(50), "chat.postEphemeral": tier(100),
		"conversations.history": tier(50), "conversations.info": tier(50), "conversations.list": tier(20), "conversations.members": tier(100),
		"conversations.open": tier(50), "conversations.replies": tier(50), "files.completeUploadExternal": tier(100),
		"files.getUploadURLExternal": tier(100), "reactions.add": tier(50), "reactions.remove": tier(20), "users.conversations": tier(50), "users.info": tier(100), "users.list": tier(20),
	}
}

// NoLimits is for tests about something else.
func NoLimits() map[string]Limit { return map[string]Limit{} }

// SetLimit changes a method's limit, and forgets what was counted.
func (s *Server) SetLimit(method string, limit Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.o.Limits = maps.Clone(s.o.Limits)
	s.o.Limits[method] = limit
	s.buckets = map[string]*bucket{}
}

// bucket counts an app's requests of one method, and of one channel for posts.
type bucket struct {
	used  int
	until time.Time
}

// charge counts one request; it returns how long to wait if there are too many. The lock is held.
func (s *Server) charge(c *call) (wait time.Duration) {
	limit, is := s.o.Limits[c.method]
	if !is || limit.Requests <= 0 {
		return 0
	}
	key := c.app.id + " " + c.method
	if c.method == "chat.postMessage" {
		key += " " + c.text("channel")
	}
	now := s.o.Now()
	b := s.buckets[key]
	if b == nil || !now.Before(b.until) {
		b = &bucket{until: now.Add(limit.Per)}
		s.buckets[key] = b
	}
	if b.used >= limit.Requests {
		return b.until.Sub(now)
	}
	b.used++
	return 0
}
