package coordination

import "unicode"

// Language is one in which people are told of what happens.
type Language string

const (
	Korean  Language = "ko"
	English Language = "en"
)

// LanguageOf is the language of a team whose members have these names: Korean where one of them is written so.
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

// Say is the one of two texts that is in the language. What is no language known here is English.
func (l Language) Say(korean, english string) string {
	if l == Korean {
		return korean
	}
	return english
}
