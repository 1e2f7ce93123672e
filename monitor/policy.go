package monitor

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/policy"
)

// maxMatrix is the number of agents of a matrix: 2,500 policies, about 600 kB of JSON.
const maxMatrix = 50

// showPolicy answers GET /api/a2a/policy: it shows what one agent may do with another.
func (s *Server) showPolicy(c echo.Context) error {
	p := parametersOf(c)
	from, to := p.first("from"), p.first("to")
	for _, one := range [][2]string{{"from", from}, {"to", to}} {
		if one[1] == "" {
			p.refuse(one[0], "", "name an agent, e.g. ?from=eden&to=seum")
		}
	}
	switch {
	case p.err != nil:
		return p.err
	case s.opts.Policy == nil:
		return noAgents()
	}
	answer, err := s.opts.Policy(from, to)
	if err != nil {
		return refuseAgent(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}

// refuseAgent is the answer about an agent that is not configured; it returns other errors as they are.
func refuseAgent(err error) error {
	unknown, ok := errors.AsType[*policy.NoAgentError](err)
	if !ok {
		return err
	}
	return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Message: unknown.Text, Field: unknown.Field, Value: cut(unknown.ID),
		Hint: unknown.Hint, Allowed: unknown.Known}
}

// showPolicyMatrix answers GET /api/a2a/policy/matrix: it shows what each agent, or the one of ?from=, may do with each.
func (s *Server) showPolicyMatrix(c echo.Context) error {
	p := parametersOf(c)
	switch {
	case p.err != nil:
		return p.err
	case s.opts.PolicyMatrix == nil:
		return noAgents()
	}
	answer, err := s.opts.PolicyMatrix(p.first("from"), maxMatrix)
	if err != nil {
		return refuseAgent(err)
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, answer)
}
