package handoff

import (
	"cmp"
	"encoding/json"
	"math/big"
	"strings"
)

// decimal is an exact decimal number: 0.digits times ten to the power of exponent, normalized so that equal numbers are equal values:
// digits neither begins nor ends with 0, and zero has no digits and no sign.
type decimal struct {
	negative bool
	digits   string
	exponent *big.Int // nil for zero
}

// decimalOf parses a JSON number.
func decimalOf(n json.Number) (d decimal) {
	s, negative := strings.CutPrefix(string(n), "-")
	mantissa, power := s, ""
	if e := strings.IndexAny(s, "eE"); e >= 0 {
		mantissa, power = s[:e], s[e+1:]
	}
	before, after, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(before+after, "0")
	leading := len(before) + len(after) - len(digits)
	if d.digits = strings.TrimRight(digits, "0"); d.digits == "" {
		return decimal{}
	}
	d.negative, d.exponent = negative, new(big.Int)
	if power != "" {
		d.exponent.SetString(strings.TrimPrefix(power, "+"), 10)
	}
	d.exponent.Add(d.exponent, big.NewInt(int64(len(before)-leading)))
	return d
}

// compare compares absolute values: less than, equal to, or more than 0.
func (d decimal) compare(o decimal) int {
	if d.digits == "" || o.digits == "" {
		return cmp.Compare(len(d.digits), len(o.digits))
	}
	if c := d.exponent.Cmp(o.exponent); c != 0 {
		return c
	}
	return strings.Compare(d.digits, o.digits)
}

// String is equal for equal numbers.
func (d decimal) String() string {
	if d.digits == "" {
		return "0"
	}
	sign := ""
	if d.negative {
		sign = "-"
	}
	return sign + "0." + d.digits + "e" + d.exponent.String()
}
