package config

import "encoding/json"

// FromApplied is the configuration of which Applied has kept settings: the same, but for secrets, which are ***, and for the environment and the files that
// were its parts, of which settings hold what they said. ok is false for settings that are none.
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
