package monitor_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/go-cmp/cmp"
)

// docs/api-reference.md is made of openapi.yaml, for people.
func TestReferenceIsMadeOfTheContract(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "docs", "api-reference.md")
	want := reference(document)
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	found, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(found)); diff != "" {
		t.Errorf("%s is not what openapi.yaml says (go test ./monitor -run TestReferenceIsMade -update):\n%s", path, diff)
	}
}

const referenceHead = `# API reference

The operations of the Task-Monitor API, made of
[openapi.yaml](../monitor/openapi.yaml), which also has the shape of each answer; a running server
serves it at ` + "`/api/openapi.yaml`" + `. Who may call them: [security](security.md#who-may-do-what). How
they are used: [commands and API](commands.md), [api](operations/api.md).

`

// reference writes one section for each operation.
func reference(document *openapi3.T) string {
	var b strings.Builder
	b.WriteString(referenceHead)
	for _, path := range slices.Sorted(maps.Keys(document.Paths.Map())) {
		item := document.Paths.Value(path)
		operations := item.Operations()
		for _, method := range slices.Sorted(maps.Keys(operations)) {
			o := operations[method]
			fmt.Fprintf(&b, "## %s %s\n\n%s.\n\n", method, path, strings.TrimSuffix(inLine(o.Summary), "."))
			if o.Description != "" {
				fmt.Fprintf(&b, "%s\n\n", strings.TrimSpace(o.Description))
			}
			writeParameters(&b, append(slices.Clone(item.Parameters), o.Parameters...))
			writeBody(&b, o)
			writeAnswers(&b, o)
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func writeParameters(b *strings.Builder, parameters openapi3.Parameters) {
	if len(parameters) == 0 {
		return
	}
	b.WriteString("| parameter | in | type | meaning |\n|---|---|---|---|\n")
	for _, p := range parameters {
		name := "`" + p.Value.Name + "`"
		if p.Value.Required {
			name += " (required)"
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s |\n", name, p.Value.In, typeOf(p.Value.Schema), inCell(p.Value.Description))
	}
	b.WriteString("\n")
}

func writeBody(b *strings.Builder, o *openapi3.Operation) {
	if o.RequestBody == nil {
		return
	}
	for _, media := range slices.Sorted(maps.Keys(o.RequestBody.Value.Content)) {
		fmt.Fprintf(b, "Body, `%s`: %s\n\n", media, typeOf(o.RequestBody.Value.Content[media].Schema))
	}
}

// writeAnswers lists the answers. Statuses with the same answer share a row.
func writeAnswers(b *strings.Builder, o *openapi3.Operation) {
	b.WriteString("| status | answer | what |\n|---|---|---|\n")
	answers := o.Responses.Map()
	statuses := map[string][]string{}
	var rows []string
	for _, status := range slices.Sorted(maps.Keys(answers)) {
		var types []string
		for _, media := range slices.Sorted(maps.Keys(answers[status].Value.Content)) {
			types = append(types, typeOf(answers[status].Value.Content[media].Schema))
		}
		what := ""
		if said := answers[status].Value.Description; said != nil {
			what = *said
		}
		row := fmt.Sprintf("%s | %s", strings.Join(slices.Compact(types), ", "), inCell(what))
		if statuses[row] == nil {
			rows = append(rows, row)
		}
		statuses[row] = append(statuses[row], status)
	}
	for _, row := range rows {
		fmt.Fprintf(b, "| %s | %s |\n", strings.Join(statuses[row], ", "), row)
	}
	b.WriteString("\n")
}

// typeOf names a type, by its name in openapi.yaml where it has one.
func typeOf(s *openapi3.SchemaRef) string {
	switch {
	case s == nil || s.Value == nil:
		return ""
	case s.Ref != "":
		return "`" + s.Ref[strings.LastIndexByte(s.Ref, '/')+1:] + "`"
	case len(s.Value.Enum) > 0:
		var values []string
		for _, v := range s.Value.Enum {
			values = append(values, "`"+fmt.Sprint(v)+"`")
		}
		return strings.Join(values, ", ")
	case s.Value.Type == nil:
		return "any"
	case s.Value.Type.Is("array"):
		return "array of " + typeOf(s.Value.Items)
	}
	return strings.Join(s.Value.Type.Slice(), " or ")
}

func inLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// inCell writes a text into a cell of a table.
func inCell(text string) string { return strings.ReplaceAll(inLine(text), "|", `\|`) }
