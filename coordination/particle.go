package coordination

import (
	"strings"
	"unicode"
)

// Sound is the last sound of a name read in Korean.
type Sound int

const (
	AnySound Sound = iota // unknown
	Vowel
	Consonant
)

// AsSubject adds the subject particle: 이 after a consonant, 가 after a vowel, 이(가) if unknown.
func AsSubject(name string) string { return name + particle(name, "이", "가") }

// AsTopic adds the topic particle, 은 or 는.
func AsTopic(name string) string { return name + particle(name, "은", "는") }

// AndName adds the conjunction, 과 or 와.
func AndName(name string) string { return name + particle(name, "과", "와") }

func particle(name, consonant, vowel string) string {
	switch LastSound(name) {
	case Consonant:
		return consonant
	case Vowel:
		return vowel
	}
	return consonant + "(" + vowel + ")"
}

// LastSound returns the last sound of a name.
//
// Hangul is exact. Digits are read in Korean (1 is 일). Latin letters with a lower-case one are read as a word, which ends in a consonant
// after l, m, n, and after b, c, k, p, t with a vowel or another such letter before; else letter by letter, of which L, M, N and R end
// in one. A final parenthesis, and characters that are neither letter nor digit, are skipped.
func LastSound(name string) Sound {
	switch closed, known := endsClosed(name); {
	case !known:
		return AnySound
	case closed:
		return Consonant
	}
	return Vowel
}

// endsClosed reports whether a name read in Korean ends in a consonant.
func endsClosed(name string) (closed, known bool) {
	name = strings.TrimRightFunc(name, unicode.IsSpace)
	if open := strings.LastIndexByte(name, '('); open > 0 && strings.HasSuffix(name, ")") {
		name = name[:open]
	}
	runes := []rune(strings.TrimRightFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
	if len(runes) == 0 {
		return false, false
	}
	switch last := runes[len(runes)-1]; {
	case last >= '가' && last <= '힣':
		const finals = 28
		return (last-'가')%finals != 0, true
	case last >= 'ᆨ' && last <= 'ᇿ', last >= 'ㄱ' && last <= 'ㅎ':
		return true, true
	case last >= 'ᅡ' && last <= 'ᆢ', last >= 'ㅏ' && last <= 'ㅣ':
		return false, true
	case last >= '0' && last <= '9':
		return strings.ContainsRune("013678", last), true
	case last < unicode.MaxASCII:
		return latinClosed(runes), true
	}
	return false, false
}

// latinClosed handles a Latin word.
func latinClosed(runes []rune) bool {
	from := len(runes)
	for from > 0 && runes[from-1] < unicode.MaxASCII && unicode.IsLetter(runes[from-1]) {
		from--
	}
	word := string(runes[from:])
	lower := strings.ToLower(word)
	last := lower[len(lower)-1]
	if word == strings.ToUpper(word) {
		return strings.IndexByte("lmnr", last) >= 0
	}
	before := byte(0)
	if len(lower) > 1 {
		before = lower[len(lower)-2]
	}
	switch last {
	case 'l', 'm', 'n':
		return true
	case 'g':
		return before == 'n'
	case 'c', 'k', 'p', 't', 'b':
		return before == last || strings.IndexByte("aeiouyc", before) >= 0
	case 'e': // silent after these: Jane, Google
		return strings.IndexByte("lmn", before) >= 0 && len(lower) > 3
	}
	return false
}
