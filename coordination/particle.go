package coordination

import (
	"strings"
	"unicode"
)

// Sound is what a name ends with when it is read aloud in Korean.
type Sound int

const (
	AnySound Sound = iota // it cannot be read
	Vowel
	Consonant
)

// AsSubject is a name with the particle that makes it the subject of a Korean sentence: 이 after a consonant, 가 after a vowel; both, 이(가), where
// it cannot be read.
func AsSubject(name string) string { return name + particle(name, "이", "가") }

// AsTopic is a name with the particle that makes it the topic: 은 or 는.
func AsTopic(name string) string { return name + particle(name, "은", "는") }

// AndName is a name with the particle that joins another: 과 or 와.
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

// LastSound is what a name ends with.
//
// Hangul says itself how it ends. Digits are read in Korean (1 is 일). Latin letters are read as a word where one is lower-case, which ends in a
// consonant after l, m, n, and after b, c, k, p, t with a vowel or another such letter before; else letter by letter, of which L, M, N and R end
// in one. What stands in parentheses at the end, and what is neither letter nor digit, is not read.
func LastSound(name string) Sound {
	switch closed, known := endsClosed(name); {
	case !known:
		return AnySound
	case closed:
		return Consonant
	}
	return Vowel
}

// endsClosed says whether a name ends in a consonant when it is read aloud in Korean.
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

// latinClosed reads the Latin word that ends here.
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
