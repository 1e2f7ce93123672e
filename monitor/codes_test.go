package monitor_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

var update = flag.Bool("update", false, "write web/src/lib/i18n/codes.json and docs/api-reference.md")

// codesOfPage is what the dictionary of the page is compared with: the codes of each named enumeration of openapi.yaml.
const codesOfPage = "../web/src/lib/i18n/codes.json"

// declared says where the codes of an enumeration are declared: the constants of a type, or those with a prefix, in a package.
type declared struct{ dir, typ, prefix string }

// enumerations are the named enumerations of openapi.yaml and their constants in Go, which are the only lists.
var enumerations = map[string][]declared{
	"AgentStatus":           {{dir: "projections/agents", typ: "Status"}},
	"BotState":              {{dir: "coordination/health", typ: "BotState"}},
	"Category":              {{dir: "coordination", typ: "Category"}},
	"CollaborationDelivery": {{dir: "coordination/collaborate", typ: "Status"}},
	"CollaborationStatus":   {{dir: "coordination/response", typ: "Status"}},
	"ContinuationCause":     {{dir: "coordination/continuation", typ: "Cause"}},
	"ContinuationKind":      {{dir: "coordination/continuation", typ: "Kind"}},
	"ContinuationReason":    {{dir: "coordination/continuation", typ: "Reason"}},
	"FlowKind":              {{dir: "coordination/a2a", typ: "Kind"}},
	"FlowOutcome":           {{dir: "coordination/a2a", prefix: "OutcomeOK"}, {dir: "coordination", prefix: "OutcomeValue"}},
	"FlowPhase":             {{dir: "coordination/a2a", typ: "Phase"}},
	"ClusterRole":           {{dir: "coordination/health", typ: "ClusterRole"}},
	"ConfigCode":            {{dir: "config", prefix: "Code"}},
	"HealthCode":            {{dir: "coordination/health", typ: "Code"}},
	"MCPState":              {{dir: "coordination/health", typ: "MCPState"}},
	"Outcome":               {{dir: "coordination", typ: "Outcome"}},
	"OwedKind":              {{dir: "projections/owed", typ: "Kind"}},
	"OwedPrompt":            {{dir: "coordination", typ: "Prompt"}},
	"OwedState":             {{dir: "projections/owed", typ: "State"}},
	"PolicyRule":            {{dir: "coordination/policy", typ: "Rule"}},
	"ProblemAction":         {{dir: "projections/problems", typ: "Action"}},
	"ProblemCode":           {{dir: "projections/problems", typ: "Code"}},
	"ProblemKind":           {{dir: "projections/problems", typ: "Kind"}},
	"ProjectionState":       {{dir: "projections", typ: "State"}},
	"ReasonCode":            {{dir: "coordination", typ: "ReasonCode"}},
	"Role":                  {{dir: "coordination", typ: "Role"}},
	"RoutingMode":           {{dir: "coordination/route", typ: "Mode"}},
	"RoutingOrder":          {{dir: "coordination/route", typ: "Order"}},
	"RoutingReason":         {{dir: "coordination/route", typ: "Reason"}},
	"RunState":              {{dir: "coordination/run", typ: "State"}},
	"SandboxCheck":          {{dir: "sandbox", prefix: "Check"}},
	"SessionStatus":         {{dir: "coordination", typ: "Status"}},
	"SessionType":           {{dir: "coordination", typ: "SessionType"}},
	"TaskLineCode":          {{dir: "coordination/task", typ: "LineCode"}},
	"TaskState":             {{dir: "coordination", prefix: "State"}},
	"ToolCallState":         {{dir: "projections/toolcalls", prefix: "State"}},
	"TraceRole":             {{dir: "projections/trace", prefix: "Role"}},
	"WaitStatus":            {{dir: "coordination/a2a", prefix: "status"}},
	"WorkState":             {{dir: "projections/workqueue", typ: "State"}},
}

