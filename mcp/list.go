package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/tools"
)

// Limits of what a server may offer.
const (
	maxTools       = 128
	maxPages       = 32
	maxRead        = 1_000     // tools
	maxReadBytes   = 8 << 20   // of their descriptions and schemas
	maxDescription = 4 << 10   // bytes
	maxSchema      = 32 << 10  // bytes
	maxOffer       = 256 << 10 // bytes, of all tools
	maxName        = 64
	maxProblems    = 20
)

// offer is what a server offers to agents. It is immutable.
type offer struct {
	set      *tools.Set
	names    []string // in order
	bytes    int      // in prompts
	problems []string // what is left out, and why
}

// list reads the tools of the server, and offers them.
func (c *connection) list(ctx context.Context) (err error) {
	defer c.server.recovered(&err)
	o := &offer{}
	left := func(name, why string) {
		if len(o.problems) < maxProblems {
			o.problems = append(o.problems, c.server.shown(name, maxName)+": "+c.server.shown(why, maxProblem))
		}
	}
	var list []tools.Tool
	read, bytes := 0, 0
	take := func(t *sdk.Tool) (more bool) {
		if read++; read > maxRead || bytes > maxReadBytes {
			left("the others", fmt.Sprintf("only the first %d tools are read", read-1))
			return false
		}
		one, why := c.toolOf(t)
		bytes += costOf(&one)
		switch {
		case !c.server.uses(t.Name):
		case why != "":
			left(t.Name, why)
		case len(list) == maxTools:
			left(t.Name, fmt.Sprintf("only %d tools of a server are used", maxTools))
		case o.bytes+costOf(&one) > maxOffer:
			left(t.Name, fmt.Sprintf("the tools of a server may have %d bytes together", maxOffer))
		default:
			list, o.bytes = append(list, one), o.bytes+costOf(&one)
		}
		return true
	}
	if err := c.readTools(ctx, take); err != nil {
		return err
	}
	if about := c.session.InitializeResult(); about != nil && about.Capabilities != nil && about.Capabilities.Resources != nil {
		list = append(list, c.resourceTools()...)
	}
	set, faults := tools.NewSet(list)
	for _, f := range faults {
		left(f.Tool, f.Text)
	}
	o.set = set
	for _, t := range set.Tools() {
		o.names = append(o.names, t.Name)
	}
	if before := c.server.offer.Swap(o); len(o.problems) > 0 && (before == nil || !slices.Equal(before.problems, o.problems)) {
		c.server.logger.Warn("tools of an MCP server are left out", "tools", o.problems)
	}
	return nil
}

// readTools passes on the server's tools, page by page, until take wants no more.
func (c *connection) readTools(ctx context.Context, take func(*sdk.Tool) (more bool)) error {
	if about := c.session.InitializeResult(); about != nil && about.Capabilities != nil && about.Capabilities.Tools == nil {
		return nil
	}
	cursors := map[string]bool{}
	for cursor := ""; ; {
		page, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return err
		}
		for _, t := range page.Tools {
			if t != nil && !take(t) {
				return nil
			}
		}
		cursors[cursor] = true
		if cursor = page.NextCursor; cursor == "" {
			return nil
		}
		if cursors[cursor] || len(cursors) == maxPages {
			return errors.New("its list of tools has no end")
		}
	}
}

// uses reports whether the configuration lets a tool be used.
func (s *server) uses(name string) bool {
	full := config.MCPPrefix(s.conf.Name) + name
	names := func(patterns []string) bool {
		return slices.ContainsFunc(patterns, func(p string) bool { return coordination.Matches(p, name) || coordination.Matches(p, full) })
	}
	return (len(s.conf.Include) == 0 || names(s.conf.Include)) && !names(s.conf.Exclude)
}

func costOf(t *tools.Tool) int { return len(t.Name) + len(t.Description) + len(t.Schema) }

