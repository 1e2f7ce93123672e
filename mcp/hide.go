package mcp

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/config"
)

// leastSecret is the length of the shortest secret that is hidden: shorter values are too common.
const leastSecret = 6

// mostSecrets bounds the secrets of a server that came after its start: the newest are hidden.
const mostSecrets = 32

// secrets hides the secrets of a server in texts.
type secrets struct {
	mu       sync.Mutex
	fixed    []string // of the configuration
	later    []string
	replacer *strings.Replacer
}

// hider hides the secrets of a server's configuration.
func hider(c *config.MCPServer) *secrets {
	s := &secrets{}
	add := func(secret config.Secret) { s.fixed = append(s.fixed, written(secret.Reveal())...) }
	for _, h := range c.Headers {
		add(h.Value)
		if _, token, is := strings.Cut(h.Value.Reveal(), " "); is { // Bearer …
			add(config.Secret(token))
		}
	}
	for _, v := range c.Env {
		add(v.Value)
	}
	if c.OAuth != nil {
		add(c.OAuth.ClientSecret)
	}
	s.build()
	return s
}

// written lists how a secret may stand in a text: as it is, and in JSON.
func written(text string) []string {
	if len(text) < leastSecret {
		return nil
	}
	if quoted := string(jsonOf(text)); quoted != `"`+text+`"` {
		return []string{text, strings.Trim(quoted, `"`)}
	}
	return []string{text}
}

// also hides further secrets from now on.
func (s *secrets) also(texts ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed := false
	for _, text := range texts {
		for _, one := range written(text) {
			if !slices.Contains(s.later, one) {
				s.later, changed = append(s.later, one), true
			}
		}
	}
	if changed {
		s.later = slices.Clone(s.later[max(len(s.later)-mostSecrets, 0):])
		s.build()
	}
}

// build is called with the lock held, or before there is another user.
func (s *secrets) build() {
	texts := slices.Concat(s.fixed, s.later)
	slices.SortStableFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may begin with another
	var pairs []string
	for _, text := range texts {
		pairs = append(pairs, text, config.Secret(text).String())
	}
	s.replacer = strings.NewReplacer(pairs...)
}

// Replace returns a text without the secrets.
func (s *secrets) Replace(text string) string {
	s.mu.Lock()
	r := s.replacer
	s.mu.Unlock()
	return r.Replace(text)
}
