package route

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// ordinary lists agent ids that are everyday words: they name the agent only where they address it.
var ordinary = []string{"main", "default", "agent", "bot", "dev", "test", "ops", "qa", "admin", "system", "user", "web", "api", "docs"}

// named reports whether a lower-case text names an agent as people write it: 이든아 봐줘, 이든님, eden 한테, 세움 생각은? A name within another word,
// an address or a path does not count.
func named(lower, name string) bool {
	name = strings.ToLower(name)
	if name == "" {
		return false
	}
	for from := 0; ; {
		at := strings.Index(lower[from:], name)
		if at < 0 {
			return false
		}
		at += from
		end := at + len(name)
		if beginsName(lower[:at], name) && !joined(name, lower[end:]) {
			if naming := coordination.NamingOf(name, lower[end:]); naming == coordination.Addressed || naming == coordination.Named && !isOrdinary(name) {
				return true
			}
		}
		from = end
	}
}

// isOrdinary reports whether a name is an everyday word, such as any of one syllable: 수 is also in 할 수 있다.
func isOrdinary(name string) bool {
	return utf8.RuneCountInString(name) < 2 || slices.Contains(ordinary, name)
}

// beginsName reports whether a name may start after before: not within a word, an address, a path or a channel name.
func beginsName(before, name string) bool {
	last, size := utf8.DecodeLastRuneInString(before)
	switch {
	case before == "":
		return true
	case coordination.IsWordRune(last), last == '#', last == '\\':
		return false
	case isLatin(name) && last == '/':
		return false
	}
	earlier, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
	return !isLatin(name) || !strings.ContainsRune("-.:=@+&", last) || !isASCIIWord(earlier)
}

// joined reports whether the name continues into a compound: eden-2, eden.md, eden@example.com, eden:main.
func joined(name, rest string) bool {
	if rest == "" || !isLatin(name) || !strings.ContainsRune("-.:=@+&/\\", rune(rest[0])) {
		return false
	}
	next, _ := utf8.DecodeRuneInString(rest[1:])
	return isASCIIWord(next)
}

func isLatin(name string) bool {
	last, _ := utf8.DecodeLastRuneInString(name)
	return last < utf8.RuneSelf
}

func isASCIIWord(r rune) bool {
	return r < unicode.MaxASCII && coordination.IsWordRune(r)
}