// toolOf is a tool as agents have it; why says why it cannot be one.
func (c *connection) toolOf(t *sdk.Tool) (one tools.Tool, why string) {
	schema, err := json.Marshal(t.InputSchema)
	one.Schema = schema
	switch {
	case err != nil:
		return one, "its schema is not JSON"
	case len(schema) > maxSchema:
		return one, fmt.Sprintf("its schema has %d bytes, more than %d", len(schema), maxSchema)
	case t.Name == "":
		return one, "it has no name"
	}
	name, label := t.Name, t.Title
	if label == "" && t.Annotations != nil {
		label = t.Annotations.Title
	}
	if label == "" {
		label = name
	}
	return tools.Tool{
		Spec: tool.Spec{Name: nameOf(c.server.conf.Name, name), Group: tool.GroupMCP, Label: c.server.shown(label, maxShown), ReadOnly: readsOnly(t),
			Description: c.server.shown(t.Description, maxDescription), Schema: schema},
		Who: tools.Who{NotFrom: c.server.notFrom()}, Effect: c.effectOf(t),
		Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
			return c.server.call(ctx, func(ctx context.Context, c *connection) (*result, error) { return c.callTool(ctx, name, call) })
		},
	}, ""
}

// nameOf is the name of a tool for models: short and in characters that all providers accept. A long name ends in a checksum.
func nameOf(server, name string) string {
	full := config.MCPPrefix(server) + config.MCPName(name)
	if len(full) <= maxName {
		return full
	}
	sum := fmt.Sprintf("-%08x", crc32.ChecksumIEEE([]byte(name)))
	return full[:maxName-len(sum)] + sum
}

func readsOnly(t *sdk.Tool) bool { return t.Annotations != nil && t.Annotations.ReadOnlyHint }

// effectOf is what the server says of the tool's effect, and the configuration.
func (c *connection) effectOf(t *sdk.Tool) tools.Effect {
	e := tools.Effect{Outside: true, Server: c.server.conf.Name}
	switch {
	case readsOnly(t):
		e.Repeat = tools.RepeatReadOnly
	case t.Annotations != nil && t.Annotations.IdempotentHint:
		e.Repeat = tools.RepeatIdempotent
	case slices.ContainsFunc(c.server.conf.Repeatable, func(p string) bool { return coordination.Matches(p, t.Name) }):
		e.Repeat = tools.RepeatKeyed
	}
	return e
}

// notFrom lists the kinds of sessions that may not use the server.
func (s *server) notFrom() (kinds []coordination.KeyKind) {
	if len(s.conf.Sessions) == 0 {
		return nil
	}
	for _, kind := range []coordination.KeyKind{coordination.KeyMain, coordination.KeySubagent, coordination.KeyA2A, coordination.KeyDirect,
		coordination.KeyGroup, coordination.KeyChannel, coordination.KeyCron, coordination.KeyACP, coordination.KeyOther, coordination.KeyAlias} {
		if !slices.Contains(s.conf.Sessions, kind) {
			kinds = append(kinds, kind)
		}
	}
	return kinds
}

// resourceTools are the tools that read what the server has besides tools.
func (c *connection) resourceTools() (list []tools.Tool) {
	add := func(name, label, description string, schema json.RawMessage, do func(*connection, context.Context, *tools.Call) (*result, error)) {
		if !c.server.uses(name) {
			return
		}
		list = append(list, tools.Tool{
			Spec: tool.Spec{Name: nameOf(c.server.conf.Name, name), Group: tool.GroupMCP, ReadOnly: true, Label: label, Schema: schema,
				Description: strings.ReplaceAll(description, "SERVER", c.server.shown(c.server.conf.Name, maxShown))},
			Who:    tools.Who{NotFrom: c.server.notFrom()},
			Effect: tools.Effect{Outside: true, Server: c.server.conf.Name, Repeat: tools.RepeatReadOnly},
			Do: func(ctx context.Context, call *tools.Call) (tool.Output, error) {
				return c.server.call(ctx, func(ctx context.Context, c *connection) (*result, error) { return do(c, ctx, call) })
			},
		})
	}
	add("resources_list", "List resources", "List the resources of the MCP server SERVER.",
		tools.Object("", `"cursor":{"type":"string","maxLength":2020,"description":"Where the last list ended."}`), (*connection).listResources)
	add("resources_read", "Read a resource", "Read a resource of the MCP server SERVER.",
		tools.Object("uri", `"uri":{"type":"string","minLength":1,"maxLength":4000,"description":"The resource's URI."}`), (*connection).readResource)
	return list
}
