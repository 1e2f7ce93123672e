package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// edits merges a patch into a text that has been read.
func edits(t interface {
	Helper()
	Fatalf(string, ...any)
}, content, raw string) string {
	t.Helper()
	root, patch := parse("f", content, newReport()), parse("p", raw, newReport())
	if root == nil || patch == nil {
		t.Fatalf("the test's own text is not JSON5: %s\n%s", content, raw)
	}
	got, err := edited(content, root, patch)
	if err != nil {
		t.Fatalf("%v\n%s\npatched with %s", err, content, raw)
	}
	return got
}

// Each pair is a file and what it becomes, where only what the patch names is another.
//
// Promise: config-patch
func TestEditKeepsTheRest(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, before, patch, after string }{
		{"nothing", "// a\n{ a : 1 , }\n", `{a: 1}`, "// a\n{ a : 1 , }\n"},
		{"a value", "{\n  // the port\n  port: 0x10, // really\n}\n", `{port: 17}`, "{\n  // the port\n  port: 17, // really\n}\n"},
		{"the same number otherwise", "{a: 0x10}", `{a: 16}`, "{a: 0x10}"},
		{"a text in its quotes", `{a: 'x', b: "y"}`, `{a: "it's"}`, `{a: 'it\'s', b: "y"}`},
		{"a member at the end, with a comma", "{\n\ta: 1, // one\n}\n", `{b: {c: 'x'}}`, "{\n\ta: 1, // one\n\tb: {\n\t\tc: \"x\"\n\t},\n}\n"},
		{"a member at the end, without", "{\n  \"a\": 1 // one\n}\n", `{b: [1, 2]}`, "{\n  \"a\": 1, // one\n  \"b\": [1, 2]\n}\n"},
		{"a member on one line", `{"a":1,"b":2}`, `{c: {d: 3, e: 4}}`, `{"a":1,"b":2,"c":{"d":3,"e":4}}`},
		{"a member on one line with spaces", `{a: 1, b: 2}`, `{'c-d': 3}`, `{a: 1, b: 2, "c-d": 3}`},
		{"into nothing", "{}\n", `{a: 1, b: {}}`, "{\n  \"a\": 1,\n  \"b\": {}\n}\n"},
		{"into a comment", "{\n  // nothing yet\n}\n", `{a: 1}`, "{\n  // nothing yet\n  \"a\": 1\n}\n"},
		{"into a nested nothing", "{\n    a: {},\n}", `{a: {b: true}}`, "{\n    a: {\n        b: true\n    },\n}"},
		{"line ends of Windows", "{\r\n  a: 1\r\n}\r\n", `{b: 2}`, "{\r\n  a: 1,\r\n  b: 2\r\n}\r\n"},
		{"a line that goes", "{\n  // about a\n  a: 1,\n  b: 2,\n}", `{a: null}`, "{\n  // about a\n  b: 2,\n}"},
		{"the last that goes", "{\n  a: 1,\n  b: 2\n}", `{b: null}`, "{\n  a: 1\n}"},
		{"the last on one line", "{a: 1, b: 2}", `{b: null}`, "{a: 1}"},
		{"the first on one line", "{ a: 1, b: 2 }", `{a: null}`, "{ b: 2 }"},
		{"the only one", "{ a: 1 }", `{a: null}`, "{ }"},
		{"all", "{\n  a: 1, b: 2,\n  c: 3\n}", `{a: null, b: null, c: null}`, "{\n}"},
		{"all, and another", "{\n  a: 1,\n  // c\n  b: 2\n}", `{a: null, b: null, c: 3}`, "{\n  // c\n  \"c\": 3\n}"},
		{"comments beside what goes", "{a: 1 /*x*/, /*y*/ b: 2 /*z*/}", `{a: null}`, "{ /*x*/ /*y*/ b: 2 /*z*/}"},
		{"a key that stands twice", "{a: 1, b: 2, a: 3}", `{a: null}`, "{b: 2}"},
		{"a key that stands twice is set", "{a: 1, b: 2, a: 3}", `{a: 4}`, "{a: 1, b: 2, a: 4}"},
		{"by id", "{\n  list: [\n    {id: 'a', x: 1}, // first\n    {id: 'b'},\n  ],\n}", `{list: [{id: 'b', y: 2}, {id: 'c'}, {id: 'a', x: null}]}`,
			"{\n  list: [\n    {id: 'a'}, // first\n    {id: 'b', y: 2},\n    {id: 'c'},\n  ],\n}"},
		{"a list without ids", "{list: [1, 2 /*two*/]}", `{list: [1, 3]}`, "{list: [1, 3]}"},
		{"an empty list empties", "{list: [{id: 'a'}]}", `{list: []}`, "{list: []}"},
		{"null in a list is null", "{a: 1}", `{a: [null, {b: null}], c: {d: null}}`, "{a: [null, {b: null}], c: {}}"},
		{"an object over a number", "{\n  a: 1,\n}", `{a: {b: {c: 1, d: null}}}`, "{\n  a: {\n    b: {\n      c: 1\n    }\n  },\n}"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.after, edits(t, tt.before, tt.patch)); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}

