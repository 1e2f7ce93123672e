package monitor

import (
	_ "embed"
	"net/http"

	"github.com/labstack/echo/v4"
)

//go:embed openapi.yaml
var openAPI []byte

// description answers GET /api.
type description struct {
	Name      string   `json:"name"`
	Version   string   `json:"version"`
	Endpoints []string `json:"endpoints"`
	Docs      string   `json:"docs"`
}

func (s *Server) describe(c echo.Context) error {
	d := description{Name: "Task Monitor API", Version: s.opts.Version, Docs: "/api/openapi.yaml"}
	for _, r := range s.routes() {
		if r.shown != "" {
			d.Endpoints = append(d.Endpoints, r.shown)
		}
	}
	s.position(c)
	return writeJSON(c, http.StatusOK, d)
}

func (s *Server) describeFully(c echo.Context) error {
	s.position(c)
	return c.Blob(http.StatusOK, "application/yaml", openAPI)
}
