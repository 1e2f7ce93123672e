package webtools

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	maxRobots    = 500 << 10
	robotsAge    = time.Hour
	maxRobotSets = 256
)

// robots keeps the rules of sites for a time.
type robots struct {
	mu    sync.Mutex
	sites map[string]rules
}

// rules are paths that a site asks programs to read or not to read.
type rules struct {
	read time.Time
	list []rule
}

type rule struct {
	path  string
	allow bool
}

// allow reports whether a site lets programs read a page. A site without rules, or whose rules cannot be read, does.
func (r *robots) allow(ctx context.Context, client *http.Client, page *url.URL) bool {
	site := page.Scheme + "://" + page.Host
	r.mu.Lock()
	known, ok := r.sites[site]
	r.mu.Unlock()
	if !ok || time.Since(known.read) > robotsAge {
		known = rules{time.Now(), fetchRobots(ctx, client, site)}
		if ctx.Err() == nil { // else nothing was learned about the site
			r.keep(site, known)
		}
	}
	path := page.EscapedPath()
	if page.RawQuery != "" {
		path += "?" + page.RawQuery
	}
	best, allowed := -1, true
	for _, one := range known.list {
		if n := len(one.path); matchesRobot(one.path, path) && (n > best || n == best && one.allow) {
			best, allowed = n, one.allow
		}
	}
	return allowed
}

func (r *robots) keep(site string, known rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sites == nil || len(r.sites) >= maxRobotSets {
		r.sites = map[string]rules{}
	}
	r.sites[site] = known
}

func fetchRobots(ctx context.Context, client *http.Client, site string) []rule {
	answer, err := get(ctx, client, site+"/robots.txt", acceptsText)
	if err != nil {
		return nil
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(io.LimitReader(answer.Body, maxRobots))
	if err != nil || answer.StatusCode != http.StatusOK {
		return nil
	}
	return parseRobots(string(text))
}

// parseRobots returns the rules for this program: those that name it, else those for all.
func parseRobots(text string) []rule {
	var own, every []rule
	var names []string
	named, inRules := false, false
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		key, value, _ := strings.Cut(line, ":")
		key, value = strings.ToLower(strings.TrimSpace(key)), strings.TrimSpace(value)
		switch key {
		case "user-agent":
			if inRules {
				names, inRules = nil, false
			}
			names = append(names, strings.ToLower(value))
			named = named || strings.ToLower(value) == agentName
		case "allow", "disallow":
			inRules = true
			for _, name := range names {
				switch {
				case value == "":
				case name == agentName:
					own = append(own, rule{value, key == "allow"})
				case name == "*":
					every = append(every, rule{value, key == "allow"})
				}
			}
		}
	}
	if named {
		return own
	}
	return every
}

// matchesRobot reports whether a path begins like a pattern with * and an end mark $.
func matchesRobot(pattern, path string) bool {
	pattern, exact := strings.CutSuffix(pattern, "$")
	parts := strings.Split(pattern, "*")
	if !strings.HasPrefix(path, parts[0]) {
		return false
	}
	path = path[len(parts[0]):]
	for i, part := range parts[1:] {
		if exact && i == len(parts)-2 {
			return strings.HasSuffix(path, part)
		}
		at := strings.Index(path, part)
		if at < 0 {
			return false
		}
		path = path[at+len(part):]
	}
	return !exact || path == ""
}
