package monitor

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/eventstore"
)

type endpoint struct {
	method string // "" is GET and HEAD; others are writes and require authorization
	path   string // a * matches anything, including slashes; more may follow
	shown  string // its entry in GET /api; "" leaves it out
	answer echo.HandlerFunc
}

// register registers routes. The router supports nothing after a *, so routes with the same prefix are selected by the
// path's end; a path that matches none is read-only, which is checked before authorization.
func (s *Server) register(routes []endpoint) {
	type shared struct{ method, path string }
	var order []shared
	endings := map[shared][]suffixRoute{}
	for _, r := range routes {
		path, tail, wild := strings.Cut(r.path, "*")
		if wild {
			path += "*"
		}
		answer := r.answer
		switch {
		case r.path == sqlPath: // it requires its own token, before a snapshot is built for it
			answer = s.asAdmin(s.timely(r.path, answer))
		case r.path == rewritePath: // it may append for thousands of files
			answer = s.authorise(r.path, answer)
		case r.method != "":
			answer = s.authorise(r.path, urgent(answer))
		default:
			answer = s.timely(r.path, answer)
		}
		key := shared{r.method, path}
		if endings[key] == nil {
			order = append(order, key)
		}
		endings[key] = append(endings[key], suffixRoute{tail, answer})
	}
	for _, key := range order {
		answer := byEnding(strings.TrimSuffix(key.path, "*"), endings[key])
		if key.method == "" {
			s.echo.Match([]string{http.MethodGet, http.MethodHead}, key.path, answer)
		} else {
			s.echo.Add(key.method, key.path, answer)
		}
	}
}

// urgent has what a request appends stored before what others wait for: a person waits for the answer.
func urgent(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		c.SetRequest(r.WithContext(eventstore.Urgent(r.Context())))
		return next(c)
	}
}

// suffixRoute handles paths that end in tail; "" is any.
type suffixRoute struct {
	tail   string
	answer echo.HandlerFunc
}

func byEnding(path string, list []suffixRoute) echo.HandlerFunc {
	return func(c echo.Context) error {
		rest := strings.TrimPrefix(c.Request().URL.EscapedPath(), path)
		best := -1
		for i := range list {
			if strings.HasSuffix(rest, list[i].tail) && (best < 0 || len(list[i].tail) > len(list[best].tail)) {
				best = i
			}
		}
		if best < 0 {
			c.Response().Header().Set(echo.HeaderAllow, "OPTIONS, GET, HEAD")
			return echo.ErrMethodNotAllowed
		}
		return list[best].answer(c)
	}
}
