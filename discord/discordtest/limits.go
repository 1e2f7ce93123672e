package discordtest

import (
	"fmt"
	"hash/fnv"
	"math"
	"net/http"
	"strconv"
	"time"
)

// Limit is how many requests are allowed within a period, which starts with the first of them. Zero requests: no
// limit.
type Limit struct {
	Requests int
	Per      time.Duration
}

// DefaultLimits are approximately Discord's. Other routes have only the global limit.
func DefaultLimits() map[string]Limit {
	return map[string]Limit{
		"POST /channels/{channel}/messages":                                {5, 5 * time.Second},
		"PATCH /channels/{channel}/messages/{message}":                     {5, 5 * time.Second},
		"DELETE /channels/{channel}/messages/{message}":                    {5, time.Second},
		"POST /channels/{channel}/threads":                                 {5, 20 * time.Second},
		"POST /channels/{channel}/messages/{message}/threads":              {5, 20 * time.Second},
		"PATCH /channels/{channel}":                                        {5, 15 * time.Second},
		"POST /channels/{channel}/typing":                                  {5, 5 * time.Second},
		"PUT /channels/{channel}/messages/{message}/reactions/{emoji}/@me": {1, 250 * time.Millisecond},
		"POST /webhooks/{webhook}/{token}":                                 {5, 2 * time.Second},
	}
}

// NoLimits is for tests about something else.
func NoLimits() map[string]Limit { return map[string]Limit{} }

// SetLimit changes a route's limit and resets its buckets.
func (s *Server) SetLimit(route string, limit Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	limits := map[string]Limit{route: limit}
	for name, l := range s.limits {
		if name != route {
			limits[name] = l
		}
	}
	s.limits, s.buckets = limits, map[string]*bucket{}
}

// SetGlobalLimit changes each bot's limit for all requests, and resets the buckets.
func (s *Server) SetGlobalLimit(limit Limit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.global, s.buckets = limit, map[string]*bucket{}
}

// bucket counts a bot's requests to one route and channel.
type bucket struct {
	used  int
	until time.Time
}

// charge takes one request from its buckets and sets the headers; limited, with the answer, if one of them is empty.
func (s *Server) charge(r route, c *call, headers http.Header) (limited bool, status int, answer []byte) {
	who := "token"
	if c.by != nil {
		who = c.by.ID
		if s.global.Requests > 0 {
			if b := s.bucketOf(who, s.global); b.used >= s.global.Requests {
				return true, http.StatusTooManyRequests, refuseRate(headers, b.until.Sub(s.now()), true, 0)
			}
		}
	}
	name := r.bucket
	if name == "" {
		name = r.name
	}
	limit, is := s.limits[name]
	if is && limit.Requests > 0 {
		b := s.bucketOf(who+" "+name+" "+major(c), limit)
		after := b.until.Sub(s.now())
		limited = b.used >= limit.Requests
		if !limited {
			b.used++
		}
		headers.Set("X-RateLimit-Bucket", bucketID(name))
		headers.Set("X-RateLimit-Limit", strconv.Itoa(limit.Requests))
		headers.Set("X-RateLimit-Remaining", strconv.Itoa(limit.Requests-b.used))
		headers.Set("X-RateLimit-Reset", fmt.Sprintf("%.3f", float64(b.until.UnixMilli())/1000))
		headers.Set("X-RateLimit-Reset-After", seconds(after))
		if limited {
			return true, http.StatusTooManyRequests, refuseRate(headers, after, false, 0)
		}
	}
	if c.by != nil && s.global.Requests > 0 {
		s.bucketOf(who, s.global).used++
	}
	return false, 0, nil
}

func (s *Server) bucketOf(key string, limit Limit) *bucket {
	b := s.buckets[key]
	if b == nil || !s.now().Before(b.until) {
		b = &bucket{until: s.now().Add(limit.Per)}
		s.buckets[key] = b
	}
	return b
}

// major distinguishes the buckets of a route.
func major(c *call) string {
	for _, name := range []string{"channel", "guild", "webhook"} {
		if v := c.path(name); v != "" {
			return v
		}
	}
	return ""
}

func bucketID(name string) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name))
	return strconv.FormatUint(h.Sum64(), 16)
}

type tooManyRequests struct {
	Message    string  `json:"message"`
	RetryAfter float64 `json:"retry_after"` // seconds
	Global     bool    `json:"global"`
	Code       int     `json:"code,omitempty"`
}

// refuseRate builds a 429.
func refuseRate(headers http.Header, after time.Duration, global bool, code int) []byte {
	headers.Set("Retry-After", strconv.Itoa(int(math.Ceil(after.Seconds()))))
	headers.Set("X-RateLimit-Scope", "user")
	if global {
		headers.Set("X-RateLimit-Global", "true")
		headers.Set("X-RateLimit-Scope", "global")
	}
	if headers.Get("X-RateLimit-Reset-After") == "" {
		headers.Set("X-RateLimit-Reset-After", seconds(after))
	}
	return encode(tooManyRequests{Message: "You are being rate limited.", RetryAfter: float64(after.Milliseconds()) / 1000, Global: global, Code: code})
}

func seconds(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Milliseconds())/1000, 'f', 3, 64)
}
