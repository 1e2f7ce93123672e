package coordination

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// errorTexts classify the error texts of providers; the first match counts.
var errorTexts = [...]struct {
	words  *regexp.Regexp
	status []string // of HTTP
	code   ReasonCode
}{
	{regexp.MustCompile(`\brate[ _-]?limit(?:ed|s|ing)?\b|\btoo many requests\b`), []string{"429"}, ReasonRateLimited},
	{regexp.MustCompile(`\bcontext[ _]length\b|\btoken limit\b|\b(?:context|prompt|input|conversation|messages?)(?: (?:is|are|was|were|length|size|window|text))* too long\b|\bmaximum context\b`), nil, ReasonContextTooLong},
	{regexp.MustCompile(`\bunauthori[sz]ed\b`), []string{"401", "403"}, ReasonAuth},
	{regexp.MustCompile(`\boverload(?:ed)?\b|\bcapacity\b|\bserver[ _]error\b`), []string{"529", "500", "502", "503"}, ReasonOverloaded},
	{regexp.MustCompile(`\btimeout\b|\btimed out\b|\b(?:took|taking|takes) too long\b|\bconnection (?:was )?(?:reset|refused)\b|\beconn(?:reset|refused)\b|\bsocket hang up\b|\bdns\b|\bfetch failed\b`),
		nil, ReasonModelUnavailable},
}

// maxErrorText bounds the bytes of an error text that are read.
const maxErrorText = 4 << 10

// FailureInText reads the failure of a provider from an error text, by its words or its HTTP status; "" for other texts.
func FailureInText(text string) ReasonCode {
	text = strings.ToLower(head(text, maxErrorText))
	status := statusIn(text)
	for i := range errorTexts {
		e := &errorTexts[i]
		if e.words.MatchString(text) || slices.ContainsFunc(status, func(s string) bool { return slices.Contains(e.status, s) }) {
			return e.code
		}
	}
	return ""
}

var (
	threeDigits = regexp.MustCompile(`\d+`)
	// otherNumber precedes numbers that are not a status, and unit follows them.
	otherNumber = regexp.MustCompile(`\b(?:port|line|pid|row|offset|byte|after)[ =:#]*$`)
	unit        = regexp.MustCompile(`^ ?(?:%|(?:ms|s|secs?|seconds?|mins?|minutes?|milliseconds?|tokens?|bytes?|[km]i?b|chars?|characters?|items?)\b)`)
	statusName  = regexp.MustCompile(`(?:status|code|error|http)[=:]$`)
)

// statusIn lists the numbers of a text that may be an HTTP status: of three digits, and neither part of a word, of
// another number or of an address, nor an amount.
func statusIn(text string) (all []string) {
	for _, at := range threeDigits.FindAllStringIndex(text, -1) {
		before, number, after := text[:at[0]], text[at[0]:at[1]], text[at[1]:]
		if len(number) == 3 && endsBefore(before) && beginsAfter(after) {
			all = append(all, number)
		}
	}
	return all
}

// endsBefore reports whether a status may follow a text.
func endsBefore(text string) bool {
	text = text[max(0, len(text)-20):]
	last, _ := utf8.DecodeLastRuneInString(text)
	switch {
	case text == "":
		return true
	case last == ':':
		return statusName.MatchString(text)
	case unicode.IsLetter(last), unicode.IsDigit(last), strings.ContainsRune("_-./,#", last):
		return false
	}
	return !otherNumber.MatchString(text)
}

// beginsAfter reports whether a status may precede a text.
func beginsAfter(text string) bool {
	first, size := utf8.DecodeRuneInString(text)
	switch {
	case text == "":
		return true
	case first == '_', first == '-', first >= 'a' && first <= 'z':
		return false
	case strings.ContainsRune(".,:", first):
		next, _ := utf8.DecodeRuneInString(text[size:])
		return !unicode.IsDigit(next)
	}
	return !unit.MatchString(text)
}
