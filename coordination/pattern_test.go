package coordination

import (
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"", "", true}, {"", "a", false}, {"*", "", true}, {"*", "abc", true}, {"a", "a", true}, {"A", "a", true}, {" a ", "A", true}, {"a", "ab", false},
		{"a*", "ab", true}, {"*b", "ab", true}, {"a*a", "a", false}, {"a*a", "aa", true}, {"a*b*c", "axbxc", true}, {"a*b*c", "acb", false},
		{"*a*a*", "aa", true}, {"*a*a*", "a", false}, {"**", "x", true}, {"a**", "a", true}, {"a?", "ab", false}, {"[a]", "a", false},
		{"*" + strings.Repeat("a*", 40), strings.Repeat("a", 39), false},
	} {
		if got := Matches(c.pattern, c.name); got != c.want {
			t.Errorf("%q of %q is %v", c.pattern, c.name, got)
		}
	}
}
