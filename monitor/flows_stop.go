package monitor

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
	flows "github.com/pronto-lab/openclawd/projections/a2a"
)

// Flows is what operators may do about flows between agents.
type Flows interface {
	// Stop ends a flow, with the sub-agents that its runs have started, and stops their runs. It returns the ids of those that were open.
	Stop(ctx context.Context, jobID, by, reason string) (stopped []string, err error)
}

// flowStopped answers POST /api/a2a/jobs/:id/cancel.
type flowStopped struct {
	OK      bool     `json:"ok"`
	JobID   string   `json:"jobId"`
	Stopped []string `json:"stopped"` // the flows that were open: it, and those that its runs had started
}

// CancelReason is the word that events have for the end of a flow that an operator has stopped.
const CancelReason = "cancelled by an operator"

const byAPI = "api" // who has done what is asked for here

// cancelFlow ends a flow. That is on disk when the answer goes out. Who leaves before does not keep it from being done to its end.
func (s *Server) cancelFlow(c echo.Context) error {
	id, err := pathID(c, cancelTail)
	switch {
	case err != nil:
		return err
	case !skipBody(c):
		return tooLarge()
	case s.opts.Flows == nil:
		return noAgents()
	}
	ctx := context.WithoutCancel(c.Request().Context())
	stopped, err := s.opts.Flows.Stop(ctx, id, byAPI, CancelReason)
	if err == nil && len(stopped) == 0 {
		err = s.notStopped(ctx, id)
	}
	if err != nil {
		return err
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, flowStopped{true, id, stopped})
}

// notStopped says why there was nothing to stop.
func (s *Server) notStopped(ctx context.Context, id string) error {
	row, found := flows.Row{}, false
	err := s.opts.Store.View(ctx, func(tx *sql.Tx) (err error) {
		row, found, err = flows.ByID(ctx, tx, id)
		return err
	})
	switch {
	case err != nil:
		return err
	case !found:
		return noFlow(id)
	}
	return &problem{Status: http.StatusConflict, Code: "conflict", Message: fmt.Sprintf("Flow %.80q is over: %s", id, row.Outcome), Field: "id",
		Hint: "GET " + flowsPath + "?open=true lists those that can be stopped"}
}

// pathID is the id of a flow or of a task in a path that ends in tail.
func pathID(c echo.Context, tail string) (string, error) {
	id := coordination.TrimJS(idBefore(c, tail))
	switch {
	case id == "":
		return "", echo.ErrNotFound
	case !utf8.ValidString(id):
		return "", &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: "id", Message: fmt.Sprintf("Bad value %.80q for id", id),
			Hint: "escape what is no letter or digit as %XX, in UTF-8"}
	case utf8.RuneCountInString(id) > maxEffect:
		return "", tooLong("id", id, maxEffect)
	}
	return id, nil
}

// noAgents refuses what only a server does in which agents run.
func noAgents() *problem {
	return &problem{Status: http.StatusConflict, Code: "runs_not_available", Message: "No agents run here", Hint: "ask the server that runs them"}
}
