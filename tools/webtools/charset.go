package webtools

import (
	"bytes"
	"encoding/binary"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// encodings are those of many older pages, by their names in lower case. UTF-8, UTF-16 and Latin-1 are read elsewhere.
var encodings = map[string]func([]byte) string{
	"euc-kr": koreanText, "ks_c_5601-1987": koreanText, "ks_c_5601-1989": koreanText, "ksc5601": koreanText, "ksc_5601": koreanText, "korean": koreanText,
	"windows-949": koreanText, "cp949": koreanText, "ms949": koreanText, "uhc": koreanText,
	"shift_jis": shiftJISText, "shift-jis": shiftJISText, "sjis": shiftJISText, "x-sjis": shiftJISText, "ms_kanji": shiftJISText, "windows-31j": shiftJISText,
	"cp932": shiftJISText, "ms932": shiftJISText, "euc-jp": eucJPText, "x-euc-jp": eucJPText,
}

const charsetUTF8 = "utf-8"

// declared finds the encoding that a page names itself, in its first bytes.
var declared = regexp.MustCompile(`(?i)<(?:meta\b[^>]*?\bcharset|\?xml\b[^>]*?\bencoding)\s*=\s*["']?\s*([a-z0-9_:.-]+)`)

const declaredWithin = 2 << 10

// decodedText is a page as UTF-8, and the name of its encoding. named is what the server says; without it counts a mark at the beginning, then
// what the page says. known is false for an encoding that is not read here: what is not ASCII is lost then.
func decodedText(body []byte, named string) (text, name string, known bool) {
	name = strings.ToLower(strings.TrimSpace(named))
	switch {
	case bytes.HasPrefix(body, []byte("\xEF\xBB\xBF")):
		name, body = charsetUTF8, body[3:]
	case bytes.HasPrefix(body, []byte("\xFE\xFF")):
		name = "utf-16be"
	case bytes.HasPrefix(body, []byte("\xFF\xFE")):
		name = "utf-16le"
	case name == "":
		if m := declared.FindSubmatch(body[:min(len(body), declaredWithin)]); m != nil {
			name = strings.ToLower(string(m[1]))
		}
	}
	switch name {
	case "", "utf8", charsetUTF8:
		return strings.ToValidUTF8(string(body), "\uFFFD"), charsetUTF8, true
	case "utf-16", "utf-16le", "utf-16be":
		return utf16Text(body, name == "utf-16be"), name, true
	case "iso-8859-1", "iso8859-1", "latin1", "windows-1252", "cp1252", "us-ascii", "ascii":
		return westernText(body), name, true
	}
	if read := encodings[name]; read != nil {
		return read(body), name, true
	}
	return strings.ToValidUTF8(string(body), "\uFFFD"), name, false
}

func utf16Text(body []byte, bigEndian bool) string {
	order := binary.ByteOrder(binary.LittleEndian)
	if bigEndian {
		order = binary.BigEndian
	}
	units := make([]uint16, len(body)/2)
	for i := range units {
		units[i] = order.Uint16(body[2*i:])
	}
	return strings.TrimPrefix(string(utf16.Decode(units)), "\uFEFF")
}

// western are the characters of Windows-1252 from 0x80 to 0x9F, which pages that say Latin-1 mean too.
var western = []rune("€\uFFFD‚ƒ„…†‡ˆ‰Š‹Œ\uFFFDŽ\uFFFD\uFFFD‘’“”•–—˜™š›œ\uFFFDžŸ")

// westernText is a text with one byte for each character. One that is UTF-8 in fact is read so.
func westernText(body []byte) string {
	if utf8.Valid(body) {
		return string(body)
	}
	var b strings.Builder
	for _, c := range body {
		if c >= 0x80 && c <= 0x9F {
			b.WriteRune(western[c-0x80])
		} else {
			b.WriteRune(rune(c))
		}
	}
	return b.String()
}
