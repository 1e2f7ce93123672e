// Package mcptest is an MCP server with tools that do their work, and tools that misbehave. A test binary becomes it: see Main.
package mcptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// Variables of a process that is a server.
const (
	Env        = "OPENCLAWD_TEST_MCP"         // how it behaves: one of the modes below
	EnvEffects = "OPENCLAWD_TEST_MCP_EFFECTS" // a file to which append adds a line per call
	EnvSlow    = "OPENCLAWD_TEST_MCP_SLOW"    // how long append takes before that, and again after it, such as 20ms
)

// Modes of a server.
const (
	Good  = "good"
	Mute  = "mute"  // it reads, and answers nothing
	Deaf  = "deaf"  // it does not even read, and ignores requests to end
	Noise = "noise" // it writes without end
	Quits = "quits" // it ends at once, with a reason on standard error
	Loop  = "loop"  // its list of tools has no end, and repeats itself
	Long  = "long"  // its list of tools has no end
)

// Main makes a process a server if its environment says so, and does not return then. It is called first in TestMain.
func Main() {
	mode := os.Getenv(Env)
	if mode == "" {
		return
	}
	if err := run(mode); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

func run(mode string) error {
	switch mode {
	case Mute:
		_, err := io.Copy(io.Discard, os.Stdin)
		return err
	case Deaf:
		asked := make(chan os.Signal, 1)
		signal.Notify(asked, syscall.SIGTERM)
		for range asked { // it stays
		}
	case Noise:
		line := append(bytes.Repeat([]byte("x"), 64<<10), '\n')
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return err
			}
			_, _ = os.Stderr.Write(line) // it may be closed already
		}
	case Quits:
		return fmt.Errorf("no license for %s", os.Getenv("SECRET_KEY"))
	}
	return Server(mode).Run(context.Background(), &sdk.StdioTransport{})
}

