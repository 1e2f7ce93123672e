package console_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/eventstore/sqlite/console"
)

func TestStatementsEndAtTheirSemicolon(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, statement, rest string
		complete              bool
	}{
		{"SELECT 1", "SELECT 1", "", false},
		{"SELECT 1;", "SELECT 1", "", true},
		{"SELECT 1; -- done", "SELECT 1", " -- done", true},
		{"SELECT 1; SELECT 2", "SELECT 1", " SELECT 2", false},
		{"SELECT ';';", "SELECT ';'", "", true},
		{"SELECT 'it''s;';x", "SELECT 'it''s;'", "x", false},
		{`SELECT ";" ;`, `SELECT ";" `, "", true},
		{"SELECT [;];", "SELECT [;]", "", true},
		{"SELECT `;`;", "SELECT `;`", "", true},
		{"SELECT 1 -- ;", "SELECT 1 -- ;", "", false},
		{"SELECT 1 -- ;\n;", "SELECT 1 -- ;\n", "", true},
		{"SELECT 1 /* ; */;", "SELECT 1 /* ; */", "", true},
		{"SELECT 1; /* open", "SELECT 1", " /* open", false},
		{"SELECT 'open;", "SELECT 'open;", "", false},
		{"SELECT '가;나';", "SELECT '가;나'", "", true},
		{"", "", "", false},
		{";", "", "", true},
	} {
		statement, rest := console.Cut(c.text)
		if statement != c.statement || rest != c.rest || console.Complete(c.text) != c.complete {
			t.Errorf("%q: %q and %q, complete %t; want %q and %q, %t", c.text, statement, rest, console.Complete(c.text), c.statement, c.rest, c.complete)
		}
	}
}

// Nothing is lost where a text is cut, whatever it is.
func TestCutLosesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOfN(rapid.SampledFrom([]rune("a;'\"[]`-/*\n 가")), 0, 40, -1).Draw(t, "text")
		statement, rest := console.Cut(text)
		if joined := statement + ";" + rest; joined != text && (statement != text || rest != "") {
			t.Fatalf("%q: %q and %q", text, statement, rest)
		}
		console.Complete(text)
	})
}
