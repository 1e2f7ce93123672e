package config

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxHexDigits bounds the work of writing a hexadecimal number in decimal.
const maxHexDigits = 256

// number reads a number; the next byte is its first. It keeps its text, so that no digit is lost.
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
		return p.fail("a hexadecimal number has too many digits", "put it in quotes if it is no number")
	}
	return nil
}

func (p *parser) decimal() *Finding {
	first := p.peek()
	whole := p.digits(isDigit)
	if whole > 1 && first == '0' {
		return p.fail("a number has a zero before its other digits", "remove the zero, or put an id in quotes")
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

// digits passes over digits and returns how many there were.
func (p *parser) digits(is func(byte) bool) int {
	start := p.pos
	for p.pos < len(p.text) && is(p.text[p.pos]) {
		p.pos++
	}
	return p.pos - start
}

// jsonNumber writes a number as JSON does, keeping every digit. What JSON has no number for is not ok.
func jsonNumber(written string) (digits string, ok bool) {
	sign, s := "", strings.TrimPrefix(written, "+")
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		sign, s = "-", rest
	}
	switch {
	case s == "Infinity" || s == "NaN":
		return sign + s, false
	case strings.HasPrefix(s, "0x") || strings.HasPrefix(s, "0X"):
		n, _ := new(big.Int).SetString(s[2:], 16) // the parser has seen that these are digits
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

// wholeNumber is the number as an integer, if it is one that every program can hold.
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

// maxSafeInteger is the number up to which floating point holds every whole one.
const maxSafeInteger = 1 << 53

// asFloat is what a whole number becomes in programs that keep numbers as floating point, as JavaScript does. It is not ok if such a
// program holds it exactly, or if it was not written digit by digit.
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
