package config

import (
	"net/url"
	"strings"
)

// IsServer reports whether s is the address of a server of the web, perhaps with a path: nothing that stands for one request, and no
// credentials, which every log of addresses would show.
func IsServer(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" && u.User == nil &&
		u.RawQuery == "" && !u.ForceQuery && u.Fragment == ""
}

// isOrigin reports whether s is what a browser calls a page's origin. null and * are none: they are everybody.
func isOrigin(s string) bool {
	u, err := url.Parse(s)
	return err == nil && IsServer(s) && u.Path == ""
}

// server reads the address of a server of the web.
func (f *fields) server(key, otherwise string) string {
	s := f.text(key, otherwise)
	if IsServer(s) {
		return s
	}
	v := f.object.get(key)
	v.secret = v.secret || strings.Contains(s, "@") // credentials, at the wrong place
	f.invalid(v, f.at.member(key), "is not the address of a server", "write one such as "+otherwise)
	return otherwise
}

// webhook reads the address that somebody is told at. It may hold credentials, in its query too.
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
	f.invalid(v, f.at.member(key), "is not the address of a webhook", "write one such as https://hooks.example/agents")
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
