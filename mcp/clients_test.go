//go:build clients

package mcp_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/mcp"
)

// suites are the released suite, and the one that knows the protocol of 2026-07-28, with the names of their packages and what is run for each.
var suites = map[string][]string{
	"@modelcontextprotocol/conformance": append([]string{"initialize", "tools_call", "sse-retry", "auth/2025-03-26-oauth-endpoint-fallback"}, authScenarios...),
	"conformance-next": append([]string{"tools_call", "request-metadata", "http-standard-headers", "http-custom-headers", "http-invalid-tool-headers",
		"json-schema-ref-no-deref", "json-schema-2020-12-preservation", "sep-2322-client-request-state", "auth/authorization-server-migration", "auth/iss-supported", "auth/iss-not-advertised",
		"auth/iss-supported-missing", "auth/iss-wrong-issuer", "auth/iss-unexpected", "auth/iss-normalized", "auth/metadata-issuer-mismatch",
		"auth/2025-03-26-oauth-metadata-backcompat", "auth/2025-03-26-oauth-endpoint-fallback"}, authScenarios...),
}

// authScenarios are in both.
var authScenarios = []string{"auth/metadata-default", "auth/metadata-var1", "auth/metadata-var2", "auth/metadata-var3", "auth/basic-cimd",
	"auth/scope-from-www-authenticate", "auth/scope-from-scopes-supported", "auth/scope-omitted-when-undefined", "auth/scope-step-up", "auth/scope-retry-limit",
	"auth/token-endpoint-auth-basic", "auth/token-endpoint-auth-post", "auth/token-endpoint-auth-none", "auth/pre-registration",
	"auth/resource-mismatch", "auth/offline-access-scope",
	"auth/offline-access-not-supported"}

// The official conformance suites accept the client: see make clients. Left out are elicitation-sep1034-client-defaults, since input that a
// server asks for is declined, and the extensions: other grants than that of a person (auth/client-credentials-*, auth/wif-jwt-bearer,
// auth/enterprise-managed-authorization, auth/cross-app-access-complete-flow), keys bound to tokens (auth/dpop*) and skills (sep-2640-*). In auth/2025-03-26-oauth-metadata-backcompat the released suite's server names
// another issuer than its own, which is refused; the newer suite has corrected that.
func TestConformance(t *testing.T) {
	modules := filepath.Join(os.Getenv("MODULES"), "node_modules")
	for name, scenarios := range suites {
		for _, scenario := range scenarios {
			t.Run(name+"/"+scenario, func(t *testing.T) {
				suite := exec.Command(filepath.Join(modules, ".bin", "node"), filepath.Join(modules, name, "dist", "index.js"),
					"client", "--command", os.Args[0]+" -test.run=^TestAsClient$", "--scenario", scenario)
				suite.Dir = t.TempDir() // it leaves its results there
				if out, err := suite.CombinedOutput(); err != nil {
					t.Errorf("%v\n%s", err, out)
				}
			})
		}
	}
}

// suiteContext is what a suite tells its client.
type suiteContext struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string         `json:"name"`
		Arguments map[string]any `json:"arguments"`
	} `json:"toolCalls"`
}

// The suite runs this test with the address of its server, of which each tool is called.
func TestAsClient(t *testing.T) {
	if flag.NArg() == 0 {
		return
	}
	var told suiteContext
	if text := os.Getenv("MCP_CONFORMANCE_CONTEXT"); text != "" {
		if err := json.Unmarshal([]byte(text), &told); err != nil {
			t.Fatal(err)
		}
	}
	c := &asClient{t: t, told: told}
	login := strings.HasPrefix(os.Getenv("MCP_CONFORMANCE_SCENARIO"), "auth/")
	c.fixture = setup(t, func(*fixture) string {
		if !login {
			return fmt.Sprintf(`suite: {url: %q}`, flag.Arg(0))
		}
		return fmt.Sprintf(`suite: {url: %q, auth: 'oauth', oauth: {clientMetadataUrl: 'https://conformance-test.local/client-metadata.json', clientId: %q, clientSecret: %q}}`,
			flag.Arg(0), told.ClientID, told.ClientSecret)
	})
	for tries := 1; ; tries++ {
		if login {
			err := mcp.Login(t.Context(), mcp.Options{Config: c.conf.Load, Logger: slog.New(slog.DiscardHandler), Grants: c.grants}, c.conf.Load().MCPServerNamed("suite"), granted)
			if err != nil {
				t.Fatal(err)
			}
		}
		if c.callAll() || !login || tries == 3 {
			break
		}
	}
	if s := c.state("suite"); s.State != mcp.StateReady {
		t.Errorf("%+v", s)
	}
}

type asClient struct {
	*fixture
	t    *testing.T
	told suiteContext
}

// callAll calls each tool, and reports whether no login was needed.
func (c *asClient) callAll() bool {
	c.tools.Await(c.t.Context(), eden())
	calls := map[string]string{}
	for _, spec := range c.tools.Offer(eden()) {
		calls[spec.Name] = argumentsFor(c.t, spec.Schema)
		if spec.Name == "suite__json_schema_echo" {
			calls[spec.Name] = c.focalSchema()
		}
	}
	for _, one := range c.told.ToolCalls {
		maps.DeleteFunc(one.Arguments, func(_ string, value any) bool { return value == nil }) // the schema does not allow them
		args, err := json.Marshal(one.Arguments)
		if err != nil {
			c.t.Fatal(err)
		}
		calls["suite__"+one.Name] = string(args)
	}
	for name, args := range calls {
		out, err := c.call(name, args)
		if refused := (*tool.Error)(nil); errors.As(err, &refused) && strings.Contains(refused.Text, "mcp login") {
			return false
		}
		c.t.Logf("%s %s: %+v, %v", name, args, out, err)
	}
	return true
}

// focalSchema are arguments with the schema of a tool as agents have it.
func (c *asClient) focalSchema() string {
	for _, spec := range c.tools.Offer(eden()) {
		if spec.Name == "suite__json_schema_2020_12_tool" {
			return fmt.Sprintf(`{"schema":%s}`, spec.Schema)
		}
	}
	return `{}`
}

// argumentsFor are arguments that a simple schema allows.
func argumentsFor(t *testing.T, text []byte) string {
	var schema struct {
		Properties map[string]struct{ Type any }
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	args := map[string]any{}
	for name, property := range schema.Properties {
		if args[name] = "x"; property.Type == "number" {
			args[name] = 2
		}
	}
	out, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
