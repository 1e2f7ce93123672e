// Package samplemcp is the MCP server of the sample team: a handbook, which agents search and add pages to. It is this program started
// again, so that a visitor needs nothing else. Pages are in memory: they are gone when the server ends.
package samplemcp

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Name is the name of the server in the configuration of the sample, and Search and Publish are its tools as agents call them.
const (
	Name    = "handbook"
	Search  = Name + "__search"
	Publish = Name + "__publish"
)

// env makes a process the server. Values of variables are hidden as secrets wherever they stand, unless they are short: the name of the
// server as the value would hide that name.
const env, on = "OPENCLAWD_SAMPLE_MCP", "1"

// Main is called early in every main that serves the sample. It does not return in a process that is the server.
func Main() {
	if os.Getenv(env) != on {
		return
	}
	if err := newServer(newHandbook()).Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, "sample handbook:", err)
		os.Exit(1)
	}
	os.Exit(0)
}

// Settings is the entry of mcp.servers that starts the server by the program at a path.
func Settings(program string) map[string]any {
	return map[string]any{"command": program, "args": []string{"sample-handbook"}, "env": map[string]string{env: on}}
}

func newServer(h *handbook) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: Name, Version: "1"}, nil)
	add(s, "search", "Find pages of the team's handbook by their words.",
		`{"type":"object","properties":{"query":{"type":"string","minLength":1,"maxLength":200}},"required":["query"],"additionalProperties":false}`,
		&sdk.ToolAnnotations{ReadOnlyHint: true},
		func(args arguments) (string, error) { return h.search(args.Query), nil })
	add(s, "publish", "Add a page to the team's handbook, or replace the page with this title.",
		fmt.Sprintf(`{"type":"object","properties":{"title":{"type":"string","minLength":1,"maxLength":%d},"text":{"type":"string","minLength":1,"maxLength":%d}},`+
			`"required":["title","text"],"additionalProperties":false}`, maxTitle, maxText),
		&sdk.ToolAnnotations{IdempotentHint: true},
		func(args arguments) (string, error) { return h.publish(args.Title, args.Text) })
	return s
}

// arguments are those of all tools. The schemas bound them, and openclawd checks that before a call.
type arguments struct{ Query, Title, Text string }

func add(s *sdk.Server, name, description, schema string, hints *sdk.ToolAnnotations, do func(arguments) (string, error)) {
	s.AddTool(&sdk.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema), Annotations: hints},
		func(_ context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
			var args arguments
			if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
				return nil, err
			}
			said, err := do(args)
			if err != nil {
				return &sdk.CallToolResult{IsError: true, Content: []sdk.Content{&sdk.TextContent{Text: err.Error()}}}, nil
			}
			return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: said}}}, nil
		})
}
