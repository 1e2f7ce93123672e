package gateway_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pronto-lab/openclawd/gateway/protocol"
)

var update = flag.Bool("update", false, "write docs/gateway-methods.md")

const methodsHead = `# Gateway methods

All methods that the gateway answers, with the scope that a caller needs, by protocol version, and
their parameters. ` + "`admin` includes all scopes, `write` includes `read`" + `. What each does in
openclawd, and where it differs from OpenClaw's: [compatibility](compat.md#methods). Try one with
` + "`openclawd call METHOD '{...}'`" + `.

| method | scope in 3 | in 4 | parameters |
|---|---|---|---|
`

// docs/gateway-methods.md is what the gateway knows.
func TestMethodsAreDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("protocol", "params.json"))
	if err != nil {
		t.Fatal(err)
	}
	var shapes map[string]object
	if err := json.Unmarshal(text, &shapes); err != nil {
		t.Fatal(err)
	}
	names, _ := setup(t).server.Names()
	var b strings.Builder
	b.WriteString(methodsHead)
	slices.Sort(names)
	for _, name := range names {
		shape := shapes[name]
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", name, neededScope(name, 3), neededScope(name, 4), shape.parameters())
	}
	path := filepath.Join("..", "docs", "gateway-methods.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	found, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b.String(), string(found)); diff != "" {
		t.Errorf("%s is not what the gateway knows (go test ./gateway -run TestMethodsAreDocumented -update):\n%s", path, diff)
	}
}

// object is the schema of parameters, as far as the document shows it.
type object struct {
	Required   []string                   `json:"required"`
	Properties map[string]json.RawMessage `json:"properties"`
}

func (o *object) parameters() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(o.Properties)) {
		shown := "`" + name + "`"
		if slices.Contains(o.Required, name) {
			shown += " (required)"
		}
		names = append(names, shown)
	}
	return strings.Join(names, ", ")
}

// neededScope finds the least scope with which a method may be called.
func neededScope(method string, version int) string {
	if protocol.ForNodes(method) {
		return "nodes"
	}
	if protocol.ForWorkers(method) {
		return "workers"
	}
	for _, scope := range []string{"", protocol.ScopeRead, protocol.ScopeWrite, protocol.ScopeApprovals, protocol.ScopePairing, protocol.ScopeQuestions, protocol.ScopeAdmin} {
		var scopes []string
		if scope != "" {
			scopes = []string{scope}
		}
		if protocol.Allowed(protocol.RoleOperator, scopes, method, version) == nil {
			if scope == "" {
				return "none"
			}
			return strings.TrimPrefix(scope, "operator.")
		}
	}
	return "never"
}
