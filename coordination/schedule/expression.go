package schedule

import (
	"fmt"
	"strconv"
	"strings"
)

// maxExpression limits a cron expression, in bytes.
const maxExpression = 256

// Expression is a parsed cron expression with five to seven fields: seconds (optional, first), minute, hour, day of the month, month,
// day of the week, year (optional, last). It understands what croner 11 does: names, lists, ranges, steps, L, W, # and nicknames such as
// @daily. If both days are restricted, one of them is enough; a day of the week that begins with + is required as well.
type Expression struct {
	second, minute, hour uint64   // bits of matching values
	day                  uint64   // bits 1 to 31
	nearest              uint64   // days whose nearest working day matches: 15W
	lastDay, lastWorkday bool     // L and LW
	month                uint64   // bits 1 to 12
	weekday              [7]uint8 // which of a month's, from Sunday: bits 0 to 4, or nthLast
	years                []year   // nil: all
	anyDay, anyWeekday   bool
	both                 bool // the day of the month and of the week have to match
	fixed                bool // one time of a day, see Next
}

// year is a range of years with a step.
type year struct{ from, to, step int }

const (
	nthAll  = 0b011111
	nthLast = 0b100000
	maxYear = 9999
)

var nicknames = map[string]string{
	"@yearly": "0 0 1 1 *", "@annually": "0 0 1 1 *", "@monthly": "0 0 1 * *", "@weekly": "0 0 * * 0", "@daily": "0 0 * * *",
	"@midnight": "0 0 * * *", "@hourly": "0 * * * *",
}

var (
	monthNames   = []string{"", "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}
	weekdayNames = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}
)

// field describes a field of an expression.
type field struct {
	name     string
	min, max int // of numbers
	top      int // of steps from *
	names    []string
}

var (
	secondField  = field{"second", 0, 59, 59, nil}
	minuteField  = field{"minute", 0, 59, 59, nil}
	hourField    = field{"hour", 0, 23, 23, nil}
	dayField     = field{"day of the month", 1, 31, 31, nil}
	monthField   = field{"month", 1, 12, 12, monthNames}
	weekdayField = field{"day of the week", 0, 7, 6, weekdayNames}
	yearField    = field{"year", 1, maxYear, maxYear, nil}
)

// ParseExpression parses a cron expression. The error says which field is wrong.
func ParseExpression(text string) (*Expression, error) {
	if len(text) > maxExpression {
		return nil, fmt.Errorf("an expression has at most %d bytes", maxExpression)
	}
	if full, ok := nicknames[strings.ToLower(strings.TrimSpace(text))]; ok {
		text = full
	}
	parts := strings.Fields(text)
	if len(parts) < 5 || len(parts) > 7 {
		return nil, fmt.Errorf("an expression has 5 to 7 fields, this one has %d", len(parts))
	}
	for i := range parts {
		parts[i] = strings.ReplaceAll(parts[i], "?", "*")
	}
	if len(parts) == 5 {
		parts = append([]string{"0"}, parts...)
	}
	if len(parts) == 6 {
		parts = append(parts, "*")
	}
	x := &Expression{anyDay: parts[3] == "*"}
	for i, part := range []struct {
		field field
		bits  *uint64
	}{{secondField, &x.second}, {minuteField, &x.minute}, {hourField, &x.hour}} {
		if err := part.field.bits(parts[i], part.bits); err != nil {
			return nil, err
		}
	}
	if err := x.days(parts[3]); err != nil {
		return nil, err
	}
	if err := monthField.bits(parts[4], &x.month); err != nil {
		return nil, err
	}
	if err := x.weekdays(parts[5]); err != nil {
		return nil, err
	}
	if err := x.ofYears(parts[6]); err != nil {
		return nil, err
	}
	x.fixed = single(parts[0], x.second) && single(parts[1], x.minute) && single(parts[2], x.hour)
	return x, nil
}

// single reports whether a field is one value, written as such.
func single(text string, bits uint64) bool {
	return !strings.ContainsAny(text, "*/") && bits&(bits-1) == 0
}

// span is what one item of a list matches: from, from+step, ..., at most to.
type span struct{ from, to, step int }

