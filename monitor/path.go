package monitor

import (
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// idOf is the path after the route's last segment, decoded once. It may contain slashes, dots and percent signs.
func idOf(c echo.Context) string { return idBefore(c, "") }

// idBefore is idOf for a path that ends in tail, which is not part of the id.
func idBefore(c echo.Context, tail string) string {
	escaped := strings.TrimPrefix(c.Request().URL.EscapedPath(), strings.TrimSuffix(c.Path(), "*"))
	escaped = strings.TrimSuffix(escaped, tail)
	id, err := url.PathUnescape(escaped)
	if err != nil {
		return escaped
	}
	return id
}
