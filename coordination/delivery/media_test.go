package delivery_test

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/coordination/delivery"
)

func TestMediaLinesNameFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]struct{ rest, sources string }{
		"the numbers":                               {"the numbers", ""},
		"MEDIA: ./out/report 1.csv":                 {"", "./out/report 1.csv"},
		"before\r\n MEDIA:report.csv\r\nafter":      {"before\nafter", "report.csv"},
		"MEDIA:https://a.example/x  https://b/y":    {"", "https://a.example/x|https://b/y"},
		"MEDIA:`/w/a b`\nMEDIA: \"c\"\nMEDIA:'d/e'": {"", "/w/a b|c|d/e"},
		"MEDIA: file:///w/a.png":                    {"", "file:///w/a.png"},
		// what names nothing, stands in the middle, or in code
		"MEDIA: coverage is good":             {"MEDIA: coverage is good", ""},
		"MEDIA: coverage is good.":            {"MEDIA: coverage is good.", ""},
		"MEDIA:\nMEDIA: ``":                   {"MEDIA:\nMEDIA: ``", ""},
		"see MEDIA:a.png":                     {"see MEDIA:a.png", ""},
		"media: a.png":                        {"media: a.png", ""},
		"```\nMEDIA:a.png\n```\nMEDIA:b.png":  {"```\nMEDIA:a.png\n```", "b.png"},
		"~~~~ sh\nMEDIA:a.png\n~~~\n~~~~\nx":  {"~~~~ sh\nMEDIA:a.png\n~~~\n~~~~\nx", ""},
		"    MEDIA:a.png\n\tMEDIA:b.png\nx":   {"    MEDIA:a.png\n\tMEDIA:b.png\nx", ""},
		"```\nMEDIA:a.png is never closed":    {"```\nMEDIA:a.png is never closed", ""},
		"```\n~~~\n```\nMEDIA:a.png":          {"```\n~~~\n```", "a.png"},
		"```\n``` still\nMEDIA:a.png\n```\ny": {"```\n``` still\nMEDIA:a.png\n```\ny", ""},
	} {
		rest, sources := delivery.SplitMedia(text)
		if rest != want.rest || strings.Join(sources, "|") != want.sources {
			t.Errorf("%q: %q and %q, want %+v", text, rest, sources, want)
		}
	}
}

// Whatever the text, no line is lost: each stays, or names a source. What stays names nothing more.
func TestMediaLinesLoseNothing(t *testing.T) {
	t.Parallel()
	parts := []string{"MEDIA:", " ", "a.png", "\n", "```", "~~~", "    ", "\t", "`", "https://x/y", "é", "/", "\""}
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 30).Draw(t, "parts"), "")
		rest, sources := delivery.SplitMedia(text)
		kept := strings.Split(rest, "\n")
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			named := slices.ContainsFunc(sources, func(s string) bool { return strings.Contains(line, s) && strings.Contains(line, "MEDIA:") })
			if !slices.Contains(kept, line) && !named {
				t.Fatalf("%q is lost of %q", line, text)
			}
		}
		if slices.Contains(sources, "") {
			t.Fatalf("%q names nothing: %q", text, sources)
		}
	})
}

func TestTranscriptsNameFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"no file":                                "no file",
		"the numbers\nMEDIA: ./out/report 1.csv": "the numbers\nreport 1.csv",
		"MEDIA:https://a.example/x.png\nMEDIA:`C:\\b.c`": "x.png, b.c",
		"MEDIA: coverage is good":                        "MEDIA: coverage is good",
	} {
		if got := delivery.ShowMedia(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := delivery.SourceOf(" MEDIA: a b.png "); got != "a b.png" {
		t.Errorf("%q", got)
	}
}
