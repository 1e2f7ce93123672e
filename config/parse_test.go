package config

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// shape is a tree as encoding/json would have read it.
func shape(v *value) any {
	switch v.kind {
	case null:
		return nil
	case boolean:
		return v.text == "true"
	case number:
		digits, ok := jsonNumber(v.text)
		if !ok {
			return digits
		}
		return json.Number(digits)
	case text:
		return v.text
	case list:
		items := []any{}
		for _, item := range v.items {
			items = append(items, shape(item))
		}
		return items
	}
	members := map[string]any{}
	for _, m := range v.members {
		members[m.key] = shape(m.value)
	}
	return members
}

func decodeJSON(t *testing.T, s string) any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(s))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("the test's own JSON %s: %v", s, err)
	}
	return v
}

func TestParse(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, json5, json string }{
		{"comments", "// one\n/* two\n * three */ {/**/a/**/:/**/1/**/}// end", `{"a":1}`},
		{"comment ends at any line end", "// a\u20281", `1`},
		{"comment in a text", `"//a /*b*/"`, `"//a /*b*/"`},
		{"trailing commas", `{a:[1,2,],}`, `{"a":[1,2]}`},
		{"empty", `[{},[],'',""]`, `[{},[],"",""]`},
		{"single quotes", `'it\'s "so"'`, `"it's \"so\""`},
		{"double quotes", `"it's \"so\""`, `"it's \"so\""`},
		{"words", `[true,false,null]`, `[true,false,null]`},
		{"words as keys", `{true:1,null:2,Infinity:3,if:4}`, `{"true":1,"null":2,"Infinity":3,"if":4}`},
		{"plain keys", `{$a_1:1,_:2,$:3}`, `{"$a_1":1,"_":2,"$":3}`},
		{"Korean keys", `{에이전트:1,"이든":2,이든2:3}`, `{"에이전트":1,"이든":2,"이든2":3}`},
		{"keys of other scripts", "{ünï:1,Ⅷ:2,a\u0301:3,a\u200Db:4,日本:5}", "{\"ünï\":1,\"Ⅷ\":2,\"a\u0301\":3,\"a\u200Db\":4,\"日本\":5}"},
		{"escapes in plain keys", `{\u0061b\u{63}:1}`, `{"abc":1}`},
		{"quoted keys", `{'a b':1,"":2,'\x41':3}`, `{"a b":1,"":2,"A":3}`},
		{"key __proto__", `{__proto__:{a:1}}`, `{"__proto__":{"a":1}}`},
		{"last key wins", `{a:1,b:2,a:3}`, `{"a":3,"b":2}`},
		{"whole numbers", `[0,-0,+7,12345678901234567890]`, `[0,-0,7,12345678901234567890]`},
		{"decimal points", `[.5,5.,-.5,+5.5,0.,5.e2,.5E-1]`, `[0.5,5,-0.5,5.5,0,5e2,0.5E-1]`},
		{"exponents", `[1e3,1E+3,1e-3]`, `[1e3,1E+3,1e-3]`},
		{"hexadecimal", `[0x1F,0XfF,-0x10,+0x0,0xFFFFFFFFFFFFFFFFFF]`, `[31,255,-16,0,4722366482869645213695]`},
		{"numbers with names", `[Infinity,-Infinity,+Infinity,NaN,-NaN]`, `["Infinity","-Infinity","Infinity","NaN","-NaN"]`},
		{"simple escapes", `"\b\f\n\r\t\v\0\'\"\\\/\q\ㄱ"`, `"\b\f\n\r\t\u000b\u0000'\"\\/qㄱ"`},
		{"numbered escapes", `"\x41\xe9\u0041\uD55C\u{1F33F}\u{41}\u{0}"`, `"A\u00e9A한🌿A\u0000"`},
		{"surrogates", `"\uD83C\uDF3F \uD83C \uDF3F\uD83Cx \uD83C\u0041"`, `"🌿 \ufffd \ufffd\ufffdx \ufffdA"`},
		{"continued lines", "'a\\\nb\\\r\nc\\\rd\\\u2028e\\\u2029f'", `"abcdef"`},
		{"line separators in a text", "'a\u2028b\u2029c\td'", "\"a\u2028b\u2029c\\td\""},
		{"white space", "\t\v\f \u00a0\ufeff\u2003\u2028\u2029\r\n1\u3000", `1`},
		{"byte order mark", "\ufeff{a:1}", `{"a":1}`},
		{"nested just deep enough", strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newReport()
			v := parse("f", tt.json5, r)
			if v == nil {
				t.Fatal(r.findings("f"))
			}
			if want, got := decodeJSON(t, tt.json), shape(v); !reflect.DeepEqual(got, want) {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text         string
		line, column int
		code         string
		message      string // part of it
	}{
		{"", 1, 1, CodeSyntax, "the file is empty"},
		{"\ufeff // only a comment\n", 2, 1, CodeSyntax, "the file is empty"},
		{"{a:1} x", 1, 7, CodeSyntax, `found 'x' after the end`},
		{"{a:1", 1, 5, CodeSyntax, "the file ends inside an object that starts at 1:1"},
		{"{a:\n[1,", 2, 4, CodeSyntax, "the file ends inside a list that starts at 2:1"},
		{"{a 1}", 1, 4, CodeSyntax, "found '1' where the colon after a key belongs"},
		{"{my-key:1}", 1, 4, CodeSyntax, "found '-' where the colon after a key belongs"},
		{"{이든 1}", 1, 5, CodeSyntax, "found '1' where the colon"},
		{"{a:}", 1, 4, CodeSyntax, "found '}' where a value belongs"},
		{"{a:", 1, 4, CodeSyntax, "found the end of the file where a value belongs"},
		{"{,}", 1, 2, CodeSyntax, "found ',' where a key belongs"},
		{"{1:1}", 1, 2, CodeSyntax, "found '1' where a key belongs"},
		{"[1,,2]", 1, 4, CodeSyntax, "found ',' where a value belongs"},
		{"[1 2]", 1, 4, CodeSyntax, "found '2' where a comma or ']' belongs"},
		{"{a:1\r\n b:2}", 2, 2, CodeSyntax, "found 'b' where a comma or '}' belongs"},
		{"[1}", 1, 3, CodeSyntax, "found '}' where a comma or ']' belongs"},
		{"{a:hunter2}", 1, 4, CodeSyntax, "found a word without quotes"},
		{"{a:True}", 1, 4, CodeSyntax, "found a word without quotes"},
		{"\n /* a", 2, 2, CodeSyntax, "a comment starts here and does not end"},
		{"'a\n'", 1, 1, CodeSyntax, "a text starts here and is not closed on its line"},
		{"{a: 'b", 1, 5, CodeSyntax, "a text starts here and is not closed"},
		{`'a\`, 1, 1, CodeSyntax, "a text starts here and is not closed"},
		{`'\1'`, 1, 3, CodeSyntax, "a backslash cannot stand before this digit"},
		{`'\01'`, 1, 3, CodeSyntax, "a backslash cannot stand before this digit"},
		{`'\x4'`, 1, 5, CodeSyntax, "where a hexadecimal digit belongs"},
		{`'\u{110000}'`, 1, 4, CodeSyntax, `\u{ is not followed by the number`},
		{`'\u{}'`, 1, 4, CodeSyntax, `\u{ is not followed by the number`},
		{`{\x41:1}`, 1, 2, CodeSyntax, `found '\\' in a key without quotes`},
		{`{\u0020:1}`, 1, 8, CodeSyntax, "cannot hold the character of this escape"},
		{"012", 1, 4, CodeSyntax, "a leading zero"},
		{"1a", 1, 2, CodeSyntax, "found 'a' in a number"},
		{"1한", 1, 2, CodeSyntax, "found '한' in a number"},
		{"0x", 1, 3, CodeSyntax, "where a hexadecimal digit belongs"},
		{"0x" + strings.Repeat("F", maxHexDigits+1), 1, maxHexDigits + 4, CodeSyntax, "too many digits"},
		{"-", 1, 2, CodeSyntax, "where a digit belongs"},
		{".", 1, 2, CodeSyntax, "where a digit belongs"},
		{"1e", 1, 3, CodeSyntax, "the digits of an exponent"},
		{"- 1", 1, 2, CodeSyntax, "where a digit belongs"},
		{"{a:'이\xff'}", 1, 6, CodeEncoding, "not UTF-8"},
		{"\xff\xfe{\x00", 1, 1, CodeEncoding, "not UTF-8"},
		{strings.Repeat("[", maxDepth+1), 1, maxDepth + 1, CodeDepth, "more than 200 deep"},
	} {
		r := newReport()
		v := parse("team.json", tt.text, r)
		findings := r.findings("team.json")
		if v != nil || len(findings) != 1 {
			t.Errorf("%q: read as %v with %v", tt.text, v, findings)
			continue
		}
		f := findings[0]
		if f.Severity != Error || f.Code != tt.code || f.File != "team.json" || f.Line != tt.line || f.Column != tt.column ||
			!strings.Contains(f.Message, tt.message) || f.Hint == "" {
			t.Errorf("%q: %+v", tt.text, f)
		}
	}
}

func TestPositions(t *testing.T) {
	t.Parallel()
	root := parse("f", "\ufeff// 이든\r\n{\r\n  이름: '이든', /* 둘\n */ list: [\n\t1,\u2028 {b: -2}],\r  c: {},\n}", newReport())
	got := map[string][2]int{}
	var walk func(v *value, at *path)
	walk = func(v *value, at *path) {
		got[at.String()] = [2]int{v.at.line, v.at.column}
		for i, item := range v.items {
			walk(item, at.item(i))
		}
		for _, m := range v.members {
			got["key "+at.member(m.key).String()] = [2]int{m.at.line, m.at.column}
			walk(m.value, at.member(m.key))
		}
	}
	walk(root, nil)
	want := map[string][2]int{
		"": {2, 1}, "key 이름": {3, 3}, "이름": {3, 7}, "key list": {4, 5}, "list": {4, 11}, "list[0]": {5, 2}, "list[1]": {5, 6},
		"key list[1].b": {5, 7}, "list[1].b": {5, 10}, "key c": {6, 3}, "c": {6, 6},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDuplicateKeys(t *testing.T) {
	t.Parallel()
	r := newReport()
	parse("f", "{a:{b:1,\n'b':2},\nc:3,c:4}", r)
	var got []string
	for _, f := range r.findings("f") {
		got = append(got, string(f.Severity)+" "+f.String())
	}
	want := []string{
		"warning f:2:1: a.b: this key is repeated, after 1:5; the last one counts (remove one of them)",
		"warning f:3:5: c: this key is repeated, after 3:1; the last one counts (remove one of them)",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestManyFindingsOfOneKindAreCounted(t *testing.T) {
	t.Parallel()
	r := newReport()
	parse("f", "{"+strings.Repeat("a:1,\n", 5*mostOfACode)+"}", r)
	findings := r.findings("f")
	last := findings[len(findings)-1]
	if len(findings) != mostOfACode+1 || last.Line != mostOfACode+2 || !strings.HasPrefix(last.Message, "from here on, 399 more findings") {
		t.Errorf("%d findings, the last %+v", len(findings), last)
	}
}

// FuzzParse holds the reader to two things: it never panics and never gives a tree without a place, and what is JSON it reads as
// encoding/json does.
func FuzzParse(f *testing.F) {
	for _, s := range []string{`{"a":[1,-2.5e+3,true,null,"\u00e9\ud83c\udf3f\ud800"]}`, "{a:0x1F,'b':.5,/*c*/}//", `{\u0061:'\x41\v\0\
'}`, "\ufeff[Infinity,NaN,+1,]", `{"a":1,"a":{"b":[[]]}}`, "{이든:'한'}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := newReport()
		v := parse("f", s, r)
		findings := r.findings("f")
		if (v == nil) != (findings.Err() != nil) {
			t.Fatalf("tree %v with findings %v", v, findings)
		}
		for _, one := range findings {
			if one.Line < 1 || one.Column < 1 || one.Message == "" || one.Hint == "" || !utf8.ValidString(one.String()) {
				t.Fatalf("finding %+v", one)
			}
		}
		if !json.Valid([]byte(s)) || !utf8.ValidString(s) {
			return
		}
		if v == nil {
			if findings[0].Code != CodeDepth {
				t.Fatalf("JSON refused: %v", findings)
			}
			return
		}
		if want, got := decodeJSON(t, s), shape(v); !reflect.DeepEqual(got, want) { // cmp.Diff takes for ever on deep trees
			t.Fatalf("got %v, encoding/json reads %v", got, want)
		}
		if !json.Valid(canonical(v, strings.NewReplacer())) {
			t.Fatalf("canonical form is no JSON: %s", canonical(v, strings.NewReplacer()))
		}
	})
}

func TestCanonicalIsOneForm(t *testing.T) {
	t.Parallel()
	one, other := parse("f", `{b:[1,+2,.5,0x10],a:'<é>'}`, newReport()), parse("g", "{\"a\":\"<\\u00e9>\", /**/ b:[1,2,0.5,16,],}", newReport())
	none := strings.NewReplacer()
	if got := canonical(one, none); !bytes.Equal(got, canonical(other, none)) || string(got) != `{"a":"<é>","b":[1,2,0.5,16]}` {
		t.Errorf("%s, %s", got, canonical(other, none))
	}
}
