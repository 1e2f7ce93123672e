package monitor

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/coordination"
)

// parameters reads a request's query. Reading continues after an error, and err keeps the first.
type parameters struct {
	values url.Values
	err    error
}

func parametersOf(c echo.Context) *parameters {
	values, err := url.ParseQuery(c.Request().URL.RawQuery)
	p := &parameters{values: values}
	if err != nil {
		p.refuse("query", c.Request().URL.RawQuery, "escape everything but letters and digits as %XX, in UTF-8")
	}
	return p
}

func (p *parameters) refuse(field, value, hint string) { p.refuseWord(field, value, nil, hint) }

func (p *parameters) refuseWord(field, value string, allowed []string, hint string) {
	if p.err != nil {
		return
	}
	value = cut(value)
	p.err = &problem{Status: http.StatusBadRequest, Code: "invalid_parameter", Field: field, Value: value, Allowed: allowed, Hint: hint,
		Message: fmt.Sprintf("Bad value %q for %s: %s", value, field, hint)}
}

// cut shortens a value for an error.
func cut(value string) string {
	const shown = 80
	if utf8.RuneCountInString(value) > shown {
		return string([]rune(value)[:shown]) + "..."
	}
	return value
}

// list reads a parameter that may be repeated and may contain several values separated by commas. Blank values count
// as missing.
func (p *parameters) list(name string) []string {
	list := []string{}
	for _, value := range p.values[name] {
		for part := range strings.SplitSeq(value, ",") {
			if part = coordination.TrimJS(part); part != "" {
				list = append(list, part)
			}
		}
	}
	return list
}

// raw echoes a parameter: its values joined by commas, or nil if missing.
func (p *parameters) raw(name string) *string {
	if len(p.list(name)) == 0 {
		return nil
	}
	raw := strings.Join(p.values[name], ",")
	return &raw
}

// first is a parameter's first non-blank value.
func (p *parameters) first(name string) string {
	for _, value := range p.values[name] {
		if value = coordination.TrimJS(value); value != "" {
			return value
		}
	}
	return ""
}

func (p *parameters) words(name string, known ...string) []string {
	list := p.list(name)
	for _, word := range list {
		if !slices.Contains(known, word) {
			p.refuseWord(name, word, known, "use "+strings.Join(known, ", "))
		}
	}
	return list
}

// word reads one value from an enumeration; "" if missing.
func (p *parameters) word(name string, known ...string) string {
	switch list := p.words(name, known...); len(list) {
	case 0:
		return ""
	case 1:
		return list[0]
	default:
		p.refuseWord(name, list[1], known, "name one, or leave it out for all")
		return list[0]
	}
}

func (p *parameters) roles() []string {
	var known []string
	for _, role := range coordination.Roles() {
		known = append(known, string(role))
	}
	return p.words("role", known...)
}

func (p *parameters) categories() []string {
	known := []string{anyCategory}
	for _, c := range coordination.Categories() {
		known = append(known, string(c.Category))
	}
	list := p.words("viewCategory", known...)
	if slices.Contains(list, anyCategory) {
		return nil
	}
	return list
}

const anyCategory = "all"

// integer reads a number between least and most, with a default.
func (p *parameters) integer(name string, missing, least, most int64) int64 {
	text := p.first(name)
	if text == "" {
		return missing
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		hint := fmt.Sprintf("give a whole number from %d to %d", least, most)
		if most == math.MaxInt64 {
			hint = fmt.Sprintf("give a whole number from %d", least)
		}
		p.refuse(name, text, hint)
		return missing
	}
	return n
}

// Limits of limit.
const (
	defaultLimit = 100
	maxLimit     = 1_000
)

func (p *parameters) limit() int { return int(p.integer("limit", defaultLimit, 1, maxLimit)) }

func (p *parameters) minSeq() int64 { return p.integer("min_seq", 0, 0, math.MaxInt64) }

// choice reads one value of an enumeration; the first is the default.
func (p *parameters) choice(name string, words ...string) string {
	text := p.first(name)
	if text == "" {
		return words[0]
	}
	if !slices.Contains(words, text) {
		p.refuseWord(name, text, words, "use "+strings.Join(words, " or ")+", or leave it out")
	}
	return text
}

// internal reads scope: whether internal events are included.
func (p *parameters) internal() bool { return p.choice("scope", "monitor", "all") == "all" }

// maxInstantMs is the largest time in ECMAScript.
const maxInstantMs = 8.64e15

// instant reads a time as ms since 1970 or as a date; nil if missing.
func (p *parameters) instant(name string) *float64 {
	text := p.first(name)
	if text == "" {
		return nil
	}
	ms, ok := coordination.ParseTime(text)
	if !ok {
		// An unescaped plus arrives as a space.
		ms, ok = coordination.ParseTime(strings.Replace(text, " ", "+", 1))
	}
	if !ok && json.Valid([]byte(text)) {
		ms, ok = coordination.NumberValue([]byte(text))
	}
	if !ok || math.Abs(ms) > maxInstantMs {
		p.refuse(name, text, "give a time such as 2026-02-20T12:00:00Z, or milliseconds since 1970")
		return nil
	}
	return &ms
}
