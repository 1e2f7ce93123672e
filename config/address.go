package config

import (
	"net/url"
	"strings"
)

// IsServer reports whether s is the URL of a web server, possibly with a path, but without query, fragment and
// credentials, which logs would show.
func IsServer(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isOrigin reports whether s is an origin as browsers send it. null and * are not: they stand for everyone.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && IsServer(s) && u.Path == ""
}

// server reads the URL of a web server.
func (f *fields) server(key, otherwise string) string {
	s := f.text(key, otherwise)
	if IsServer(s) {
		return s
	}
	v := f.object.get(key)
	v.secret = v.secret || strings.Contains(s, "@") // credentials, in the wrong place
	f.invalid(v, f.at.member(key), "is not a server address", "write it like "+otherwise)
	return otherwise
}

// webhook reads a webhook's URL. It may contain credentials, also in its query.
func (f *fields) webhook(key string) Secret {
	s := f.ownSecret(key)
	if s == "" {
		return ""
	}
	if u, err := url.Parse(s.Reveal()); err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.Fragment == "" {
		return s
	}
	v := f.object.get(key)
	v.secret = true
	f.invalid(v, f.at.member(key), "is not a webhook address", "write it like https://hooks.example/agents")
	return ""
}

func (f *fields) origins(key string) (all []string) {
	f.schema.member(key).of("string")
	for i, item := range f.items(key) {
		at := f.at.member(key).item(i)
		switch {
		case item.kind != text:
			f.wrong(item, at, text.String())
		case !isOrigin(item.text):
			f.invalid(item, at, "is not an origin", "write scheme, host and port, such as https://hub.example or http://10.0.0.5:3102")
		default:
			all = append(all, item.text)
		}
	}
	return all
}
