package coordination

import "strings"

// Matches reports whether a name matches a configured pattern, in which * is any part. Case is ignored.
func Matches(pattern, name string) bool {
	pattern, name = strings.ToLower(TrimJS(pattern)), strings.ToLower(name)
	first, rest, open := strings.Cut(pattern, "*")
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
