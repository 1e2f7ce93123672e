//go:build clients

package mcp_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pronto-lab/openclawd/mcp"
)

// The official conformance suite accepts the client, except for OAuth, which is not supported, and for input, which is declined: see make
// clients.
func TestConformance(t *testing.T) {
	modules := filepath.Join(os.Getenv("MODULES"), "node_modules")
	for _, scenario := range []string{"initialize", "tools_call", "sse-retry"} {
		t.Run(scenario, func(t *testing.T) {
			suite := exec.Command(filepath.Join(modules, ".bin", "node"), filepath.Join(modules, "@modelcontextprotocol", "conformance", "dist", "index.js"),
				"client", "--command", os.Args[0]+" -test.run=^TestAsClient$", "--scenario", scenario)
			suite.Dir = t.TempDir() // it leaves its results there
			if out, err := suite.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}

// The suite runs this test with the address of its server, of which each tool is called.
func TestAsClient(t *testing.T) {
	if flag.NArg() == 0 {
		return
	}
	h := setup(t, func(*fixture) string { return fmt.Sprintf(`suite: {url: %q}`, flag.Arg(0)) })
	h.tools.Await(t.Context(), eden())
	for _, spec := range h.tools.Offer(eden()) {
		var schema struct {
			Properties map[string]struct{ Type string }
		}
		if err := json.Unmarshal(spec.Schema, &schema); err != nil {
			t.Fatal(err)
		}
		args := map[string]any{}
		for name, property := range schema.Properties {
			if args[name] = "x"; property.Type == "number" {
				args[name] = 2
			}
		}
		text, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if out, err := h.call(spec.Name, string(text)); err != nil || out.IsError {
			t.Errorf("%s: %+v, %v", spec.Name, out, err)
		}
	}
	if s := h.state("suite"); s.State != mcp.StateReady {
		t.Errorf("%+v", s)
	}
}
