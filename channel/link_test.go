package channel_test

import (
	"testing"

	"github.com/pronto-lab/openclawd/channel"
)

func TestLinksShowTheirTarget(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ label, address, want string }{
		{"a page", "https://example.com/a_b?c=d&e=f#g", "[a page](https://example.com/a_b?c=d&e=f#g)"},
		{"good](https://good.example) [x", "https://evil.example", `[good\](https://good.example) \[x](https://evil.example)`},
		{`end\`, "https://evil.example", `[end\\](https://evil.example)`},
		{"two\nlines", "https://example.com/(x) y\"<@1>", "[two lines](https://example.com/%28x%29%20y%22%3C@1%3E)"},
		{"<@42>", "tg://user?id=42", "[<\u2060@42>](tg://user?id=42)"},
		{"이름", "https://example.com/이름", "[이름](https://example.com/이름)"},
	} {
		if got := channel.Link(c.label, c.address); got != c.want {
			t.Errorf("the link %q to %q is %q, want %q", c.label, c.address, got, c.want)
		}
	}
}
