package monitor

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"
)

// route is one thing that can be asked or done.
type route struct {
	method string // "" is GET and HEAD; any other one writes, and has to be authorised
	path   string // a * stands for anything, slashes included; more may follow it
	shown  string // how GET /api lists it; "" leaves it out
	answer echo.HandlerFunc
}

// place makes the server answer routes. The router knows nothing after a *, so those that share what is before it are told apart by how
// a path ends; where none fits, the path can only be read, which is said before anybody is asked for a token.
func (s *Server) place(routes []route) {
	type shared struct{ method, path string }
	var order []shared
	endings := map[shared][]ending{}
	for _, r := range routes {
		path, tail, wild := strings.Cut(r.path, "*")
		if wild {
			path += "*"
		}
		answer := r.answer
		if r.method != "" && r.path != sqlPath { // SQL asks for a token of its own
			answer = s.authorise(answer)
		} else {
			answer = s.timely(r.path, answer)
		}
		key := shared{r.method, path}
		if endings[key] == nil {
			order = append(order, key)
		}
		endings[key] = append(endings[key], ending{tail, answer})
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

// ending is what is answered to paths that end in tail; "" is any.
type ending struct {
	tail   string
	answer echo.HandlerFunc
}

func byEnding(path string, list []ending) echo.HandlerFunc {
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
