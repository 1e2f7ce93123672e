package conversations_test

import (
	"encoding/json"
	"testing"

	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/projections/conversations"
)

// What is written of a tally is read as it was, the quick way wherever it has no escapes.
func TestTalliesAreReadAsWritten(t *testing.T) {
	t.Parallel()
	plain := rapid.SampledFrom([]string{"", "infra_ops", "engineering_build", "배포 준비", "a,b]c[d"})
	odd := rapid.OneOf(plain, rapid.String(), rapid.SampledFrom([]string{`"`, `\`, "\n", "\u2028", "\uffff\ufffd"}))
	rapid.Check(t, func(r *rapid.T) {
		names, isPlain := odd, rapid.Bool().Draw(r, "plain")
		if isPlain {
			names = plain
		}
		tally := []any{names.Draw(r, "fallback")}
		for range rapid.IntRange(0, 3).Draw(r, "votes") {
			vote := []any{names.Draw(r, "category"), rapid.Int64().Draw(r, "weight")}
			for range rapid.IntRange(0, 3).Draw(r, "tags") {
				vote = append(vote, names.Draw(r, "tag"), rapid.Int64().Draw(r, "n"))
			}
			tally = append(tally, vote)
		}
		text, err := json.Marshal(tally)
		if err != nil {
			r.Fatal(err)
		}
		written, slow, quick, err := conversations.Tallied(string(text))
		if err != nil || slow != written || quick != "" && quick != written || quick == "" && isPlain {
			r.Fatalf("%s: written as %s, read as %s and quickly as %s, %v", text, written, slow, quick, err)
		}
	})
	for _, text := range []string{"", "[]", "{}", `["a",]`, `["a",["b"]]`, `["a",["b",1,"c"]]`, `["a",["b","1"]]`, `["a"]x`, `["a"`, `["a",["b",1]`} {
		if written, _, _, err := conversations.Tallied(text); err == nil {
			t.Errorf("%s is a tally, written as %s", text, written)
		}
	}
}
