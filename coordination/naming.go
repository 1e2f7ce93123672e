package coordination

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Naming is how a text uses an occurrence of a name.
type Naming int

const (
	Unnamed   Naming = iota // part of another word
	Named                   // named, alone or with a particle: 이든, 이든이, 이든의
	Addressed               // addressed, or the recipient: 이든아, 이든님, 이든한테
)

// ending is a particle after a name. If it has two forms, the name's last sound selects one.
type ending struct {
	text      string
	after     Sound
	addresses bool
}

// endings are the particles that follow a name.
var endings = [...]ending{
	{"한테", AnySound, true}, {"에게", AnySound, true}, {"께", AnySound, true}, {"더러", AnySound, true}, {"보고", AnySound, true}, {"하고", AnySound, true},
	{"이랑", Consonant, true}, {"랑", Vowel, true}, {"과", Consonant, true}, {"와", Vowel, true},
	{"아", Consonant, true}, {"야", Vowel, true},

	{"한테서", AnySound, false}, {"에게서", AnySound, false}, {"께서", AnySound, false},
	{"이", Consonant, false}, {"가", Vowel, false}, {"은", Consonant, false}, {"는", Vowel, false}, {"을", Consonant, false}, {"를", Vowel, false},
	{"이야", Consonant, false}, {"이나", Consonant, false}, {"나", Vowel, false}, {"이라", Consonant, false}, {"라", Vowel, false},
	{"이라고", Consonant, false}, {"라고", Vowel, false}, {"이라도", Consonant, false}, {"라도", Vowel, false}, {"으로", Consonant, false}, {"로", AnySound, false},
	{"의", AnySound, false}, {"부터", AnySound, false}, {"까지", AnySound, false}, {"처럼", AnySound, false}, {"만큼", AnySound, false},
	{"보다", AnySound, false}, {"조차", AnySound, false}, {"마저", AnySound, false}, {"밖에", AnySound, false},
	{"", AnySound, false},
}

// Characters allowed between a name and its particle, and after the particle.
var (
	honorifics = [...]string{"", "님", "씨", "군", "양", "쌤", "선배", "선배님", "이"}
	trailers   = [...]string{"", "도", "은", "는", "만", "의", "요", "도요", "은요", "는요", "만요", "이요"}
)

// apart are particles that some people write after a blank: eden 한테.
var apart = [...]string{"님", "씨", "한테", "에게", "께", "더러"}

// NamingOf returns how a text uses a name, from the text after it: Korean particles and honorifics belong to the name, other characters
// without a blank make it another word.
func NamingOf(name, rest string) Naming {
	best := Unnamed
	for _, honorific := range honorifics {
		after, ok := strings.CutPrefix(rest, honorific)
		if !ok || honorific == "이" && (LastSound(name) == Vowel || !endsInHangul(name)) { // 이든이한테, but not 루다이한테
			continue
		}
		for i := range endings {
			e := &endings[i]
			tail, ok := strings.CutPrefix(after, e.text)
			if !ok || e.text == "" && honorific == "이" || !e.fits(name+honorific) || !endsWord(tail) {
				continue
			}
			if e.addresses || honorific != "" && honorific != "이" {
				return Addressed
			}
			best = Named
		}
	}
	if best == Named && rest != "" && rest[0] == ' ' && isApart(rest[1:]) {
		return Addressed
	}
	return best
}

// fits reports whether the particle's form fits a word. Words in other scripts fit any.
func (e *ending) fits(word string) bool {
	return e.after == AnySound || !endsInHangul(word) || e.after == LastSound(word)
}

// isApart reports whether a text begins with a particle after a blank.
func isApart(text string) bool {
	for _, word := range apart {
		if after, ok := strings.CutPrefix(text, word); ok && endsWord(after) {
			return true
		}
	}
	return false
}

// endsWord reports whether only characters allowed after a particle are left of the word.
func endsWord(text string) bool {
	for _, t := range trailers {
		if after, ok := strings.CutPrefix(text, t); ok {
			if next, _ := utf8.DecodeRuneInString(after); after == "" || !IsWordRune(next) {
				return true
			}
		}
	}
	return false
}

// IsWordRune reports whether a character is a letter, a digit or an underscore.
func IsWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_')
}
