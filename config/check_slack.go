package config

import "strings"

// gatewayPaths are those that the gateway serves, with everything below them.
func gatewayPaths() []string {
	return []string{"/v1", "/api", "/tools", "/avatar", "/health", "/healthz", "/ready", "/readyz", "/ui", "/ws", "/__openclaw", "/__openclaw__",
		"/control-ui-config.json"}
}

// checkSlackPaths refuses paths for events of Slack at which the gateway serves something else: it would be out of reach.
func (c *Config) checkSlackPaths(root *fields) {
	slack, at := root.object.get("channels").get("slack"), root.at.member("channels").member("slack")
	c.checkSlackPath(root, slack, at)
	if all := slack.get("accounts"); all != nil && all.kind == object {
		for _, m := range all.members {
			c.checkSlackPath(root, m.value, at.member("accounts").named(m.key))
		}
	}
}

func (c *Config) checkSlackPath(f *fields, account *value, at *path) {
	if account == nil || account.kind != object {
		return
	}
	written := account.get("webhookPath")
	if written == nil || written.kind != text {
		return
	}
	for _, own := range append(gatewayPaths(), c.Hooks.Path) {
		if written.text == "/" || strings.HasPrefix(written.text+"/", own+"/") {
			f.invalid(written, at.member("webhookPath"), "is a path at which the gateway serves something else", "write one of its own, such as /slack/events")
			return
		}
	}
}
