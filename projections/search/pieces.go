package search

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxPiece is the maximum length of a piece of letters and digits in characters; longer ones are split.
const maxPiece = 64

// piece is a run of characters of one class.
type piece struct {
	from, to int  // in pieces.runes
	dense    bool // Hangul, Han or Kana: scripts in which any part of a run may be a word
}

// pieces is a text split into pieces. It can be reused for one text after another.
type pieces struct {
	runes      []rune // folded, those of all pieces
	start, end []int  // byte offset of each rune in the text
	list       []piece
}

// normal converts a text to the form that read expects. Positions refer to that form.
func normal(text string) string { return norm.NFC.String(text) }

// read splits a text.
func (p *pieces) read(text string) {
	p.runes, p.start, p.end, p.list = p.runes[:0], p.start[:0], p.end[:0], p.list[:0]
	previous := separator
	for at, r := range text {
		class := classOf(r)
		switch {
		case class == ignored:
			continue
		case class == mark && previous == letter:
			class = letter
		case class == mark:
			continue
		}
		if class != separator {
			if last := len(p.list) - 1; class != previous || class == letter && p.list[last].to-p.list[last].from == maxPiece {
				p.list = append(p.list, piece{from: len(p.runes), dense: class == dense})
			}
			p.runes = append(p.runes, fold(r))
			p.start, p.end = append(p.start, at), append(p.end, at+utf8.RuneLen(r))
			p.list[len(p.list)-1].to = len(p.runes)
		}
		previous = class
	}
}

// of returns the characters of a piece.
func (p *pieces) of(at piece) []rune { return p.runes[at.from:at.to] }

// class is the role of a character in a text.
type class uint8

const (
	separator class = iota
	letter          // or digit
	dense           // Hangul, Han, Kana
	mark            // combines with the letter before it
	ignored         // invisible
)

func classOf(r rune) class {
	switch {
	case r < 0x80:
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return letter
		}
		return separator
	case 0xAC00 <= r && r <= 0xD7A3: // fast path for most characters
		return dense
	case unicode.IsLetter(r) || unicode.IsNumber(r):
		if unicode.In(r, unicode.Hangul, unicode.Han, unicode.Hiragana, unicode.Katakana) || r == 'ー' || r == 'ｰ' {
			return dense
		}
		return letter
	case unicode.Is(unicode.Variation_Selector, r), unicode.Is(unicode.Cf, r):
		return ignored
	case unicode.IsMark(r):
		return mark
	}
	return separator
}

// fold maps characters that differ only in case or width to the same one, one for one.
func fold(r rune) rune {
	if r < 0x80 {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	if 0xAC00 <= r && r <= 0xD7A3 {
		return r
	}
	const fullWidth, lastFullWidth = 0xFF01, 0xFF5E
	if fullWidth <= r && r <= lastFullWidth {
		r -= fullWidth - '!'
	}
	return unicode.ToLower(unicode.ToUpper(r))
}
