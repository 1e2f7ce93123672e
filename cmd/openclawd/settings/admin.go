package settings

import (
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/monitor"
)

// AdminToken is the token that turns SQL on, and that who asks has to show; "": SQL is off. It is only ever in the environment.
func AdminToken(getenv func(string) string) Sourced[config.Secret] {
	return Sourced[config.Secret]{config.Secret(strings.TrimSpace(getenv(monitor.AdminTokenVariable))), monitor.AdminTokenVariable}
}
