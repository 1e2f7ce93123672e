package a2a

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// textFailures are the kinds of failures by the words of an error, of which the first that fits counts.
var textFailures = [...]struct {
	words   *regexp.Regexp
	status  []string // of HTTP
	failure Failure
}{
	{regexp.MustCompile(`\brate[ _-]?limit(?:ed|s|ing)?\b|\btoo many requests\b`), []string{"429"}, Failure{transient, codeRateLimit, true}},
	{regexp.MustCompile(`\bcontext[ _]length\b|\btoken limit\b|\btoo long\b|\bmaximum context\b`), nil, Failure{permanent, codeContext, false}},
	{regexp.MustCompile(`\bunauthori[sz]ed\b`), []string{"401", "403"}, Failure{permanent, codeAuth, false}},
	{regexp.MustCompile(`\boverload(?:ed)?\b|\bcapacity\b|\bserver[ _]error\b`), []string{"529", "500", "502", "503"}, Failure{transient, codeOverload, true}},
	{regexp.MustCompile(`\btimeout\b|\btimed out\b|\bconnection (?:was )?(?:reset|refused)\b|\beconn(?:reset|refused)\b|\bsocket hang up\b|\bdns\b|\bfetch failed\b`),
		nil, Failure{transient, codeConnection, true}},
	{regexp.MustCompile(`\bnot found\b|\binvalid\b|\bdenied\b|\bforbidden\b`), nil, Failure{permanent, codeRejected, false}},
}

// maxErrorText is how many bytes of an error are looked at, at most.
const maxErrorText = 4 << 10

// failureOfText goes by the words of an error, for runs whose class nobody has written down: those of the reference system.
func failureOfText(text string) Failure {
	text = strings.ToLower(bounded(text, maxErrorText))
	status := statusIn(text)
	for i := range textFailures {
		f := &textFailures[i]
		if f.words.MatchString(text) || slices.ContainsFunc(status, func(s string) bool { return slices.Contains(f.status, s) }) {
			return f.failure
		}
	}
	return Failure{unknown, codeUnknown, true}
}

var (
	threeDigits = regexp.MustCompile(`\d+`)
	// otherNumber stands before numbers that are no status, and unit after them.
	otherNumber = regexp.MustCompile(`\b(?:port|line|pid|row|offset|byte|after)[ =:#]*$`)
	unit        = regexp.MustCompile(`^ ?(?:%|(?:ms|s|secs?|seconds?|mins?|minutes?|milliseconds?|tokens?|bytes?|[km]i?b|chars?|characters?|items?)\b)`)
	statusName  = regexp.MustCompile(`(?:status|code|error|http)[=:]$`)
)

// statusIn lists the numbers of a text that may be a status of HTTP: of three digits, and neither part of a word, of another number or of an
// address, nor an amount.
func statusIn(text string) (all []string) {
	for _, at := range threeDigits.FindAllStringIndex(text, -1) {
		before, number, after := text[:at[0]], text[at[0]:at[1]], text[at[1]:]
		if len(number) == 3 && endsBefore(before) && beginsAfter(after) {
			all = append(all, number)
		}
	}
	return all
}

// endsBefore reports whether a status may follow on a text.
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

// beginsAfter reports whether a status may stand before a text.
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
