package plan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// needed checks a text of 1 to most bytes that is not blank, and masks it. hint is for a blank one.
func needed(field, value string, most int, hint string) (string, error) {
	switch {
	case coordination.TrimJS(value) == "":
		return "", invalid(field, field+" is missing or blank", hint)
	case len(value) > most:
		return "", invalid(field, fmt.Sprintf("%s has %d bytes; at most %d are allowed", field, len(value), most), "shorten it")
	case !utf8.ValidString(value):
		return "", invalid(field, field+" is not UTF-8", "send text")
	case strings.ContainsRune(value, 0):
		return "", invalid(field, field+" contains a NUL character", "remove that character")
	}
	return coordination.Mask(value), nil
}

// line is needed for a single line, which it trims.
func line(field, value string, most int, hint string) (string, error) {
	value, err := needed(field, coordination.TrimJS(value), most, hint)
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = invalid(field, field+" has more than one line", "send one line")
	}
	return value, err
}

func invalid(field, text, hint string) *Refusal {
	return &Refusal{Reason: CodeInvalid, Field: field, Text: text, HintText: hint}
}
