package plan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// maxShown is how many bytes of something wrong a refusal tells.
const maxShown = 100

// needed reads a text that says something, of at most so many bytes. It is masked, and otherwise as it was; mend tells who gives none what it
// is to say.
func needed(field, value string, most int, mend string) (string, error) {
	switch {
	case coordination.TrimJS(value) == "":
		return "", invalid(field, field+" is missing or blank", mend)
	case len(value) > most:
		return "", invalid(field, fmt.Sprintf("%s has %d bytes, and may have %d", field, len(value), most), "say it shorter")
	case !utf8.ValidString(value):
		return "", invalid(field, field+" is not UTF-8", "send text")
	case strings.ContainsRune(value, 0):
		return "", invalid(field, field+" holds a character NUL", "leave that character out")
	}
	return coordination.Mask(value), nil
}

// line is needed for a text of one line, without the white space around it.
func line(field, value string, most int, mend string) (string, error) {
	value, err := needed(field, coordination.TrimJS(value), most, mend)
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = invalid(field, field+" has more than one line", "send one line")
	}
	return value, err
}

// shown is something wrong as a refusal tells it.
func shown(value string) string {
	value = strings.ToValidUTF8(coordination.Mask(value), "\uFFFD")
	if len(value) <= maxShown {
		return value
	}
	return strings.ToValidUTF8(value[:maxShown], "") + "..."
}

func invalid(field, text, mend string) *Refusal {
	return &Refusal{Reason: CodeInvalid, Field: field, Text: text, Mend: mend}
}
