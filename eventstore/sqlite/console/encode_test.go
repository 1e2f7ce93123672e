package console_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

// Texts are written as encoding/json writes them, and no longer than what was said before.
func TestTextsAreWrittenAsJSON(t *testing.T) {
	t.Parallel()
	check := func(t interface{ Errorf(string, ...any) }, text string) {
		var want bytes.Buffer
		encoder := json.NewEncoder(&want)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		got := console.AppendJSON(nil, text)
		if string(got) != strings.TrimSuffix(want.String(), "\n") {
			t.Errorf("%q is written as %s, want %s", text, got, want.String())
		}
		if most := console.JSONSize(text); len(got) > most || most > 6*len(text)+2 {
			t.Errorf("%q has %d bytes, at most %d were said", text, len(got), most)
		}
	}
	for _, text := range []string{"", "리뷰 <b>&amp;</b>", "\"\\/\b\f\n\r\t\v\x00\x1f\x7f", "\u2028\u2029\u202a", "a\xffb\xe2\x80", "\U0001f600", "\ufffd"} {
		check(t, text)
	}
	rapid.Check(t, func(t *rapid.T) { check(t, string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes"))) })
	rapid.Check(t, func(t *rapid.T) { check(t, rapid.String().Draw(t, "text")) })
	for _, value := range []any{nil, int64(-1 << 63), 1e300, []byte("\x00\xff")} {
		if got, most := console.AppendJSON(nil, value), console.JSONSize(value); len(got) > most {
			t.Errorf("%v has %d bytes, at most %d were said", value, len(got), most)
		}
	}
}
