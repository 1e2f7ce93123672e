package console

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	sqlite3 "modernc.org/sqlite"
)

// MaxPattern is the maximum length of a LIKE or GLOB pattern in bytes.
const MaxPattern = 1_000

// addFunctions replaces SQLite's functions whose time grows with the product of their arguments' sizes, so that two
// large values could keep one call busy for minutes without a chance to interrupt it. The results are the same, except
// for the last digit of a real converted to text, and for invalid UTF-8. most is the maximum size of a value in bytes;
// over returns why the function must stop.
func addFunctions(d *sqlite3.Driver, most int, over func() error) error {
	like, glob := &matcher{over: over}, &matcher{over: over}
	for _, f := range []struct {
		name      string
		arguments int32 // -1: two or three
		do        func(args []driver.Value) (driver.Value, error)
	}{
		{"instr", 2, instr},
		{"replace", 3, func(args []driver.Value) (driver.Value, error) { return replace(args, most) }},
		{"trim", 2, func(args []driver.Value) (driver.Value, error) { return trim(args, strings.TrimFunc) }},
		{"ltrim", 2, func(args []driver.Value) (driver.Value, error) { return trim(args, strings.TrimLeftFunc) }},
		{"rtrim", 2, func(args []driver.Value) (driver.Value, error) { return trim(args, strings.TrimRightFunc) }},
		{"like", -1, like.like},
		{"glob", 2, glob.glob},
	} {
		call := func(_ *sqlite3.FunctionContext, args []driver.Value) (driver.Value, error) {
			if err := over(); err != nil {
				return nil, err
			}
			if len(args) < 2 || len(args) > 3 {
				return nil, fmt.Errorf("wrong number of arguments to function %s()", f.name)
			}
			if args[0] == nil || args[1] == nil {
				return nil, nil
			}
			return f.do(args)
		}
		// Arguments are SQLite's own memory: copying a blob fails with a panic in the driver if SQLite has none for it. Then it is
		// empty here, and the statement fails.
		impl := sqlite3.FunctionImpl{NArgs: f.arguments, Deterministic: true, Scalar: call, VolatileArgs: true}
		if err := d.RegisterFunction(f.name, &impl); err != nil {
			return fmt.Errorf("register %s: %w", f.name, err)
		}
	}
	return nil
}

// matcher matches texts against patterns, and caches the last pattern.
type matcher struct {
	over func() error

	text    string
	escape  rune
	pattern pattern
}

// like implements LIKE: pattern, text, and optionally the escape character.
func (m *matcher) like(args []driver.Value) (driver.Value, error) {
	escape := rune(0)
	if len(args) > 2 {
		if args[2] == nil {
			return nil, nil
		}
		text := textOf(args[2])
		r, n := utf8.DecodeRuneInString(text)
		if n == 0 || n < len(text) {
			return nil, errors.New("ESCAPE expression must be a single character")
		}
		escape = r
	}
	return m.match(args, escape, func(text string) pattern { return likePattern(text, escape) })
}

func (m *matcher) glob(args []driver.Value) (driver.Value, error) {
	return m.match(args, 0, globPattern)
}

func (m *matcher) match(args []driver.Value, escape rune, read func(string) pattern) (driver.Value, error) {
	for _, a := range args[:2] {
		if _, is := a.([]byte); is {
			return int64(0), nil
		}
	}
	wanted, text := endedByNUL(textOf(args[0])), endedByNUL(textOf(args[1]))
	if len(wanted) > MaxPattern {
		return nil, fmt.Errorf("a pattern of LIKE or GLOB may have at most %d bytes", MaxPattern)
	}
	if m.pattern.segments == nil || m.text != wanted || m.escape != escape {
		wanted = strings.Clone(wanted) // the argument is gone after the call
		m.text, m.escape, m.pattern = wanted, escape, read(wanted)
	}
	found := m.pattern.matches(text, func() bool { return m.over() != nil })
	if err := m.over(); err != nil {
		return nil, err
	}
	if found {
		return int64(1), nil
	}
	return int64(0), nil
}

// endedByNUL cuts a text at its first NUL, as C does.
func endedByNUL(text string) string {
	text, _, _ = strings.Cut(text, "\x00")
	return text
}

// instr returns where the second value occurs in the first: in characters from 1, in bytes for two blobs; 0 if it does
// not.
func instr(args []driver.Value) (driver.Value, error) {
	first, oneBlob := args[0].([]byte)
	second, twoBlob := args[1].([]byte)
	if oneBlob && twoBlob {
		return int64(strings.Index(string(first), string(second)) + 1), nil
	}
	text := textOf(args[0])
	at := strings.Index(text, textOf(args[1]))
	if at < 0 {
		return int64(0), nil
	}
	return int64(utf8.RuneCountInString(text[:at]) + 1), nil
}

// replace replaces the second value by the third wherever it occurs in the first. most is the maximum size of the
// result in bytes.
func replace(args []driver.Value, most int) (driver.Value, error) {
	text, old := textOf(args[0]), textOf(args[1])
	if old == "" {
		return text, nil
	}
	if args[2] == nil {
		return nil, nil
	}
	put := textOf(args[2])
	if grown := len(put) - len(old); grown > 0 && strings.Count(text, old) > (most-len(text))/grown {
		return make([]byte, most+1), nil // SQLite refuses it as it refuses the result of its own function
	}
	return strings.ReplaceAll(text, old, put), nil
}

func trim(args []driver.Value, how func(string, func(rune) bool) string) (driver.Value, error) {
	set := map[rune]bool{}
	for _, r := range textOf(args[1]) {
		set[r] = true
	}
	return how(textOf(args[0]), func(r rune) bool { return set[r] }), nil
}

// textOf converts a value to text as SQLite does.
func textOf(v driver.Value) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return realText(v)
	}
	return fmt.Sprint(v)
}

// realText formats a real as SQLite does: in 15 digits if that is exact, else in 17, and never like an integer. SQLite
// may round the seventeenth digit differently.
func realText(v float64) string {
	switch {
	case math.IsInf(v, 1):
		return "Inf"
	case math.IsInf(v, -1):
		return "-Inf"
	case v == 0:
		return "0.0" // minus zero too
	}
	const short, long = 15, 17
	text := strconv.FormatFloat(v, 'e', short-1, 64)
	if read, err := strconv.ParseFloat(text, 64); err != nil || read != v {
		text = strconv.FormatFloat(v, 'e', long-1, 64)
	}
	mantissa, power, _ := strings.Cut(text, "e")
	mantissa = strings.TrimRight(mantissa, "0")
	if exponent, err := strconv.Atoi(power); err == nil && exponent >= -4 && exponent < long {
		sign, digits := "", strings.Replace(mantissa, ".", "", 1)
		if digits[0] == '-' {
			sign, digits = "-", digits[1:]
		}
		return sign + pointed(digits, exponent)
	}
	if strings.HasSuffix(mantissa, ".") {
		mantissa += "0"
	}
	return mantissa + "e" + power
}

// pointed writes digits, the first of which has the weight 10^exponent, with a point and at least one digit on either
// side.
func pointed(digits string, exponent int) string {
	if exponent < 0 {
		return "0." + strings.Repeat("0", -exponent-1) + digits
	}
	if missing := exponent + 2 - len(digits); missing > 0 {
		digits += strings.Repeat("0", missing)
	}
	return digits[:exponent+1] + "." + digits[exponent+1:]
}
