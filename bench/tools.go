package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/internal/wait"
)

const (
	toolServer = "mcp-server" // the command of this program that is an MCP server
	toolWork   = 2 * time.Millisecond

	toolsConfig = `{ "gateway": { "auth": { "mode": "token", "token": "` + gatewayToken + `" } },
  "agents": { "list": [ { "id": "main", "default": true } ] }, "mcp": { "servers": { "bench": { "command": %q, "args": [%q] } } } }
`
)

// runTools measures calls of a tool of a local MCP server, from a client's request to its answer.
func runTools(ctx context.Context, b *bench) error {
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error { return b.measureTools(ctx, v) }, func(v values) []figure {
		note := fmt.Sprintf("synchronous=FULL, %d calls one after the other, each with its intent and its end in the log; by the client of a gateway, "+
			"less the %s that the tool takes; %s", b.toolCalls(), toolWork, b.medians())
		return []figure{
			within("tools.mcp.p50", v.mid("over"), "ms", 5, note),
			within("tools.mcp.p99", v.mid("over p99"), "ms", 20, "the same, the slowest of a hundred; "+note),
		}
	})
}

func (b *bench) toolCalls() int { return b.of(60, 1_000) }

func (b *bench) measureTools(ctx context.Context, v values) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	h, err := b.newHome(fmt.Sprintf(toolsConfig, self, toolServer))
	if err != nil {
		return err
	}
	return b.serving(ctx, h, func(s *server) error {
		_, err := s.callTool(ctx, 0) // starts the MCP server
		before, after := 0, 0
		if err == nil {
			before, err = s.head()
		}
		var times []float64
		for i := 0; i < b.toolCalls() && err == nil; i++ {
			var over float64
			over, err = s.callTool(ctx, i+1)
			times = append(times, over)
		}
		if err == nil {
			after, err = s.head()
		}
		if err == nil && after-before < 2*b.toolCalls() {
			err = fmt.Errorf("%d events for %d calls", after-before, b.toolCalls())
		}
		if err != nil {
			return err
		}
		v.add("over", median(times))
		v.add("over p99", quantile(times, 0.99))
		return nil
	}, withGateway)
}

// callTool calls the tool, and returns the time in ms beyond that which the tool itself has taken.
func (s *server) callTool(ctx context.Context, n int) (over float64, err error) {
	var answer struct {
		OK     bool
		Output struct{ Content []struct{ Text string } }
		Error  struct{ Message string }
	}
	start := time.Now()
	err = s.call(ctx, "tools.invoke", map[string]any{"name": "bench__work", "args": map[string]any{"n": n}, "sessionKey": "agent:main:main"}, &answer)
	took := time.Since(start)
	if err != nil || !answer.OK || len(answer.Output.Content) != 1 {
		return 0, errors.Join(err, fmt.Errorf("call of the tool: %s", answer.Error.Message))
	}
	own, err := strconv.ParseInt(answer.Output.Content[0].Text, 10, 64)
	return milliseconds(took - time.Duration(own)), err
}

// head returns the number of the last event.
func (s *server) head() (int, error) {
	var point struct{ Seq int }
	err := s.read("/api/replay/point?at=head", &point)
	return point.Seq, err
}

// newToolServer is an MCP server with a tool that has an effect, takes a time, and answers with that time in ns.
func newToolServer() *cobra.Command {
	return &cobra.Command{Use: toolServer, Short: "Be an MCP server, for the benchmark of tools", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s := mcp.NewServer(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
			mcp.AddTool(s, &mcp.Tool{Name: "work", Description: "works for a moment"},
				func(ctx context.Context, _ *mcp.CallToolRequest, _ struct {
					N int `json:"n"`
				}) (*mcp.CallToolResult, any, error) {
					start := time.Now()
					if err := wait.For(ctx, toolWork); err != nil {
						return nil, nil, err
					}
					return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: strconv.FormatInt(time.Since(start).Nanoseconds(), 10)}}}, nil, nil
				})
			return s.Run(cmd.Context(), &mcp.StdioTransport{})
		}}
}
