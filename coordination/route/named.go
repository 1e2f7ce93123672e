package route

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// toWhom are the particles after a name that say that something is for somebody, or with somebody. Where a particle has two forms the name's last
// sound tells which one fits.
var toWhom = [...]struct {
	particle string
	after    coordination.Sound
}{
	{"한테", coordination.AnySound}, {"에게", coordination.AnySound}, {"께", coordination.AnySound}, {"더러", coordination.AnySound}, {"보고", coordination.AnySound}, {"하고", coordination.AnySound},
	{"이랑", coordination.Consonant}, {"랑", coordination.Vowel}, {"과", coordination.Consonant}, {"와", coordination.Vowel},
}

// What may stand between a name and the particle, and after the particle.
var (
	honorifics = [...]string{"", "님", "씨", "이"}
	trailers   = [...]string{"", "도", "는", "만", "요"}
)

// named says whether a text speaks of somebody by a name with a particle: 이든한테, 루다에게, eden한테. Capitals make no difference.
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
		if before, _ := utf8.DecodeLastRuneInString(lower[:at]); !isWord(before) && called(name, lower[end:]) {
			return true
		}
		from = end
	}
}

// called says whether rest, which follows a name, begins with a particle, and ends the word with it.
func called(name, rest string) bool {
	for _, h := range honorifics {
		after, ok := strings.CutPrefix(rest, h)
		if !ok {
			continue
		}
		last := coordination.LastSound(name + h)
		if h == "이" && coordination.LastSound(name) == coordination.Vowel { // 이든이한테, but not 루다이한테
			continue
		}
		for _, p := range toWhom {
			if tail, ok := strings.CutPrefix(after, p.particle); ok && (p.after == coordination.AnySound || last == coordination.AnySound || p.after == last) && endsWord(tail) {
				return true
			}
		}
	}
	return false
}

func endsWord(text string) bool {
	for _, t := range trailers {
		if after, ok := strings.CutPrefix(text, t); ok {
			if next, _ := utf8.DecodeRuneInString(after); after == "" || !isWord(next) {
				return true
			}
		}
	}
	return false
}

func isWord(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}
