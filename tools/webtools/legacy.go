package webtools

import (
	_ "embed"
	"strings"
	"sync"
	"unicode/utf8"
)

// The tables of the Korean and Japanese standards have 94 characters in a line; a dot is none. The library for encodings has them too, with
// those for writing, which are never used here and are many times as long.
var (
	//go:embed tables/ksx1001.txt
	ksx1001 string
	//go:embed tables/jisx0208.txt
	jisx0208 string
)

const columns = 94

// lost stands for what cannot be read.
const lost = utf8.RuneError

var korean = sync.OnceValues(func() (standard, extension []rune) {
	standard = tableOf(ksx1001)
	has := map[rune]bool{}
	for _, c := range standard {
		has[c] = true
	}
	for c := '가'; c <= '힣'; c++ { // CP949 has the syllables that the standard lacks, in their order, where that has nothing
		if !has[c] {
			extension = append(extension, c)
		}
	}
	return standard, extension
})

var japanese = sync.OnceValue(func() []rune { return tableOf(jisx0208) })

func tableOf(text string) []rune {
	all := []rune(strings.ReplaceAll(text, "\n", ""))
	for i, c := range all {
		if c == '.' {
			all[i] = lost
		}
	}
	return all
}

func at(table []rune, n int) rune {
	if n < 0 || n >= len(table) {
		return lost
	}
	return table[n]
}

// pairs decodes a text of single bytes below first, or that single knows, and of pairs.
func pairs(body []byte, first byte, single func(b byte) (rune, bool), pair func(lead, trail byte) rune) string {
	var text strings.Builder
	text.Grow(len(body) * 3 / 2)
	for i := 0; i < len(body); i++ {
		lead := body[i]
		c, is := rune(lead), lead < first
		if !is && single != nil {
			c, is = single(lead)
		}
		if !is {
			c = lost
			if i+1 < len(body) {
				if c = pair(lead, body[i+1]); c != lost || body[i+1] >= utf8.RuneSelf {
					i++
				}
			}
		}
		text.WriteRune(c)
	}
	return text.String()
}

// Parts of CP949, whose pairs end in 178 bytes where the standard has none, else in the 84 of them that it leaves.
const (
	wideLeads, wideTrails, narrowTrails = 0xA1 - 0x81, 178, 84
	lastLead, lastTrails                = 0xC6, 18 // of the extension
)

func koreanText(body []byte) string {
	standard, extension := korean()
	return pairs(body, utf8.RuneSelf, nil, func(lead, trail byte) rune {
		if lead >= 0xA1 && trail >= 0xA1 && trail <= 0xFE {
			return at(standard, int(lead-0xA1)*columns+int(trail-0xA1))
		}
		n := int(trail)
		switch {
		case trail >= 'A' && trail <= 'Z':
			n -= 'A'
		case trail >= 'a' && trail <= 'z':
			n += 26 - 'a'
		case trail >= 0x81 && trail <= 0xFE:
			n += 52 - 0x81
		default:
			return lost
		}
		switch {
		case lead < 0x81 || lead > lastLead || lead == lastLead && n >= lastTrails:
			return lost
		case lead < 0xA1:
			return at(extension, int(lead-0x81)*wideTrails+n)
		}
		return at(extension, wideLeads*wideTrails+int(lead-0xA1)*narrowTrails+n)
	})
}

// halfwidth are the Japanese letters that have one byte in Shift_JIS.
func halfwidth(b byte) (c rune, is bool) { return 0xFF61 + rune(b) - 0xA1, b >= 0xA1 && b <= 0xDF }

func shiftJISText(body []byte) string {
	table := japanese()
	return pairs(body, 0x81, halfwidth, func(lead, trail byte) rune {
		if trail < 0x40 || trail == 0x7F || trail > 0xFC || lead > 0xFC || lead == 0xA0 {
			return lost
		}
		row, column := int(lead)-0x81, int(trail)-0x40
		if lead > 0xA0 {
			row -= 0xC1 - 0x81
		}
		if trail > 0x7F {
			column--
		}
		return at(table, row*2*columns+column)
	})
}

func eucJPText(body []byte) string {
	table := japanese()
	return pairs(body, utf8.RuneSelf, nil, func(lead, trail byte) rune {
		switch c, is := halfwidth(trail); {
		case lead == 0x8E && is:
			return c
		case lead < 0xA1 || lead == 0xFF || trail < 0xA1 || trail == 0xFF:
			return lost
		}
		return at(table, int(lead-0xA1)*columns+int(trail-0xA1))
	})
}
