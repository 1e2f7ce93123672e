package config

import "encoding/json"

// FromApplied restores the configuration from the settings of an Applied: the same except for secrets, which are ***;
// environment variables and included files are already resolved. ok is false for malformed settings.
func FromApplied(settings json.RawMessage) (c *Config, ok bool) {
	r := newReport()
	root := parse("", string(settings), r)
	if root == nil || root.kind != object {
		return nil, false
	}
	c = &Config{Found: true, tree: root}
	markSecrets(root, false)
	c.hide = hider(root)
	c.decode(root, r)
	c.masked = canonical(root, c.hide)
	return c, true
}
