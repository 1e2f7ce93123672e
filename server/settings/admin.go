package settings

import (
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// AdminToken is the token that enables SQL and authorizes its clients; "": SQL is disabled. It is only read from the
// environment.
func AdminToken(getenv func(string) string) Sourced[config.Secret] {
	return Sourced[config.Secret]{config.Secret(strings.TrimSpace(getenv(monitor.AdminTokenVariable))), monitor.AdminTokenVariable}
}
