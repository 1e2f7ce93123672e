package route

import (
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination"
)

// inDiscord are the traits of Discord.
func inDiscord() coordination.Channel {
	c, _ := coordination.ChannelNamed(coordination.Discord)
	return c
}

func TestMentionedUsers(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"<@1> <@!2> <@1> <@!1> <@3>", "1 2 3"},
		{"<@&1> <#2> <@> <@!> <@a1> <@1 <@12a> <@123456789012345678901> @everyone <:x:5>", ""},
		{"<@<@4>", "4"},
		{"붙여<@5>써도", "5"},
		{"> <@1> 인용\n<@2>", "2"},
		{"   > <@1> 인용\n<@2>", "2"},
		{"앞\n> <@1>\n> <@3>\n<@2>", "2"},
		{">\n<@2>", "2"},
		{"><@2> 이것은 인용이 아니다", "2"},
		{"가 > <@2>", "2"},
		{"<@2>\n>>> <@1>\n<@3>", "2"},
		{"```go\n<@1>\n```<@2>", "2"},
		{"```<@1>``` <@2> ```<@3>```", "2"},
		{"``` 닫지 않은 <@2>", "2"},
		{"`<@1>` <@2> ``<@3> ` <@4>`` <@5>", "2 5"},
		{"` <@2> ``", "2"},
		{"` <@2>\n> <@1>", "2"},
		{`\<@1> \` + "`<@2>`", "2"},
		{`C:\dir <@2>`, "2"},
		{"```\n> <@1>\n```\n> <@3>\n<@2>", "2"},
		{"", ""},
	} {
		if got := strings.Join(mentionedUsers(spoken(tt.text), inDiscord()), " "); got != tt.want {
			t.Errorf("%q mentions %q, want %q", tt.text, got, tt.want)
		}
	}
}

func TestNamed(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text, name string
		want       bool
	}{
		{"이든한테 물어봐줘", "이든", true},
		{"이든에게도", "이든", true},
		{"이든님께 전해줘", "이든", true},
		{"이든이한테", "이든", true},
		{"이든이랑 논의해봐", "이든", true},
		{"루다랑 논의해봐", "루다", true},
		{"루다와", "루다", true},
		{"이든과", "이든", true},
		{"루다씨하고", "루다", true},
		{"루다더러 하라고 해", "루다", true},
		{"(루다에게)", "루다", true},
		{"Eden한테", "eden", true},
		{"eden에게 물어", "EDEN", true},
		{"이든아 봐줘", "이든", true},
		{"루다야, 이것 좀", "루다", true},
		{"이든님", "이든", true},
		{"이든님은 어떻게 보세요?", "이든", true},
		{"eden 한테", "eden", true},
		{"eden아 봐줘", "eden", true},
		{"세움 생각은?", "세움", true},
		{"eden 생각은?", "eden", true},
		{"이든 한테 물어봐", "이든", true},
		{"이든 님, 확인 부탁드려요", "이든", true},
		{"이든이 했다", "이든", true},
		{"이든은 뭐해", "이든", true},
		{"이든의 의견", "이든", true},
		{"이든을 불러줘", "이든", true},
		{"루다가 봤대", "루다", true},
		{"세움도요", "세움", true},
		{"이든한테서 들었다", "이든", true},
		{"이든이나 세움한테", "이든", true},
		{"담당:이든", "이든", true},
		{"ask Eden, please", "eden", true},
		{"Eden's opinion", "eden", true},
		{"@이든 봐줘", "이든", true},
		{"main 한테 물어봐", "main", true},
		{"main한테", "main", true},
		{"수야 봐줘", "수", true},
		{"루다루다한테", "루다", false}, // another name
		{"루다과", "루다", false},
		{"이든와", "이든", false},
		{"루다아", "루다", false},
		{"하이든한테", "이든", false},
		{"무엇이든 해줘", "이든", false},
		{"어디든지", "이든", false},
		{"이든지 아니든지", "이든", false},
		{"이든가 저든가", "이든", false},
		{"이든보고서 작성해줘", "이든", false},
		{"세움터에서 만나자", "세움", false},
		{"세움프로젝트", "세움", false},
		{"이루다에게", "루다", false},
		{"루다이한테", "루다", false},
		{"#이든 채널", "이든", false},
		{"gardeneden한테", "eden", false},
		{"edenic 한테", "eden", false},
		{"eden_x eden-2 eden.md eden@x.dev me@eden.dev https://eden.dev/eden?by=eden agent:eden:main <:eden:12>", "eden", false},
		{"src/eden/main.go", "eden", false},
		{"main 브랜치에 머지해줘", "main", false},
		{"할 수 있어요", "수", false},
		{"누구한테", "", false},
	} {
		if got := named(strings.ToLower(tt.text), tt.name); got != tt.want {
			t.Errorf("%q speaks to %s: %v, want %v", tt.text, tt.name, got, tt.want)
		}
	}
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want Tokens
	}{
		{"PR #42 확인해줘, pr 43, #44, PR45. https://github.com/a/b/pull/46/files를 봐줘 (https://x.dev/a_(b)).", Tokens{
			URLs: []string{"https://github.com/a/b/pull/46/files", "https://x.dev/a_(b)"}, PRs: []int{42, 43, 44, 45, 46}}},
		{"<#123> a#1 #12345678 #0 &#39; 색은 abc#12", Tokens{}},
		{"src/discord/loop-guard.ts:42 와 main.go, `Decide` 그리고 route.Decide() `두 단어`", Tokens{
			CodeRefs: []string{"src/discord/loop-guard.ts:42", "main.go", "Decide", "route.Decide()"}}},
		{"https://a.io/x.html main.go main.go", Tokens{URLs: []string{"https://a.io/x.html"}, CodeRefs: []string{"main.go"}}},
		{"https://a.io/?token=0123456789abcdef", Tokens{URLs: []string{"https://a.io/?token="}}},
		{"https://a.io/" + strings.Repeat("x", 300), Tokens{}},
	} {
		m := Message{ID: "1", Text: tt.text}
		r := record(&m, "s", nil, nil, nil)
		if strings.Contains(tt.text, "token=") {
			for i, url := range r.Tokens.URLs {
				if strings.Contains(url, "0123456789abcdef") {
					t.Errorf("a secret is kept: %s", url)
				}
				r.Tokens.URLs[i], _, _ = strings.Cut(url, "***")
			}
		}
		if diff := cmp.Diff(tt.want, r.Tokens); diff != "" {
			t.Errorf("%s: -want +got\n%s", tt.text, diff)
		}
	}
	many := Message{ID: "1", Text: strings.Repeat("https://a.io/", 1) + strings.Join(numbered(30), " ")}
	if r := record(&many, "s", nil, numbered(30), nil); len(r.Tokens.PRs) != MaxTokens || len(r.Tokens.Mentions) != MaxTokens {
		t.Errorf("%d numbers and %d mentions are kept, want %d", len(r.Tokens.PRs), len(r.Tokens.Mentions), MaxTokens)
	}
}

func numbered(n int) (texts []string) {
	for i := range n {
		texts = append(texts, " #"+strings.Repeat("1", i%7+1)+string(rune('0'+i%10)))
	}
	return texts
}

// More text than anybody can write is looked through as far as that.
func TestEndlessText(t *testing.T) {
	t.Parallel()
	m := Message{ID: "1", Text: strings.Repeat("가", maxScanned) + "#12"}
	if r := record(&m, "s", nil, nil, nil); r.Summary != strings.Repeat("가", SummaryLimit) || r.Tokens.PRs != nil {
		t.Errorf("%+v", r)
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ text, want string }{
		{"  안녕\n\n하세요  ", "안녕 하세요"},
		{strings.Repeat("가", 60), strings.Repeat("가", 50)},
		{"<@1002> <@9> 봐줘", "@이든 @…9 봐줘"},
		{"sk-0123456789abcdef0123 " + strings.Repeat("나", 60), "*** " + strings.Repeat("나", 46)},
		{strings.Repeat("다", 49) + "👨‍👩‍👧끝", strings.Repeat("다", 49)},
		{strings.Repeat("라", 48) + " sk-0123456789abcdef0123", strings.Repeat("라", 48) + " *"},
	} {
		c := newCase(&Situation{Message: Message{ID: "1", Text: tt.text}, Bots: []Bot{{UserID: "1002", Agent: "eden", Name: "이든"}}})
		if got := record(c.m, "s", nil, nil, c.team.roster(c.m)).Summary; got != tt.want {
			t.Errorf("%q is kept as %q, want %q", tt.text, got, tt.want)
		}
	}
}

// For any text: nothing panics, mentions are ids in the text, and the record is short.
func TestAnyText(t *testing.T) {
	t.Parallel()
	piece := rapid.SampledFrom([]string{"<@1>", "<@!22>", "<@", ">", "> ", ">>> ", "\n", "`", "``", "```", "\\", "이든한테", "#12", "https://a.b/c", " ",
		"main.go", "\xff"})
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.OneOf(piece, rapid.String()), 0, 30).Draw(t, "text"), "")
		for _, id := range mentionedUsers(spoken(text), inDiscord()) {
			if !strings.Contains(text, "<@"+id+">") && !strings.Contains(text, "<@!"+id+">") {
				t.Fatalf("%s is not mentioned in %q", id, text)
			}
		}
		if s := spoken(text); len(s) > len(text) {
			t.Fatalf("%q has become %q", text, s)
		}
		named(strings.ToLower(text), "이든")
		m := Message{ID: "1", Text: text}
		if s := record(&m, "s", nil, nil, nil).Summary; utf8.RuneCountInString(s) > SummaryLimit || strings.Contains(s, "\n") {
			t.Fatalf("%q is kept", s)
		}
	})
}

func TestWindow(t *testing.T) {
	t.Parallel()
	var w Window
	l := Limit{Max: 3, Span: time.Minute}
	for _, at := range []int64{20_000, 0, 10_000} { // told out of order
		w.Add(at)
	}
	for _, tt := range []struct {
		at    int64
		count int
		free  int64
	}{{0, 1, 0}, {15_000, 2, 15_000}, {20_000, 3, 60_000}, {59_999, 3, 60_000}, {60_000, 2, 60_000}, {80_000, 0, 80_000}} {
		if n := w.Count(tt.at, l.Span); n != tt.count {
			t.Errorf("at %d: %d, want %d", tt.at, n, tt.count)
		}
		if free := freeAt(w, tt.at, l); free != tt.free {
			t.Errorf("at %d: free at %d, want %d", tt.at, free, tt.free)
		}
	}
	if free := freeAt(w, 5, Limit{}); free != 0 {
		t.Errorf("nothing is allowed, and free at %d", free)
	}
	before := slices.Clone(w)
	same := w
	w.Add(2 * windowSpan)
	if !slices.Equal(same, before) || len(w) != 1 {
		t.Errorf("a copy is %v, the window %v", same, w)
	}
	roomy := append(make(Window, 0, 10), 1, 2, 3)
	same = roomy
	if roomy.Add(0); !slices.Equal(same, Window{1, 2, 3}) || !slices.Equal(roomy, Window{0, 1, 2, 3}) {
		t.Errorf("a copy is %v, the window %v", same, roomy)
	}
	for i := range int64(2 * windowMax) {
		w.Add(2*windowSpan + i)
	}
	if len(w) != windowMax {
		t.Errorf("%d are remembered, want %d", len(w), windowMax)
	}
}

// A window counts as one that forgets nothing, within what it promises.
func TestWindowCounts(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var w Window
		var all []int64
		now := int64(0)
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			now += rapid.Int64Range(0, 90_000).Draw(t, "later")
			at := now - rapid.Int64Range(0, 5_000).Draw(t, "late")
			w.Add(at)
			all = append(all, at)
			span := time.Duration(rapid.IntRange(1, 300).Draw(t, "span")) * time.Second
			want := 0
			for _, x := range all {
				if x > now-span.Milliseconds() && x <= now {
					want++
				}
			}
			if got := w.Count(now, span); got != want {
				t.Fatalf("%d in %s, want %d", got, span, want)
			}
			l := Limit{Max: rapid.IntRange(1, 8).Draw(t, "max"), Span: span}
			free := freeAt(w, now, l)
			if (free == now) != (want < l.Max) || free < now {
				t.Fatalf("free at %d of %d, %d of %d", free, now, want, l.Max)
			}
			if free > now && (within(all, now, free, span) >= l.Max || within(all, now, free-1, span) < l.Max) {
				t.Fatalf("not free at %d, or before", free)
			}
		}
	})
}

// freeAt returns the next time that the limit allows: at itself if already. A limit with Max 0 never allows one: 0.
func freeAt(w Window, at int64, l Limit) int64 {
	if l.Max <= 0 {
		return 0
	}
	n := w.Count(at, l.Span)
	if n < l.Max {
		return at
	}
	end, _ := slices.BinarySearch(w, at+1)
	return w[end-l.Max] + l.Span.Milliseconds()
}

// within counts what happened until now and still counts at a later time.
func within(all []int64, now, later int64, span time.Duration) (n int) {
	for _, x := range all {
		if x > later-span.Milliseconds() && x <= now {
			n++
		}
	}
	return n
}
