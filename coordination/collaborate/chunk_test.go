package collaborate_test

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination/collaborate"
)

func TestChunks(t *testing.T) {
	t.Parallel()
	line := strings.Repeat("x", 98) + "\n" // 99 characters
	code := strings.Repeat(line, 30)       // 2970
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"white space", " \n ", nil},
		{"what fits stays as it is", "a ```go\nb", []string{"a ```go\nb"}},
		{"2000 characters fit", strings.Repeat("가", 2000), []string{strings.Repeat("가", 2000)}},
		{"and 2000 that have two code units each", strings.Repeat("😀", 2000), []string{strings.Repeat("😀", 2000)}},
		{"2001 do not", strings.Repeat("가", 2001), []string{strings.Repeat("가", 2000), "가"}},
		{"at the end of a line", code, []string{strings.Repeat(line, 20), strings.Repeat(line, 10)}},
		{"at the end of a word", strings.Repeat("word ", 500), []string{strings.Repeat("word ", 400), strings.Repeat("word ", 100)}},
		{"not where it would be less than half full", "a\n" + strings.Repeat("b", 2000), []string{"a\n" + strings.Repeat("b", 1998), "bb"}},
		{"a block of code", "```go\n" + code + "```", []string{"```go\n" + strings.Repeat(line, 20) + "```", "```go\n" + strings.Repeat(line, 10) + "```"}},
		{"a block without a language", "```\n" + code + "```", []string{"```\n" + strings.Repeat(line, 20) + "```", "```\n" + strings.Repeat(line, 10) + "```"}},
		{"a block in one line", "```" + strings.Repeat("y", 2500) + "```", []string{"```" + strings.Repeat("y", 1993) + "\n```", "```\n" + strings.Repeat("y", 507) + "```"}},
		{"a block that is never closed", "```c++\n" + code, []string{"```c++\n" + strings.Repeat(line, 20) + "```", "```c++\n" + strings.Repeat(line, 10) + "```"}},
		{"not just after a mark", strings.Repeat(line, 20) + "```go\n" + line + "```", []string{strings.Repeat(line, 20), "```go\n" + line + "```"}},
		{"not just before one", "```go\n" + strings.Repeat(line, 20) + "```", nil},
		{"no character from its marks", strings.Repeat("a", 1999) + "e\u0301" + "b", []string{strings.Repeat("a", 1999), "e\u0301b"}},
		{"no family", strings.Repeat("a", 1998) + "👨‍👩‍👧‍👦", []string{strings.Repeat("a", 1998), "👨‍👩‍👧‍👦"}},
		{"a character with more marks than fit", "e" + strings.Repeat("\u0301", 2500), []string{"e" + strings.Repeat("\u0301", 1999), strings.Repeat("\u0301", 501)}},
		{"white space alone is not sent", "a" + strings.Repeat(" ", 3000), []string{"a" + strings.Repeat(" ", 1999)}},
		{"damaged", strings.Repeat("a", 1999) + "\xffb", []string{strings.Repeat("a", 1999) + "\uFFFD", "b"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := collaborate.Chunks(tt.text)
			if tt.name != "not just before one" {
				equal(t, "the messages", got, tt.want)
			}
			for _, m := range got {
				if strings.Contains(m, "```go\n```") || utf8.RuneCountInString(m) > 2000 {
					t.Errorf("%q has a block without code, or %d characters", m, utf8.RuneCountInString(m))
				}
			}
		})
	}
}

// The bodies of all messages are the text; each fits, holds only whole blocks of code, and parts no character that it need not.
func TestChunksGiveTheTextBack(t *testing.T) {
	t.Parallel()
	pieces := rapid.SampledFrom([]string{"a", "word ", "가나다 ", "\n", "\n\n", "```", "```go\n", "\n```\n", "`", "``", "😀", "👩‍💻", "e\u0301", "🇰🇷", " ", "<@12> ",
		strings.Repeat("long", 20), strings.Repeat("한", 70), strings.Repeat("\n", 90), "\u0301", "\u200d"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 200).Draw(t, "pieces"), "")
		limit := rapid.IntRange(64, 300).Draw(t, "limit")
		chunks := collaborate.Split(text, limit)
		var b strings.Builder
		for i, c := range chunks {
			b.WriteString(c.Body)
			judge(t, c, limit, len(chunks))
			if i > 0 && parted(chunks[i-1].Body, c.Body) {
				t.Fatalf("a character is parted between %q and %q", chunks[i-1].Body, c.Body)
			}
			if i > 0 && c.Head != "" {
				language, _ := strings.CutPrefix(c.Head, "```")
				before := chunks[i-1].String()
				if !strings.HasSuffix(before, "```") || !strings.Contains(before, "```"+strings.TrimSuffix(language, "\n")) {
					t.Fatalf("%q opens a block again that %q does not hold", c.Head, before)
				}
			}
		}
		if b.String() != text {
			t.Fatalf("%q\nis divided into\n%q", text, b.String())
		}
	})
}

func judge(t *rapid.T, c collaborate.Chunk, limit, of int) {
	s := c.String()
	if n := utf8.RuneCountInString(s); n > limit {
		t.Fatalf("%q has %d characters, %d are allowed", s, n, limit)
	}
	if c.Body == "" && of > 1 || !utf8.ValidString(s) {
		t.Fatalf("%+v is empty, or no UTF-8", c)
	}
	if of > 1 && strings.Count(s, "```")%2 != 0 {
		t.Fatalf("%q does not hold whole blocks of code", s)
	}
}

// parted says whether a character was parted from its marks although the message could have ended elsewhere.
func parted(before, after string) bool {
	first, _ := utf8.DecodeRuneInString(after)
	if !unicode.Is(unicode.Mn, first) && first != '\u200d' {
		return false
	}
	_, size := utf8.DecodeRuneInString(before)
	return strings.Trim(before[size:], "`\n \u0301\u200d") != ""
}

func TestPairWindowSlides(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := begins(t)
		limit := rapid.IntRange(1, 5).Draw(t, "limit")
		w.s.Policy.PairLimit = limit
		window := w.s.Policy.PairWindow.Milliseconds()
		var taken []int64
		for i := range rapid.IntRange(1, 40).Draw(t, "length") {
			w.now += rapid.Int64Range(0, 120_000).Draw(t, "ms")
			within := 0
			for _, at := range taken {
				if w.now-at < window {
					within++
				}
			}
			r := toEden(fmt.Sprint("m", i))
			if rapid.Bool().Draw(t, "the other way") {
				r.From, r.Target = r.Target, r.From
			}
			p, no := collaborate.Decide(&w.s, r, w.now)
			if (no == nil) != (within < limit) {
				t.Fatalf("%d of %d were taken within the window: %+v", within, limit, no)
			}
			if no == nil {
				w.takes(p)
				taken = append(taken, w.now)
				continue
			}
			if oldest := taken[len(taken)-limit]; no.Reason != collaborate.CodePairLimit || no.ResetAt != oldest+window {
				t.Fatalf("%+v, want a reset at %d", no, oldest+window)
			}
		}
	})
}