// drawn writes JSON5 as people do, and worse.
type drawn struct{ *rapid.T }

func (d drawn) pick(label string, options ...string) string {
	return rapid.SampledFrom(options).Draw(d.T, label)
}

func (d drawn) space() string {
	return d.pick("space", "", "", "", " ", "\n", "\n\t", "\n    ",
		" // it's a: {1,\n", "/* \", */", " /* a\n b */ ", "\r\n  ", "\u2028", "\t//x\r\n", "\u00a0")
}

func (d drawn) key() string {
	return d.pick("key", "a", "b", "'a'", `"b"`, "id", `'c d'`, `"\u0061"`, "이름", "''", "$x", "__proto__", `'e"\'f'`)
}

func (d drawn) scalar() string {
	return d.pick("scalar", "1", "0x1F", "-.5", "+2e3", "true", "false", "null", "Infinity", "-NaN",
		`"x"`, "'y'", `''`, `'it\'s "so"'`, "'a\\\nb'", `"\u2028\n\t\\"`,
		"12345678901234567890", "'// no /* comment'", "'이든'", `"\u0000\x7f"`)
}

func (d drawn) value(depth int) string {
	switch kind := rapid.IntRange(0, 9).Draw(d.T, "kind"); {
	case depth <= 0 || kind < 4:
		return d.scalar()
	case kind < 6:
		return d.list(func() string { return d.value(depth - 1) })
	case kind < 7:
		n := 0
		return d.list(func() string {
			n++
			id := fmt.Sprint(n)
			return "{" + d.space() + "id" + d.space() + ":" + d.space() + "'" + id + "'" + d.space() + "," + d.members(depth-1) + "}"
		})
	}
	return d.object(depth)
}

func (d drawn) list(item func() string) string {
	return "[" + d.entries(item) + "]"
}

func (d drawn) object(depth int) string { return "{" + d.members(depth) + "}" }

func (d drawn) members(depth int) string {
	return d.entries(func() string {
		key := d.key()
		if key == "id" && depth < 4 {
			key = "idx"
		}
		return key + d.space() + ":" + d.space() + d.value(depth-1)
	})
}

func (d drawn) entries(entry func() string) string {
	n := rapid.IntRange(0, 4).Draw(d.T, "n")
	s := d.space()
	for i := range n {
		s += entry() + d.space()
		if i < n-1 || rapid.Bool().Draw(d.T, "trailing") {
			s += "," + d.space()
		}
	}
	return s
}

// What a patch makes of a file reads as what it makes of the tree, a second time it changes nothing, and every comment is still there.
func TestEditSaysWhatThePatchSays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		content := d.space() + d.object(4) + d.space()
		raw := d.object(4)
		root, before := parseAll("f", content, newReport())
		patch := parse("p", raw, newReport())
		if root == nil || patch == nil {
			rt.Fatalf("the test's own text is not JSON5: %q, %q", content, raw)
		}
		if checkIDs(root, patch, nil) != nil {
			return
		}
		got := edits(rt, content, raw)
		after, _ := parseAll("f", got, newReport())
		if want := patched(root, patch); after == nil || !same(after, want) {
			rt.Fatalf("%q with %q became %q", content, raw, got)
		}
		if again := edits(rt, got, raw); again != got {
			rt.Fatalf("%q with %q became %q, then %q", content, raw, got, again)
		}
		if strings.Count(raw, "null") == 0 && same(root, after) && got != content {
			rt.Fatalf("%q with %q says the same and became %q", content, raw, got)
		}
		if len(raw) < 4 && len(before) > 0 && got != content {
			rt.Fatalf("an empty patch made %q of %q", got, content)
		}
	})
}

// A patch of one member touches nothing else: what stands before and after it is what stood there.
func TestEditOfOneValueIsLocal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		d := drawn{rt}
		before, after := "{"+d.space()+"first"+d.space()+":"+d.space()+d.value(3)+d.space()+","+d.space()+"touched"+d.space()+":"+d.space(),
			d.space()+","+d.space()+"last"+d.space()+":"+d.value(3)+d.space()+"}"+d.space()
		got := edits(rt, before+"'old'"+after, `{touched: 'new'}`)
		if got != before+"'new'"+after {
			rt.Fatalf("%q became %q", before+"'old'"+after, got)
		}
	})
}
