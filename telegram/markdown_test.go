package telegram

import (
	"strings"
	"testing"
)

// names mentions 42 by a link, and others by their id.
func names(id string) mention {
	if id == "42" {
		return mention{markdown: `[Bo\.ra](tg://user?id=42)`, plain: "Bo.ra"}
	}
	return mention{markdown: id, plain: id}
}

func TestRender(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"plain", "plain"},
		{"1. a-b (c) d! e.f #g +h =i |j {k} >l", `1\. a\-b \(c\) d\! e\.f \#g \+h \=i \|j \{k\} \>l`},
		{"**bold** and __bold__", "*bold* and *bold*"},
		{"*it* and _it_", "_it_ and _it_"},
		{"***both***", "*_both_*"},
		{"**bold _both_ bold**", "*bold _both_ bold*"},
		{"~~gone~~", "~gone~"},
		{"snake_case_name and 2*3*4", `snake\_case\_name and 2_3_4`},
		{"2 * 3 * 4", `2 \* 3 \* 4`},
		{"**open", `\*\*open`},
		{"** no **", `\*\* no \*\*`},
		{"`a*b_c`", "`a*b_c`"},
		{"``a`b``", "`a\\`b`"},
		{"`open", "\\`open"},
		{"**`x**`**", "*`x**`*"},
		{"[a.b](https://x.example/a_(b)?c=1)", `[a\.b](https://x.example/a_(b\)?c=1)`},
		{"[me](tg://user?id=1)", `\[me\]\(tg://user?id\=1\)`},
		{"[x]", `\[x\]`},
		{"# Title.", `*Title\.*`},
		{"#hash", `\#hash`},
		{"> quoted **x**", ">quoted *x*"},
		{"a > b", `a \> b`},
		{"<@42> and <@!7> and <@x>", `[Bo\.ra](tg://user?id=42) and 7 and <@x\>`},
		{"@someone and a@b.example", "@\u2060someone and a@b\\.example"},
		{`\*not\* \x`, `\*not\* \\x`},
		{"```go\nx := `1` // \\n\n```\nafter.", "```go\nx := \\`1\\` // \\\\n\n```\nafter\\."},
		{"~~~\na\n~~~", "```\na\n```"},
		{"```\nopen", "```\nopen\n```"},
		{"```c++ title\n@all\n```", "```c++\n@all\n```"},
		{"_a__b_", `_a\_\_b_`},
		{"*a*_b_", "_a_\u2060_b_"},
		{"a\\", `a\\`},
		{"😀 *é*", "😀 _é_"},
	} {
		if got := render(tt.text, names).markdown; got != tt.want {
			t.Errorf("%q:\n%q, want\n%q", tt.text, got, tt.want)
		}
	}
	if got := render("**x** <@42>, @someone", names).plain; got != "**x** Bo.ra, @\u2060someone" {
		t.Errorf("plain: %q", got)
	}
}

// Whatever agents write, the marks are balanced and everything else is escaped.
func FuzzRender(f *testing.F) {
	for _, seed := range []string{"**a _b_ c**", "`a", "```x\n`", "[a](https://b.example)", "***a**b*", "_a*b_c*", "<@42>", "> # *a", "~~a*b~~c*", "\\", "*a `*` b*", "**a*b**c*"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		text = strings.ToValidUTF8(text, "?")
		r := render(text, names)
		if err := parses(r.markdown); err != "" {
			t.Fatalf("%q is rendered as %q: %s", text, r.markdown, err)
		}
	})
}

// parses is a strict reader of MarkdownV2: what it accepts, Telegram does.
func parses(s string) string {
	var open []string
	top := func() string {
		if len(open) == 0 {
			return ""
		}
		return open[len(open)-1]
	}
	begin := true
	for i := 0; i < len(s); i++ {
		c := s[i]
		first := begin
		begin = c == '\n'
		mark := ""
		switch {
		case c == '\\':
			if i+1 == len(s) || s[i+1] > 126 {
				return "a lone \\"
			}
			i++
			continue
		case strings.HasPrefix(s[i:], "```"):
			mark = "```"
		case strings.HasPrefix(s[i:], "__") && top() != "`" && top() != "```":
			return "an underline"
		case strings.IndexByte("`*_~[]", c) >= 0:
			mark = s[i : i+1]
		}
		if t := top(); t == "`" || t == "```" {
			if mark == "" || mark != t && mark != "`" {
				continue
			}
			if mark != t {
				return "a ` in code"
			}
		}
		switch {
		case mark == "]":
			if top() != "[" || !strings.HasPrefix(s[i:], "](") {
				return "a lone ]"
			}
			end := i + 2
			for end < len(s) && s[end] != ')' {
				if s[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(s) {
				return "an endless address"
			}
			open, i = open[:len(open)-1], end
		case mark != "" && mark == top():
			open = open[:len(open)-1]
			i += len(mark) - 1
		case mark != "":
			for _, o := range open {
				if o == mark {
					return mark + " in itself"
				}
			}
			open = append(open, mark)
			i += len(mark) - 1
		case c == '>' && first:
		case strings.IndexByte("()>#+-=|{}.!", c) >= 0:
			return "a reserved " + string(c)
		}
	}
	if len(open) > 0 {
		return "open: " + strings.Join(open, " ")
	}
	return ""
}
