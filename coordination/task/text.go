package task

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination"
)

// Bounds of what is told rather than kept, and of names.
const (
	titleLength = 200      // characters
	maxName     = 200      // bytes of an id, a source
	maxShown    = 100      // bytes of something wrong, as a refusal tells it
	maxRead     = 64 << 10 // bytes of a text that are looked at for an excerpt
)

// text reads a text that may be "", of at most so many bytes. It is masked, and otherwise as it was.
func text(field, value string, most int) (string, error) {
	switch {
	case len(value) > most:
		return "", invalid(field, fmt.Sprintf("%s has %d bytes, and may have %d", field, len(value), most), "say it shorter")
	case !utf8.ValidString(value):
		return "", invalid(field, field+" is not UTF-8", "send text")
	case strings.ContainsRune(value, 0):
		return "", invalid(field, field+" holds a character NUL", "leave that character out")
	}
	return coordination.Mask(value), nil
}

// needed reads a text that says something; mend tells who gives none what it is to say.
func needed(field, value string, most int, mend string) (string, error) {
	if coordination.TrimJS(value) == "" {
		return "", invalid(field, field+" is missing or blank", mend)
	}
	return text(field, value, most)
}

// name reads an id or another word of one line, without the white space around it.
func name(field, value string) (string, error) {
	value, err := text(field, coordination.TrimJS(value), maxName)
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = invalid(field, field+" has more than one line", "send one line")
	}
	return value, err
}

// named is name, of what has to be there; mend tells who gives none what it is.
func named(field, value, mend string) (string, error) {
	value, err := name(field, value)
	if err == nil && value == "" {
		err = invalid(field, field+" is missing or blank", mend)
	}
	return value, err
}

// names reads a list of names, each of them once, without those that are blank. fold takes capitals and small letters for the same.
func names(field string, values []string, most int, fold bool) (list []string, err error) {
	for _, value := range values {
		if value, err = name(field, value); err != nil {
			return nil, err
		}
		if fold {
			value = strings.ToLower(value)
		}
		if value != "" && !slices.Contains(list, value) {
			list = append(list, value)
		}
		if len(list) > most {
			return nil, invalid(field, fmt.Sprintf("%s may list %d at most", field, most), "list fewer")
		}
	}
	return list, nil
}

// date reads a day or a time, as 2026-02-28 or RFC 3339; "" is none.
func date(field, value string) (string, error) {
	value = coordination.TrimJS(value)
	if value == "" {
		return "", nil
	}
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if _, err := time.Parse(layout, value); err == nil {
			return value, nil
		}
	}
	return "", invalid(field, field+" is no date: "+shown(value), "write 2026-02-28 or 2026-02-28T09:00:00Z")
}

// begunBeforeDue refuses a start date that is after the due date. A day is all of it: where one of them is, days are what counts.
func begunBeforeDue(start, due string) error {
	if start == "" || due == "" {
		return nil
	}
	const day = len(time.DateOnly)
	late := start[:day] > due[:day]
	if len(start) > day && len(due) > day {
		from, err := time.Parse(time.RFC3339, start)
		to, err2 := time.Parse(time.RFC3339, due)
		late = err == nil && err2 == nil && from.After(to)
	}
	if !late {
		return nil
	}
	return invalid("start_date", "start_date "+start+" is after due_date "+due, "give a start_date that is not after due_date, or leave one of them out")
}

// priority is one of those that there are.
func priority(value string) string {
	switch value = strings.ToLower(coordination.TrimJS(value)); value {
	case "urgent", "high", "low":
		return value
	}
	return "medium"
}

// title is the first line of a description that says something.
func title(description string) string {
	line, _, _ := strings.Cut(coordination.TrimJS(description), "\n")
	return coordination.Head(coordination.TrimJS(line), titleLength)
}

// line is a line of progress that we write, of as many bytes as it may have.
func line(text string) string {
	const dots = "..."
	if len(text) <= MaxLine {
		return text
	}
	return strings.ToValidUTF8(text[:MaxLine-len(dots)], "") + dots
}

// after is a line of progress that ends with a text, if there is one.
func after(words, text string) string {
	if coordination.TrimJS(text) == "" {
		return words
	}
	return line(words + ": " + text)
}

// excerpt is what a delegation keeps of a text that others have made: at most so many characters of its beginning, without NUL.
func excerpt(text string, length int) string {
	if len(text) > maxRead {
		text = text[:maxRead]
		if blank := strings.LastIndexAny(text, " \t\r\n"); blank > 0 {
			text = text[:blank] // so that no part of a secret is taken for something else
		}
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	return coordination.Head(coordination.Mask(text), length)
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
