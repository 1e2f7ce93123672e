package webtools

import (
	"strings"
	"testing"

	"golang.org/x/text/encoding"
	oracleja "golang.org/x/text/encoding/japanese"
	oracleko "golang.org/x/text/encoding/korean"
)

// Every pair of bytes is read as the library for encodings reads it.
func TestPairsAreReadAsTheLibraryDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		read   func([]byte) string
		oracle encoding.Encoding
		first  int
	}{"EUC-KR": {koreanText, oracleko.EUCKR, 0x81}, "Shift_JIS": {shiftJISText, oracleja.ShiftJIS, 0x81}, "EUC-JP": {eucJPText, oracleja.EUCJP, 0x8E}} {
		d, wrong, known := c.oracle.NewDecoder(), 0, 0
		for lead := c.first; lead <= 0xFF; lead++ {
			for trail := 0x40; trail <= 0xFF; trail++ {
				pair := []byte{byte(lead), byte(trail)}
				want, err := d.Bytes(pair)
				if err != nil {
					t.Fatal(err)
				}
				got := c.read(pair)
				if strings.ContainsRune(string(want), lost) {
					if !strings.ContainsRune(got, lost) {
						wrong++
						t.Logf("%s: % x is %q, want an error", name, pair, got)
					}
					continue
				}
				if known++; got != string(want) {
					if wrong++; wrong < 10 {
						t.Errorf("%s: % x is %q, want %q", name, pair, got, want)
					}
				}
			}
		}
		if wrong > 0 || known < 6_000 {
			t.Errorf("%s: %d pairs are wrong of %d", name, wrong, known)
		}
	}
	for text, want := range map[string]string{"a\xB0\xA1b": "a가b", "\xB0": "\uFFFD", "\xB0!": "\uFFFD!", "\xFF\xFFx": "\uFFFDx", "": ""} {
		if got := koreanText([]byte(text)); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}
