package ndjson

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// The expectations are what TextDecoder gives in a browser and Buffer.toString in Node.
func TestDecode(t *testing.T) {
	t.Parallel()
	const r = "\uFFFD"
	for in, want := range map[string]string{
		"배포":                   "배포",
		"\ufffd":               r,
		"\xff":                 r,
		"a\x80b":               "a" + r + "b",
		"\xea\xb0":             r,         // cut short: one
		"\xea\xb0x":            r + "x",   // cut short within
		"\xea\xb0\xea\xb0\x80": r + "가",   // cut short before a whole one
		"\xed\xa0\x80":         r + r + r, // a surrogate
		"\xc0\x80":             r + r,     // an overlong NUL
		"\xe0\x80\x80":         r + r + r, // overlong
		"\xf0\x9f\x99":         r,
		"\xf0\x9f\x99\x8f":     "🙏",
		"\xf4\x90\x80\x80":     r + r + r + r, // above U+10FFFF
		"\xf0\x80\x80":         r + r + r,
	} {
		if got := string(decode([]byte(in))); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestAppendString(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                  `""`,
		"eden":              `"eden"`,
		"a\"b\\c/":          `"a\"b\\c/"`,
		"\b\f\n\r\t":        `"\b\f\n\r\t"`,
		"\x00\x1f\x7f":      `"\u0000\u001f` + "\x7f\"",
		"<b>&\u2028배포🙏</b>": "\"<b>&\u2028배포🙏</b>\"",
	} {
		got := appendString(nil, in)
		if string(got) != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
		var back string
		if err := json.Unmarshal(got, &back); err != nil || back != in {
			t.Errorf("%q reads back as %q, %v", in, back, err)
		}
	}
}

func TestClip(t *testing.T) {
	t.Parallel()
	const text = "a가🙏"
	for limit := range len(text) + 2 {
		got := string(clip([]byte(text), limit))
		if !utf8.ValidString(got) || len(got) > limit || !strings.HasPrefix(text, got) || len(got) < min(limit, len(text))-3 {
			t.Errorf("%d: %q", limit, got)
		}
	}
}