// Server returns a server with all tools.
func Server(mode string) *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "mcptest", Version: "1"}, &sdk.ServerOptions{PageSize: 4})
	add(s, tool("echo", `{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`, &sdk.ToolAnnotations{ReadOnlyHint: true}),
		func(_ context.Context, r *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
			return text(fmt.Sprint(args["text"])), nil
		})
	add(s, tool("append", `{"type":"object","properties":{"line":{"type":"string"}}}`, nil), appendLine)
	add(s, tool("append_idempotent", `{"type":"object","properties":{"line":{"type":"string"}}}`, &sdk.ToolAnnotations{IdempotentHint: true}), appendLine)
	add(s, tool("fail", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		r := text("it does not work")
		r.IsError = true
		return r, nil
	})
	add(s, tool("refuse", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return nil, errors.New("refused inside")
	})
	add(s, tool("hang", `{"type":"object"}`, nil), func(ctx context.Context, _ *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	add(s, tool("die", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		fmt.Fprintln(os.Stderr, "dying of", os.Getenv("SECRET_KEY"))
		os.Exit(3)
		return nil, nil
	})
	add(s, tool("giant", `{"type":"object","properties":{"bytes":{"type":"integer"}}}`, nil),
		func(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
			n, _ := args["bytes"].(float64)
			return text(strings.Repeat("g", int(n))), nil
		})
	add(s, tool("parts", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "see"}, &sdk.ImageContent{Data: []byte("1234"), MIMEType: "image/png"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///a", Text: "inside"}}, &sdk.ResourceLink{URI: "file:///b", Name: "b"}}}
		for range 200 {
			r.Content = append(r.Content, &sdk.TextContent{Text: "more"})
		}
		return r, nil
	})
	add(s, tool("secret", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		return text("the key is " + os.Getenv("SECRET_KEY") + " " + strings.Join(os.Environ(), " ")), nil
	})
	add(s, tool("ask", `{"type":"object"}`, nil), func(_ context.Context, r *sdk.CallToolRequest, _ map[string]any) (*sdk.CallToolResult, error) {
		if answer, is := r.Params.InputResponses["name"].(*sdk.ElicitResult); is {
			return text("answer: " + answer.Action), nil
		}
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{"name": &sdk.ElicitParams{Message: "your name?",
			RequestedSchema: json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}}}`)}}}, nil
	})
	asking(s)
	add(s, tool("grow", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		add(s, tool("grown", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
			return text("grown"), nil
		})
		return text("growing"), nil
	})
	add(s, tool("shrink", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		s.RemoveTools("grown")
		return text("shrinking"), nil
	})
	add(s, tool("flood", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		line := fmt.Appendf(nil, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":%q}}\n", strings.Repeat("f", 64<<10))
		for {
			if _, err := os.Stdout.Write(line); err != nil {
				return nil, err
			}
		}
	})
	add(s, tool("spawn", `{"type":"object"}`, nil), func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error) {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), Env+"="+Deaf)
		if err := child.Start(); err != nil {
			return nil, err
		}
		return text(strconv.Itoa(child.Process.Pid)), nil
	})
	s.AddResource(&sdk.Resource{URI: "file:///notes", Name: "notes"}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
		return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: "file:///notes", Text: "remember"}}}, nil
	})
	big := func(uri string, contents ...*sdk.ResourceContents) {
		s.AddResource(&sdk.Resource{URI: uri, Name: "big", Description: strings.Repeat("d", 64<<10)}, func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: contents}, nil
		})
	}
	big("file:///text", &sdk.ResourceContents{URI: "file:///text", Text: strings.Repeat("t", 1<<20)})
	big("file:///blob", &sdk.ResourceContents{URI: "file:///blob", Blob: bytes.Repeat([]byte("b"), 1<<20), MIMEType: "image/png"})
	if mode == Long {
		endless(s)
	}
	if mode == Loop {
		s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
			return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
				if method == "tools/list" {
					return &sdk.ListToolsResult{Tools: []*sdk.Tool{}, NextCursor: "again"}, nil
				}
				return next(ctx, method, r)
			}
		})
	}
	lies(s)
	return s
}

// Resources is how many resources a server of the mode Long has, on two pages that are longer than an answer may be.
const Resources = 600

// endless has every page of the list name 100 tools, the first of them a true one. There are many resources, too.
func endless(s *sdk.Server) {
	pages := 0
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if asked, is := r.(*sdk.ListResourcesRequest); is {
				return manyResources(asked.Params.Cursor), nil
			}
			if method != "tools/list" {
				return next(ctx, method, r)
			}
			pages++
			list := &sdk.ListToolsResult{Tools: []*sdk.Tool{tool("echo", `{"type":"object"}`, nil)}, NextCursor: fmt.Sprint(pages)}
			for n := range 99 {
				list.Tools = append(list.Tools, tool(fmt.Sprintf("tool%d_%d", pages, n), `{"type":"object"}`, nil))
			}
			return list, nil
		}
	})
}

// manyResources is a page of many resources.
func manyResources(cursor string) *sdk.ListResourcesResult {
	list, from := &sdk.ListResourcesResult{NextCursor: "+second"}, 0
	if cursor == list.NextCursor {
		list.NextCursor, from = "", Resources/2
	}
	for n := range Resources / 2 {
		list.Resources = append(list.Resources, &sdk.Resource{URI: fmt.Sprintf("file:///%d", from+n), Name: "one", Description: strings.Repeat("d", 400)})
	}
	return list
}

// lies adds tools that cannot be used: two with one name for models, and one with a schema that is none.
func lies(s *sdk.Server) {
	s.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			result, err := next(ctx, method, r)
			if list, is := result.(*sdk.ListToolsResult); is && list.NextCursor == "" {
				list.Tools = append(list.Tools, tool("same.name", `{"type":"object"}`, nil), tool("same/name", `{"type":"object"}`, nil),
					tool("broken_schema", `{"type":"object","properties":{"a":{"type":"no type"}}}`, nil),
					tool("long_schema", `{"type":"object","description":"`+strings.Repeat("d", 40<<10)+`"}`, nil))
			}
			return result, err
		}
	})
}

// appendLine adds a line to the file of effects.
func appendLine(_ context.Context, _ *sdk.CallToolRequest, args map[string]any) (*sdk.CallToolResult, error) {
	slow, _ := time.ParseDuration(os.Getenv(EnvSlow)) // none is 0
	<-time.After(slow)
	defer func() { <-time.After(slow) }()
	file, err := os.OpenFile(os.Getenv(EnvEffects), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := fmt.Fprintf(file, "%v\n", args["line"]); err != nil {
		return nil, err
	}
	return text(fmt.Sprint("added ", args["line"])), nil
}

func tool(name, schema string, hints *sdk.ToolAnnotations) *sdk.Tool {
	return &sdk.Tool{Name: name, Description: "Test tool " + name + ".", InputSchema: json.RawMessage(schema), Annotations: hints}
}

func add(s *sdk.Server, t *sdk.Tool, do func(context.Context, *sdk.CallToolRequest, map[string]any) (*sdk.CallToolResult, error)) {
	s.AddTool(t, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var args map[string]any
		if err := json.Unmarshal(r.Params.Arguments, &args); err != nil {
			return nil, err
		}
		return do(ctx, r, args)
	})
}

func text(s string) *sdk.CallToolResult {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}}
}

// Handler is a server that speaks Streamable HTTP, for requests with a header only.
func Handler(header, value string) http.Handler {
	inner := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return Server(Good) }, nil)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(header) != value {
			http.Error(w, "no access", http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(w, r)
	})
}