// listedElsewhere are named enumerations whose values no package declares as constants of their own, with the test that covers them.
var listedElsewhere = map[string]string{
	"ChannelName":       "names in coordination.Channels: TestChannelsListTheirOwn",
	"PostPurpose":       "constants of package delivery without a common prefix: TestAnswersKeepTheContract",
	"RoutingWarning":    "constants of packages route and monitor: TestAnswersKeepTheContract",
	"ScheduledDelivery": "constants of package schedule without a common prefix: TestRunsOfAJob",
	"ScheduledEnd":      "likewise",
	"TaskPriority":      "words of task files: TestAnswersKeepTheContract",
	"TraceKind":         "constants of package trace, without those that no id names: TestAnswersKeepTheContract",
}

// TestCodesOfTheContract compares each named enumeration of openapi.yaml with the constants in the code, and the file that the page's
// dictionary is checked against with openapi.yaml.
func TestCodesOfTheContract(t *testing.T) {
	t.Parallel()
	document, err := openapi3.NewLoader().LoadFromFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string][]string{}
	for name, schema := range document.Components.Schemas {
		if schema.Value == nil || len(schema.Value.Enum) == 0 {
			continue
		}
		for _, value := range schema.Value.Enum {
			named[name] = append(named[name], fmt.Sprint(value))
		}
		if enumerations[name] == nil && listedElsewhere[name] == "" {
			t.Errorf("enumeration %s of openapi.yaml is compared with no constants: add it to enumerations", name)
		}
	}
	for name, places := range enumerations {
		want := map[string]bool{}
		for _, place := range places {
			for _, code := range place.codes(t) {
				want[code] = true
			}
		}
		if len(want) == 0 {
			t.Errorf("%s: no constants are declared", name)
		}
		for code := range want {
			if !slices.Contains(named[name], code) {
				t.Errorf("%s of openapi.yaml lacks %q", name, code)
			}
		}
		for _, code := range named[name] {
			if !want[code] {
				t.Errorf("%s of openapi.yaml has %q, which no constant is", name, code)
			}
		}
	}
	text, err := json.MarshalIndent(named, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(text, '\n')
	if *update {
		if err := os.WriteFile(codesOfPage, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(codesOfPage); err != nil || !bytes.Equal(have, text) {
		t.Errorf("%s is not what openapi.yaml says (%v): run go test ./monitor -run CodesOfTheContract -update", codesOfPage, err)
	}
}

// codes reads the values of the declared constants, in order.
func (d declared) codes(t *testing.T) (list []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", filepath.FromSlash(d.dir), "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, declaration := range file.Decls {
			if group, ok := declaration.(*ast.GenDecl); ok && group.Tok == token.CONST {
				list = append(list, d.inGroup(t, group)...)
			}
		}
	}
	return list
}

func (d declared) inGroup(t *testing.T, group *ast.GenDecl) (list []string) {
	t.Helper()
	for _, spec := range group.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || !d.declares(value) {
			continue
		}
		for _, expression := range value.Values {
			if literal, ok := expression.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				code, err := strconv.Unquote(literal.Value)
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, code)
			}
		}
	}
	return list
}

func (d declared) declares(value *ast.ValueSpec) bool {
	if typ, typed := value.Type.(*ast.Ident); typed || d.typ != "" {
		return typed && d.typ == typ.Name
	}
	return value.Type == nil && strings.HasPrefix(value.Names[0].Name, d.prefix)
}

// TestReasonCodesAreDocumented: docs/events.md has a row for each reason code.
func TestReasonCodesAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := fs.ReadFile(os.DirFS(".."), "docs/events.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, code := range enumerations["ReasonCode"][0].codes(t) {
		if !bytes.Contains(text, []byte("\n| `"+code+"` | ")) {
			t.Errorf("docs/events.md does not explain the reason code %s", code)
		}
	}
}
