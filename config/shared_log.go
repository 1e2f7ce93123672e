package config

// SharedLog is what the configuration says of the log that nodes share.
type SharedLog struct {
	URL      string // cluster.log, with variables resolved; "" if there is none. It may have a password
	Relaxed  bool   // cluster.durability
	HasToken bool   // cluster.token is set
}

// SharedLog returns what the configuration says, whether the rest of it is valid or not.
func (c *Config) SharedLog() (s SharedLog) {
	cluster := c.tree.get("cluster")
	if cluster == nil || cluster.kind != object {
		return s
	}
	textOf := func(key string) string {
		if v := cluster.get(key); v != nil && v.kind == text {
			return v.text
		}
		return ""
	}
	return SharedLog{URL: textOf("log"), Relaxed: textOf("durability") == "relaxed", HasToken: textOf("token") != ""}
}
