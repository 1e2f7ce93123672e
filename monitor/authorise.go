package monitor

import (
	"net/http"

	"github.com/labstack/echo/v4"
)

// authorise lets only those write who may.
func (s *Server) authorise(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		return &problem{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "Unauthorized"}
	}
}
