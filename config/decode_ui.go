package config

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of viewers of Task-Hub.
const (
	maxViewers     = 100
	maxViewerName  = 64 // characters
	minViewerToken = 16 // characters: nothing that can be guessed
)

func (c *Config) decodeUI(f *fields) {
	f.each("viewers", func(f *fields) {
		f.needs("name", "token")
		v := Viewer{Name: strings.TrimSpace(f.text("name", "")), Token: f.ownSecret("token")}
		f.done()
		c.UI.add(v, f)
	})
	f.aside("seamColor", "assistant", "prefs")
	f.done()
}

// add adds a viewer that f describes, unless it is refused.
func (u *UI) add(v Viewer, f *fields) {
	if v.Name == "" || v.Token == "" {
		return // already reported
	}
	switch {
	case len(u.Viewers) == maxViewers:
		f.invalid(f.object.get("name"), f.at.member("name"), fmt.Sprintf("is one viewer too many: at most %d", maxViewers), "remove some")
		return
	case utf8.RuneCountInString(v.Name) > maxViewerName || strings.ContainsFunc(v.Name, func(r rune) bool { return !unicode.IsPrint(r) }):
		f.invalid(f.object.get("name"), f.at.member("name"), "is no name of a viewer", fmt.Sprintf("write 1 to %d printable characters", maxViewerName))
		return
	case utf8.RuneCountInString(v.Token.Reveal()) < minViewerToken:
		f.invalid(f.object.get("token"), f.at.member("token"), fmt.Sprintf("is shorter than %d characters", minViewerToken), "make one with openssl rand -hex 16")
		return
	}
	for _, other := range u.Viewers {
		switch {
		case strings.EqualFold(other.Name, v.Name):
			f.invalid(f.object.get("name"), f.at.member("name"), "is the name of another viewer", "give each its own name")
			return
		case other.Token == v.Token:
			f.invalid(f.object.get("token"), f.at.member("token"), "is the token of "+other.Name, "give each its own token")
			return
		}
	}
	u.Viewers = append(u.Viewers, v)
}
