package config

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxHexDigits limits the cost of converting a hexadecimal number to decimal.
const maxHexDigits = 256

// number reads a number, starting at the next byte. It keeps the text, so that no digit is lost.
func (p *parser) number() (*value, *Finding) {
	v := &value{kind: number, at: p.here()}
	start := p.pos
	if c := p.peek(); c == '+' || c == '-' {
		p.pos++
	}
	var err *Finding
	switch rest := p.text[p.pos:]; {
	case strings.HasPrefix(rest, "0x"), strings.HasPrefix(rest, "0X"):
		err = p.hexNumber()
	case strings.HasPrefix(rest, "Infinity"):
		p.pos += len("Infinity")
	case strings.HasPrefix(rest, "NaN"):
		p.pos += len("NaN")
	default:
		err = p.decimal()
	}
	if err != nil {
		return nil, err
	}
	if r, _ := utf8.DecodeRuneInString(p.text[p.pos:]); p.pos < len(p.text) && isIdentifierPart(r) {
		return nil, p.fail("found "+p.found()+" in a number", "put a text that begins with a digit in quotes")
	}
	v.text = p.text[start:p.pos]
	return v, nil
}

func (p *parser) hexNumber() *Finding {
	p.pos += len("0x")
	switch n := p.digits(isHex); {
	case n == 0:
		return p.fail("found "+p.found()+" where a hexadecimal digit belongs", "write digits after 0x")
	case n > maxHexDigits:
		return p.fail("a hexadecimal number has too many digits", "put it in quotes if it is not a number")
	}
	return nil
}

func (p *parser) decimal() *Finding {
	first := p.peek()
	whole := p.digits(isDigit)
	if whole > 1 && first == '0' {
		return p.fail("a number has a leading zero", "remove the zero, or put an id in quotes")
	}
	fraction := 0
	if p.peek() == '.' {
		p.pos++
		fraction = p.digits(isDigit)
	}
	if whole+fraction == 0 {
		return p.fail("found "+p.found()+" where a digit belongs", "write a number, or put a text in quotes")
	}
	if p.peek()|0x20 != 'e' {
		return nil
	}
	p.pos++
	if c := p.peek(); c == '+' || c == '-' {
		p.pos++
	}
	if p.digits(isDigit) == 0 {
		return p.fail("found "+p.found()+" where the digits of an exponent belong", "write a number such as 1e3")
	}
	return nil
}

func (p *parser) digits(is func(byte) bool) int {
	start := p.pos
	for p.pos < len(p.text) && is(p.text[p.pos]) {
		p.pos++
	}
	return p.pos - start
}

// jsonNumber formats a number as JSON, keeping every digit. Numbers that JSON cannot represent are not ok.
func jsonNumber(written string) (digits string, ok bool) {
	sign, s := "", strings.TrimPrefix(written, "+")
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		sign, s = "-", rest
	}
	switch {
	case s == "Infinity" || s == "NaN":
		return sign + s, false
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		n, _ := new(big.Int).SetString(s[2:], 16) // known to be digits
		return sign + n.String(), true
	}
	mantissa, exponent := s, ""
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		mantissa, exponent = s[:i], s[i:]
	}
	if strings.HasPrefix(mantissa, ".") {
		mantissa = "0" + mantissa
	}
	return sign + strings.TrimSuffix(mantissa, ".") + exponent, true
}

// wholeNumber is the number as an integer, if every program can represent it.
func wholeNumber(written string) (n int64, ok bool) {
	digits, ok := jsonNumber(written)
	if !ok {
		return 0, false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > maxSafeInteger {
		return 0, false
	}
	return int64(f), true
}

// maxSafeInteger is the largest integer up to which floating point is exact.
const maxSafeInteger = 1 << 53

// asFloat is an integer as read by programs that use floating point, like JavaScript. It is not ok if the value is
// exact, or was not written digit by digit.
func asFloat(written string) (becomes string, ok bool) {
	digits, ok := jsonNumber(written)
	if !ok || strings.ContainsAny(digits, ".eE") {
		return "", false
	}
	f, err := strconv.ParseFloat(digits, 64)
	if err != nil {
		return "Infinity", true
	}
	if n, err := strconv.ParseInt(digits, 10, 64); err == nil && -maxSafeInteger <= n && n <= maxSafeInteger {
		return "", false
	}
	return strconv.FormatFloat(f, 'f', -1, 64), true
}
