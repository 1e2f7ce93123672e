package monitor

import (
	"context"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination/health"
)

// Operations is what the surrounding program reports to operators. Every field may be nil.
type Operations struct {
	// Reasons lists the program's current problems; empty if there are none.
	Reasons func(context.Context) []health.Reason
	// Running returns the state of parts of the program that is not in the log.
	Running func(context.Context) health.Running
	// Capacity returns how many pieces of work may run at a time, by pool; others are unknown.
	Capacity func() map[string]int
	// TaskFiles returns the state of the task files; nil if another gateway writes them.
	TaskFiles func() *health.TaskFilesState
	// Metrics answers GET /metrics; nil: 404.
	Metrics http.Handler
}

// alive answers as long as the process runs. It checks nothing.
func (s *Server) alive(c echo.Context) error {
	return writeJSON(c, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// readiness answers GET /readyz.
type readiness struct {
	Status  string          `json:"status"` // ok; degraded: there are warnings; unready: there are errors
	Reasons []health.Reason `json:"reasons"`
}

// ready reports whether the program works fully, and otherwise the problems and what to do.
func (s *Server) ready(c echo.Context) error {
	answer, status := readiness{"ok", s.reasons(c.Request().Context())}, http.StatusOK
	switch {
	case slices.ContainsFunc(answer.Reasons, health.Reason.IsError):
		answer.Status, status = "unready", http.StatusServiceUnavailable
	case len(answer.Reasons) > 0:
		answer.Status = "degraded"
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, status, answer)
}

func (s *Server) reasons(ctx context.Context) []health.Reason {
	reasons := []health.Reason{}
	if s.opts.Operations.Reasons != nil {
		reasons = append(reasons, s.opts.Operations.Reasons(ctx)...)
	}
	return append(reasons, s.botReasons()...)
}

func (s *Server) metrics(c echo.Context) error {
	if s.opts.Operations.Metrics == nil {
		return notFound("Not found")
	}
	s.opts.Operations.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}
