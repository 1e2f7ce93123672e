package a2a_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/pronto-lab/openclawd/coordination/a2a"
)

func TestSkipWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"_SKIP": true, " \n_SKIP\t\u00a0": true, "_skip": true, "_Skip.": true, "_SKIP. nothing to add": true, "_SKIP - done": true,
		"[[reply_to_current]]\n_SKIP": true,
		"":                            false, "_SKIPPED": false, "_SKIP!": false, "_SKIP\nmore": false, "_SKIP,": false, "ok _SKIP": false, "`_SKIP`": false, "_SKI": false,
		"[[x]] _SKIP": false,
	} {
		reply, announce := strings.NewReplacer("_SKIP", "REPLY_SKIP", "_skip", "reply_skip", "_Skip", "Reply_Skip"),
			strings.NewReplacer("_SKIP", "ANNOUNCE_SKIP", "_skip", "announce_skip", "_Skip", "Announce_Skip")
		if got := a2a.SkipsReply(reply.Replace(text)); got != want {
			t.Errorf("%q skips the reply: %t", text, got)
		}
		if got := a2a.SkipsAnnounce(announce.Replace(text)); got != want {
			t.Errorf("%q skips the announcement: %t", text, got)
		}
	}
	if a2a.SkipsReply("ANNOUNCE_SKIP") || a2a.SkipsAnnounce("REPLY_SKIP") {
		t.Error("one word stands for the other")
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"": true, " \r\n\u3000": true, "NO_REPLY": true, "\n NO_REPLY \n": true, "[[reply_to_current]]\nNO_REPLY": true,
		"no_reply": false, "NO_REPLY.": false, "NO_REPLY needed": false, "REPLY_SKIP": false, "[[reply_to_current]]": false, "0": false,
	} {
		if got := a2a.Silent(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

func TestDirectivesAreTakenOffTheTop(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "", "\n\n": "\n\n", " two\n lines ": " two\n lines ",
		"[[reply_to_current]]\nhello":                         "hello",
		"\n [[reply_to:12-3_a]]\t\r\n\n[[B]]\n  hello\n[[C]]": "  hello\n[[C]]",
		"[[reply_to_current]]":                                "[[reply_to_current]]", "[[a]]\n[[b]]\n \n": "[[a]]\n[[b]]\n \n",
		"[[a]] hello": "[[a]] hello", "[[a b]]\nhello": "[[a b]]\nhello", "[[]]\nhello": "[[]]\nhello", "[[가]]\nhello": "[[가]]\nhello", "[a]\nhello": "[a]\nhello",
		"[outcome] blocked: x": "[outcome] blocked: x", "[[a]\nhello": "[[a]\nhello",
	} {
		if got := a2a.Plain(text); got != want {
			t.Errorf("%q became %q, not %q", text, got, want)
		}
	}
}

// Texts in events have an end, and it is none within a character.
func TestBug19_TextsInEventsAreBounded(t *testing.T) {
	t.Parallel()
	family := "👨\u200d👩\u200d👧"
	for _, c := range []struct {
		text string
		n    int
		want string
	}{
		{"", 10, ""}, {"hello", 5, "hello"}, {"hello", 4, "hell"}, {"hello", 0, ""}, {"hello", -1, ""},
		{"가나다라", 3, "가나다"}, {"가나다라", 4, "가나다라"},
		{"ab" + family + "c", 4, "ab"}, {"ab" + family + "c", 7, "ab" + family}, {"e\u0301e\u0301", 3, "e\u0301"}, {"🇰🇷🇰🇷", 3, "🇰🇷"},
		{"[[reply_to_current]]\nhello", 4, "hell"},
		{"key sk-0123456789abcdef0123456789 of it", 100, "key *** of it"}, {"key sk-0123456789abcdef0123456789 of it", 8, "key *** "},
		{"a\xffbc", 2, "a\ufffd"}, {"a\xff", 2, "a\ufffd"},
	} {
		if got := a2a.Cut(c.text, c.n); got != c.want {
			t.Errorf("%q at %d: %q, not %q", c.text, c.n, got, c.want)
		}
	}
	for _, text := range []string{strings.Repeat("가", 100_000), strings.Repeat("가 나", 100_000), strings.Repeat("x", 1<<20), strings.Repeat(family, 50_000)} {
		for _, n := range []int{a2a.MessageLength, a2a.PreviewLength} {
			got := a2a.Cut(text, n)
			if length := utf8.RuneCountInString(got); length > n || length < n-10 || !strings.HasPrefix(text, got) {
				t.Errorf("%.12s at %d: %d characters", text, n, length)
			}
		}
	}
	// A secret that lies over the end of what is looked at leaves no half of it.
	const key = "sk-0123456789abcdef0123456789abcdef"
	for pad := 65536 - 2*len(key); pad <= 65536; pad += 7 {
		if got := a2a.Cut(strings.Repeat("x", pad)+" "+key+" end", 1<<20); strings.Contains(got, "sk-") {
			t.Fatalf("after %d bytes: %q", pad, got[pad:])
		}
	}
}
