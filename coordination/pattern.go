package coordination

import "strings"

// Pattern is a configured pattern of names, in which * is any part. Case is ignored.
type Pattern string

// NewPattern reads a pattern as it is configured.
func NewPattern(configured string) Pattern { return Pattern(strings.ToLower(TrimJS(configured))) }

// Matches reports whether a name in lower case matches.
func (p Pattern) Matches(name string) bool {
	first, rest, open := strings.Cut(string(p), "*")
	name, begins := strings.CutPrefix(name, first)
	if !begins || !open {
		return begins && name == ""
	}
	for {
		part, after, more := strings.Cut(rest, "*")
		if !more {
			return strings.HasSuffix(name, part)
		}
		_, behind, found := strings.Cut(name, part)
		if !found {
			return false
		}
		name, rest = behind, after
	}
}

// Matches reports whether a name matches a configured pattern. Case is ignored.
func Matches(pattern, name string) bool { return NewPattern(pattern).Matches(strings.ToLower(name)) }
