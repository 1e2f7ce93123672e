package monitor

import (
	"net/http"
	"sync"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/config"
)

const configPath = "/api/config"

// Configuration tells about openclaw.json. Secrets are masked in all of its answers.
type Configuration interface {
	// Check reads and checks the file as it is now, whether or not it is in force.
	Check() config.Report
	// Effective returns the settings in force and their sources.
	Effective() config.Effective
}

// checking is held while a configuration is read: files of several MiB are read for each request.
type checking = sync.Mutex

// checkConfig answers GET /api/config/check.
func (s *Server) checkConfig(c echo.Context) error {
	if s.opts.Configuration == nil {
		return noConfiguration()
	}
	s.checking.Lock()
	report := s.opts.Configuration.Check()
	s.checking.Unlock()
	s.position(c)
	return writeJSON(c, http.StatusOK, report)
}

// showConfig answers GET /api/config/effective.
func (s *Server) showConfig(c echo.Context) error {
	if s.opts.Configuration == nil {
		return noConfiguration()
	}
	s.checking.Lock()
	effective := s.opts.Configuration.Effective()
	s.checking.Unlock()
	s.position(c)
	return writeJSON(c, http.StatusOK, effective)
}

func noConfiguration() *problem {
	return &problem{Status: http.StatusConflict, Code: "not_here", Message: "No configuration is read here", Hint: "ask a server that openclawd serve started"}
}
