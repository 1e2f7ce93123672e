package monitor

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"
)

// Policy says what one agent may do with another as things are configured now. It answers GET /api/a2a/policy.
type Policy struct {
	From    string  `json:"from"`
	To      string  `json:"to"`
	Send    Verdict `json:"send"`    // write to it: sessions_send
	Spawn   Verdict `json:"spawn"`   // start it as a sub-agent: sessions_spawn
	Visible Verdict `json:"visible"` // see its sessions: sessions_list, sessions_history
}

// Verdict is what a rule of the configuration says.
type Verdict struct {
	Allowed bool   `json:"allowed"`
	Rule    string `json:"rule"`           // what decides
	Why     string `json:"why"`            // a sentence
	Mend    string `json:"mend,omitempty"` // how to allow it
}

// NoAgentError says that an agent is not configured.
type NoAgentError struct {
	Field string // from, to
	ID    string
	Text  string
	Mend  string
}

func (e *NoAgentError) Error() string { return e.Text }

// showPolicy says what one agent may do with another.
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
	policy, err := s.opts.Policy(from, to)
	if unknown, ok := errors.AsType[*NoAgentError](err); ok {
		return &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Message: unknown.Text, Field: unknown.Field, Hint: unknown.Mend}
	}
	if err != nil {
		return err
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, policy)
}