func (s span) bits() (bits uint64) {
	for n := s.from; n <= s.to; n += s.step {
		bits |= 1 << n
	}
	return bits
}

func (f *field) bits(text string, bits *uint64) error {
	for item := range strings.SplitSeq(text, ",") {
		s, err := f.span(item)
		if err != nil {
			return err
		}
		*bits |= s.bits()
	}
	return nil
}

// span parses an item of a list: *, a number or name, a range, and a step of * or a range.
func (f *field) span(item string) (s span, err error) {
	rest, stepText, stepped := strings.Cut(item, "/")
	fromText, toText, ranged := strings.Cut(rest, "-")
	switch {
	case rest == "*":
		s = span{f.min, f.top, 1}
	case stepped && !ranged:
		return s, f.wrong(item, "a step needs * or a range, e.g. */5 or 10-30/5")
	default:
		if s.from, err = f.value(fromText, item, false); err != nil {
			return s, err
		}
		s.to, s.step = s.from, 1
		if ranged {
			if s.to, err = f.value(toText, item, true); err != nil {
				return s, err
			}
		}
		if s.to < s.from {
			return s, f.wrong(item, "the range ends before it begins")
		}
	}
	if stepped {
		if s.step, err = digits(stepText); err != nil || s.step == 0 || s.step > f.top-min(f.min, 1)+1 {
			return s, f.wrong(item, "the step has to be a number of 1 to "+strconv.Itoa(f.top-min(f.min, 1)+1))
		}
	}
	return s, nil
}

func (f *field) value(text, item string, last bool) (int, error) {
	if n, err := digits(text); err == nil && n >= f.min && n <= f.max {
		return n, nil
	}
	for n, name := range f.names {
		if name == "" || !strings.EqualFold(name, text) {
			continue
		}
		if last && n == 0 {
			return 7, nil // a range ends with Sunday
		}
		return n, nil
	}
	return 0, f.wrong(item, fmt.Sprintf("use %d to %d", f.min, f.max))
}

func (f *field) wrong(item, hint string) error {
	return fmt.Errorf("%s: cannot read %q: %s", f.name, item, hint)
}

// digits parses a number without a sign.
func digits(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	return int(n), err
}

func (x *Expression) days(text string) error {
	if strings.EqualFold(text, "LW") {
		x.lastWorkday = true
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		number, near := strings.CutSuffix(strings.ToUpper(item), "W")
		switch {
		case strings.EqualFold(item, "L"):
			x.lastDay = true
		case near:
			n, err := digits(number)
			if err != nil || n < 1 || n > 31 {
				return dayField.wrong(item, "W follows one day, e.g. 15W")
			}
			x.nearest |= 1 << n
		default:
			s, err := dayField.span(item)
			if err != nil {
				return err
			}
			x.day |= s.bits()
		}
	}
	return nil
}

func (x *Expression) weekdays(text string) error {
	text, x.both = strings.CutPrefix(text, "+")
	x.anyWeekday = text == "*"
	for item := range strings.SplitSeq(text, ",") {
		which, nth := item, uint8(nthAll)
		if head, number, ok := strings.Cut(item, "#"); ok {
			n, err := digits(number)
			switch {
			case strings.EqualFold(number, "L"):
				nth = nthLast
			case err != nil || n < 1 || n > 5:
				return weekdayField.wrong(item, "# is followed by 1 to 5, or L")
			default:
				nth = 1 << (n - 1)
			}
			which = head
		} else if strings.HasSuffix(strings.ToUpper(item), "L") && len(item) > 1 {
			which, nth = item[:len(item)-1], nthLast
		}
		s, err := weekdayField.span(which)
		if err != nil {
			return err
		}
		for n := s.from; n <= s.to; n += s.step {
			x.weekday[n%7] |= nth
		}
	}
	return nil
}

func (x *Expression) ofYears(text string) error {
	if text == "*" {
		return nil
	}
	for item := range strings.SplitSeq(text, ",") {
		s, err := yearField.span(item)
		if err != nil {
			return err
		}
		if strings.HasPrefix(item, "*/") {
			s.from = s.step // counted from the year 0, which does not exist
		}
		x.years = append(x.years, year(s))
	}
	return nil
}
