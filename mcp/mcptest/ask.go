package mcptest

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// asking adds tools that want input from a person: book asks for fields and then adds a line to the file of effects, visit has an address
// opened, gate refuses its first call with the code for an address that has to be opened before, and insist asks something else each time.
func asking(s *sdk.Server) {
	book := json.RawMessage(`{"type":"object","required":["email"],"properties":{"email":{"type":"string","format":"email","title":"Your address"},
		"seats":{"type":"integer","minimum":1,"maximum":9},"window":{"type":"boolean"},"meal":{"type":"string","enum":["soup","salad"]}}}`)
	add(s, tool("book", `{"type":"object","properties":{"line":{"type":"string"}}}`, nil),
		func(ctx context.Context, r *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
			answer, is := r.Params.InputResponses["who"].(*sdk.ElicitResult)
			switch {
			case !is:
				return wants("who", &sdk.ElicitParams{Message: "Who travels?", RequestedSchema: book}), nil
			case answer.Action != "accept":
				return text("not booked: " + answer.Action), nil
			}
			if _, err := appendLine(ctx, r, args); err != nil {
				return nil, err
			}
			said, err := json.Marshal(answer.Content)
			return text("booked for " + string(said)), err
		})
	add(s, tool("visit", `{"type":"object"}`, nil), func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		if answer, is := r.Params.InputResponses["page"].(*sdk.ElicitResult); is {
			return text("visited: " + answer.Action), nil
		}
		return wants("page", &sdk.ElicitParams{Mode: "url", Message: "Sign in.", URL: "https://sign.in.example/now", ElicitationID: "1"}), nil
	})
	var opened atomic.Bool
	add(s, tool("gate", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		if opened.Swap(true) {
			return text("let in"), nil
		}
		return nil, &jsonrpc.Error{Code: -32042, Message: "sign in first", Data: json.RawMessage(`{"elicitations":[{"mode":"url","elicitationId":"2","url":"https://gate.example/in","message":"Open the gate."}]}`)}
	})
	var asked atomic.Int64
	add(s, tool("insist", `{"type":"object"}`, nil), func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		if answer, is := r.Params.InputResponses["more"].(*sdk.ElicitResult); is {
			return text("enough: " + answer.Action), nil
		}
		return wants("more", &sdk.ElicitParams{Message: fmt.Sprintf("Question %d?", asked.Add(1)), RequestedSchema: json.RawMessage(`{"type":"object","properties":{}}`)}), nil
	})
}

func wants(name string, p *sdk.ElicitParams) *sdk.CallToolResult {
	return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{name: p}}
}
