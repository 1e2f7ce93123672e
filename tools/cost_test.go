package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// sourceOf is a Source of some tools.
type sourceOf struct{ set *tools.Set }

func (s sourceOf) Sets() []*tools.Set                       { return []*tools.Set{s.set} }
func (s sourceOf) Await(context.Context, func(string) bool) {}

// A schema that refers to itself twice would be applied twice as often at each level of the arguments: such a call is refused at once, and
// arguments of usual size are not.
func TestSchemasThatDoubleWithDepth(t *testing.T) {
	t.Parallel()
	const again = `{"$ref":"#/$defs/n"}`
	schemas := map[string]string{
		"any":        `"anyOf":[{"properties":{"a":NEXT},"required":["x"]},{"properties":{"a":NEXT}}]`,
		"all":        `"allOf":[{"properties":{"a":NEXT}},{"additionalProperties":NEXT}]`,
		"additional": `"properties":{"a":NEXT},"oneOf":[{"patternProperties":{"^a":NEXT}},{"required":["x"]}]`,
		"items":      `"anyOf":[{"items":NEXT,"minItems":9},{"contains":NEXT},{"prefixItems":[NEXT]}],"properties":{"a":NEXT}`,
		"not":        `"not":{"properties":{"a":NEXT},"required":["x"]},"if":{"properties":{"a":NEXT}}`,
	}
	var list []tools.Tool
	for name, schema := range schemas {
		list = append(list, echo(name, "x", `{"type":"object","properties":{"a":`+again+`},"$defs":{"n":{`+strings.ReplaceAll(schema, "NEXT", again)+`}}}`))
	}
	set, faults := tools.NewSet(list)
	if len(faults) > 0 {
		t.Fatal(faults)
	}
	conf := config.Default()
	r, err := tools.New(tools.Options{Config: func() *config.Config { return conf }, Logger: slog.New(slog.DiscardHandler), Sources: []tools.Source{sourceOf{set}}})
	if err != nil {
		t.Fatal(err)
	}
	for name := range schemas {
		left, right := `{"a":`, `}`
		if name == "items" {
			left, right = `[`, `]`
		}
		deep := `{"a":` + strings.Repeat(left, 60) + `1` + strings.Repeat(right, 60) + `}`
		_, err := r.Call(t.Context(), eden(), name, json.RawMessage(deep))
		if e := (*tool.Error)(nil); !errors.As(err, &e) || e.Code != tool.CodeInvalid || !strings.Contains(e.Text, "places") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"any", "all"} {
		flat := `{"a":{"a":{"a":{"b":` + `[` + strings.Repeat("1,", 20_000) + `1]}}}}`
		if _, err := r.Call(t.Context(), eden(), name, json.RawMessage(flat)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A reference whose target depends on where it is used from cannot be counted, so that a tool with one is left out.
func TestDynamicReferencesAreLeftOut(t *testing.T) {
	t.Parallel()
	_, faults := tools.NewSet([]tools.Tool{echo("one", "x", `{"$id":"http://x/","$dynamicAnchor":"n","type":"object","properties":{"a":{"$dynamicRef":"#n"}}}`)})
	if len(faults) != 1 || !strings.Contains(faults[0].Text, "$dynamicRef") {
		t.Errorf("%v", faults)
	}
}
