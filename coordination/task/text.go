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

// Limits of names and of quoted texts.
const (
	titleLength = 200      // characters
	maxName     = 200      // bytes of an id or source
	maxRead     = 64 << 10 // bytes searched for secrets before an excerpt is cut
)

// text checks a text of at most so many bytes, which may be "", and masks it.
func text(field, value string, most int) (string, error) {
	switch {
	case len(value) > most:
		return "", invalid(field, fmt.Sprintf("%s has %d bytes; at most %d are allowed", field, len(value), most), "shorten it")
	case !utf8.ValidString(value):
		return "", invalid(field, field+" is not UTF-8", "send text")
	case strings.ContainsRune(value, 0):
		return "", invalid(field, field+" contains a NUL character", "remove that character")
	}
	return coordination.Mask(value), nil
}

// needed is text for one that must not be blank; hint is for a blank one.
func needed(field, value string, most int, hint string) (string, error) {
	if coordination.TrimJS(value) == "" {
		return "", invalid(field, field+" is missing or blank", hint)
	}
	return text(field, value, most)
}

// name checks a single line, such as an id, and trims it.
func name(field, value string) (string, error) {
	value, err := text(field, coordination.TrimJS(value), maxName)
	if err == nil && strings.ContainsFunc(value, unicode.IsControl) {
		err = invalid(field, field+" has more than one line", "send one line")
	}
	return value, err
}

// named is name for one that must not be blank; hint is for a blank one.
func named(field, value, hint string) (string, error) {
	value, err := name(field, value)
	if err == nil && value == "" {
		err = invalid(field, field+" is missing or blank", hint)
	}
	return value, err
}

// names checks a list of names and drops blank and duplicate ones; fold ignores case.
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
			return nil, invalid(field, fmt.Sprintf("%s may list at most %d", field, most), "list fewer")
		}
	}
	return list, nil
}

// date checks a date, YYYY-MM-DD or RFC 3339; "" is none.
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
	return "", invalid(field, field+" is not a date: "+coordination.Quoted(value), "write 2026-02-28 or 2026-02-28T09:00:00Z")
}

// checkDates refuses a start date after the due date. If either is a day, days are compared.
func checkDates(start, due string) error {
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
	return invalid("start_date", "start_date "+start+" is after due_date "+due, "set start_date to due_date or earlier, or omit one of them")
}

// priority returns a valid priority, medium for anything else.
func priority(value string) string {
	switch value = strings.ToLower(coordination.TrimJS(value)); value {
	case "urgent", "high", "low":
		return value
	}
	return "medium"
}

// title is the first non-blank line of a description.
func title(description string) string {
	line, _, _ := strings.Cut(coordination.TrimJS(description), "\n")
	return coordination.Head(coordination.TrimJS(line), titleLength)
}

// line limits a generated line of progress to its maximum size.
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

// excerpt is the beginning of another's text, without NUL, of at most so many characters.
func excerpt(text string, length int) string {
	if len(text) > maxRead {
		text = text[:maxRead]
		if blank := strings.LastIndexAny(text, " \t\r\n"); blank > 0 {
			text = text[:blank] // so that no secret is masked only in part
		}
	}
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "")
	return coordination.Head(coordination.Mask(text), length)
}

func invalid(field, text, hint string) *Refusal {
	return &Refusal{Reason: CodeInvalid, Field: field, Text: text, HintText: hint}
}
