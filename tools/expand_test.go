package tools_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/tools"
)

// A schema whose references expand beyond all measure is left out; one that is merely large, or refers to itself, is not.
func TestSchemasThatExpand(t *testing.T) {
	t.Parallel()
	doubling := func(levels int, keyword string) string {
		var defs []string
		for n := range levels {
			defs = append(defs, fmt.Sprintf(`"d%d":{%s}`, n, strings.ReplaceAll(keyword, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, n+1))))
		}
		return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/d0","$defs":{%s,"d%d":{}}}`, strings.Join(defs, ","), levels)
	}
	var wide []string
	for n := range 2_000 {
		wide = append(wide, fmt.Sprintf(`"p%d":{"$ref":"#/$defs/text"}`, n))
	}
	set, faults := tools.NewSet([]tools.Tool{
		echo("all", "x", doubling(40, `"allOf":[NEXT,NEXT]`)),
		echo("any", "x", doubling(40, `"anyOf":[{"properties":{"a":NEXT}},{"items":NEXT}]`)),
		echo("deep", "x", doubling(40, `"properties":{"a":NEXT}`)),
		echo("dependent", "x", doubling(40, `"dependentSchemas":{"a":NEXT,"b":NEXT}`)),
		echo("few", "x", doubling(8, `"allOf":[NEXT,NEXT]`)),
		echo("tree", "x", `{"type":"object","properties":{"left":{"$ref":"#"},"right":{"$ref":"#"},"all":{"items":{"$ref":"#"}}}}`),
		echo("wide", "x", `{"type":"object","properties":{`+strings.Join(wide, ",")+`},"$defs":{"text":{"type":"string"}}}`),
	})
	var out, in []string
	for _, f := range faults {
		out = append(out, f.Tool)
		if f.Field != "schema" || !strings.Contains(f.Text, "expanded") {
			t.Error(f)
		}
	}
	for _, one := range set.Tools() {
		in = append(in, one.Name)
	}
	if got := fmt.Sprint(out, in); got != "[all any dependent] [deep few tree wide]" {
		t.Error(got)
	}
}
