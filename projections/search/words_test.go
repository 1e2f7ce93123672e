package search_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/search"
)

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{" \t\n", ""},
		{"리뷰를 봄", "리뷰 뷰를 를 봄"},
		{"실패", "실패 패"},
		{"\u1105\u1175\u1107\u1172\u1105\u1173\u11af", "리뷰 뷰를 를"}, // the same in jamo
		{"ㅋㅋ 네", "ㅋㅋ ㅋ 네"},
		{"會議록 ひらがなー", "會議 議록 록 ひら らが がな なー ー"},
		{"Deploy DONE", "deploy done"},
		{"API를 v2로", "api 를 v2 로"},
		{"ws_fx_cat_01", "ws fx cat 01"},
		{"agent:eden:main", "agent eden main"},
		{"https://git.example/a/b-c.go?x=1#L10", "https git example a b c go x 1 l10"},
		{"ＡＰＩ　１２", "api 12"},
		{"É e\u0301 ÀΣς", "é é àσσ"},
		{"👍🏽 ❤️ 1️⃣ — ·!", "1\u20e3"},
		{"a\u200db\u00adc\ufeff", "abc"},
		{"가\u200b나", "가나 나"},
		{"x\x00y\xff\xfez\uE000q\uE001", "x y z q"},
		{`"quoted' AND NOT (x*) ^y`, "quoted and not x y"},
		{strings.Repeat("a", 64) + strings.Repeat("b", 65), strings.Repeat("a", 64) + " " + strings.Repeat("b", 64) + " b"},
		{strings.Repeat("가", 3), "가가 가가 가"},
	} {
		if got := strings.Join(search.Tokens(c.text), " "); got != c.want {
			t.Errorf("%q: tokens %q, want %q", c.text, got, c.want)
		}
	}
}

func TestQueriesBecomePhrases(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ query, want string }{
		{"리뷰", `("리뷰 ")`},
		{"실패했습", `("실패 패했 했습 ")`},
		{"봄", `("봄"*)`},
		{"Deploy", `("deploy"*)`},
		{"ws_fx_cat", `("ws fx cat"*)`},
		{"API를", `("api 를"*)`},
		{"리뷰API", `("리뷰 뷰 api"*)`},
		{"배포 실패", `("배포 " AND "실패 ")`},
		{`"배포 실패"`, `("배포 포 실패 ")`},
		{`"배포 실패`, `("배포 포 실패 ")`},
		{`a"b c"d`, `("a"* AND "b c"* AND "d"*)`},
		{"배포 -실패 -x", `("배포 ") NOT "실패 " NOT "x"*`},
		{`-"a b" c`, `("c"*) NOT "a b"*`},
		{"a - b --c -- d-e", `("a"* AND "b"* AND "d e"*) NOT "c"*`},
		{"!!! 👍 배포", `("배포 ")`},
		{`x* OR ^y NEAR(z) col:v (`, `("x"* AND "or"* AND "y"* AND "near z"* AND "col v"*)`},
		{"'; DROP TABLE texts; --", `("drop"* AND "table"* AND "texts"*)`},
		{`.*(a+)+$ \d{9}`, `("a"* AND "d 9"*)`},
	} {
		w, err := search.ParseWords(c.query)
		if err != nil {
			t.Errorf("%q: %v", c.query, err)
		} else if got := search.FTS(w); got != c.want {
			t.Errorf("%q: %s, want %s", c.query, got, c.want)
		}
	}
}

func TestQueriesThatAreRefused(t *testing.T) {
	t.Parallel()
	many := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "w%d ", i)
		}
		return b.String()
	}
	for _, query := range []string{"", "   ", "!!!", "👍", `""`, `"`, "-", "-a", `-"a b"`, strings.Repeat("가", 257), many(17), "\xff\xfe"} {
		_, err := search.ParseWords(query)
		var invalid *eventstore.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != "q" || invalid.HintText == "" {
			t.Errorf("%q: %v, want a refusal of q", query, err)
		}
	}
	for _, query := range []string{strings.Repeat("가", 256), many(16), strings.Repeat("! ", 128)[:255] + "a"} {
		if _, err := search.ParseWords(query); err != nil {
			t.Errorf("%q: %v", query, err)
		}
	}
}

// Whatever is typed becomes a query that SQLite accepts, and whose snippets lie within their text.
func FuzzQuery(f *testing.F) {
	for _, seed := range []string{"리뷰", `"a b" -c`, `x"y`, "ws_fx_01", "\x00\"'*^()", "-", "ㄱ가a1\u0301\u200d👍", "ＡＰＩ ᄀ\u1161", "NEAR(a b, 1)"} {
		f.Add(seed, "리뷰를 API로 "+seed)
	}
	b := setup(f)
	f.Fuzz(func(t *testing.T, query, text string) {
		search.Tokens(text)
		w, err := search.ParseWords(query)
		if err != nil {
			return
		}
		b.find(t, query)
		checkSnippet(t, w, text)
	})
}

func TestPiecesAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"리뷰를 API로 v2", "ws_fx_cat_01/main.go", "會議록🙂ひら 1.5", strings.Repeat("x", 130), "e\u0301 ＡＢ"} {
		want := []string{}
		for _, p := range piecesOf(text) {
			if !p.dense {
				want = append(want, p.text)
				continue
			}
			runes := []rune(p.text)
			for i := range runes {
				want = append(want, string(runes[i:min(i+2, len(runes))]))
			}
		}
		if diff := cmp.Diff(want, search.Tokens(text)); diff != "" {
			t.Errorf("%q (-oracle +got):\n%s", text, diff)
		}
	}
}
