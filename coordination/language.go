package coordination

import "unicode"

// Language is a language for texts to people.
type Language string

const (
	Korean  Language = "ko"
	English Language = "en"
)

// LanguageOf returns the language of a team with these names: Korean if one contains Hangul, else English.
func LanguageOf(names ...string) Language {
	for _, name := range names {
		for _, r := range name {
			if unicode.Is(unicode.Hangul, r) {
				return Korean
			}
		}
	}
	return English
}

// Say selects a text by language; unknown languages are English.
func (l Language) Say(korean, english string) string {
	if l == Korean {
		return korean
	}
	return english
}
