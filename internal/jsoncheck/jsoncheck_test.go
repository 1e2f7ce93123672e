package jsoncheck_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/internal/jsoncheck"
)

// samples are valid and invalid texts of all kinds.
var samples = []string{
	``, ` `, `{}`, ` {} `, `{}x`, `{`, `}`, `[]`, `[1,]`, `[,1]`, `[1 2]`, `[[[]]]`, `[[[]]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{"a":1 "b":2}`, `{a:1}`, `{"a" : 1 , "b" : [ ] }`,
	`"`, `""`, `"a`, `"a"b`, `"\"`, `"\""`, `"\\"`, `"\x"`, `"\u12"`, `"\u12g4"`, `"\u12aF"`, `"\/\b\f\n\r\t"`, "\"a\tb\"", "\"a\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\xfe\"", `"é日"`,
	`"12345678"`, `"1234567"`, `"123456789"`, `"1234567\"8"`, "\"12345678\x01\"", `"1234567!#[]"`,
	`0`, `-0`, `-`, `00`, `01`, `1.`, `.1`, `1.5`, `1e5`, `1E+5`, `1e-5`, `1e`, `1e+`, `+1`, `0x1`, `1.e1`, `-1.5e300`, `Infinity`, `NaN`,
	`true`, `tru`, `truex`, `false`, `fals`, `null`, `nul`, "\v1", "\u00a01", `1//`, "\n1\r\t",
}

func same(t *testing.T, text []byte) {
	t.Helper()
	depth, valid := jsoncheck.Depth(text)
	if want := json.Valid(text); valid != want || jsoncheck.Valid(text) != want {
		t.Errorf("%.80q is valid: %v, want %v", text, valid, want)
	}
	if nested := strings.Count(string(text), "{") + strings.Count(string(text), "["); valid && depth > nested {
		t.Errorf("%.80q has depth %d, and %d brackets", text, depth, nested)
	}
}

func TestValidIsThatOfEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, text := range samples {
		same(t, []byte(text))
		same(t, []byte("["+text+"]"))
		same(t, []byte(`{"a":`+text+`}`))
		for cut := range text {
			same(t, []byte(text[:cut]))
		}
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{`1`: 0, `"[{"`: 0, `{}`: 1, `[{"a":[]},[]]`: 3, `[[],[[]],[]]`: 3} {
		if got, valid := jsoncheck.Depth([]byte(text)); !valid || got != want {
			t.Errorf("%s: %d, %v; want %d", text, got, valid, want)
		}
	}
	for _, levels := range []int{10_000, 10_001} {
		same(t, []byte(strings.Repeat("[", levels)+strings.Repeat("]", levels)))
		same(t, []byte(strings.Repeat(`{"a":`, levels)+"1"+strings.Repeat("}", levels)))
	}
}

func FuzzValid(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(same)
}

func BenchmarkValid(b *testing.B) {
	text := []byte(`{"type":"message","id":"m1","timestamp":1795800000000,"message":{"role":"user","content":"` + strings.Repeat("a word of the answer ", 30) + `"}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		jsoncheck.Valid(text)
	}
}
