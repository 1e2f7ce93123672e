package monitor

import (
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// idOf is what stands after the last route segment of the path, decoded once. It may hold anything: slashes, dots, percent signs.
func idOf(c echo.Context) string {
	escaped := strings.TrimPrefix(c.Request().URL.EscapedPath(), strings.TrimSuffix(c.Path(), "*"))
	id, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped
	}
	return id
}
