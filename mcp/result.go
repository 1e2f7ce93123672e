package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Limits of a result.
const (
	maxParts  = 64
	maxPart   = 64 << 10  // bytes
	maxResult = 128 << 10 // bytes
)

// result is what a server returned, as text.
type result struct {
	parts   []string
	bytes   int
	more    int // parts left out
	isError bool
}

func (r *result) add(text string) {
	text = shortened(text, maxPart)
	if len(r.parts) == maxParts || r.bytes+len(text) > maxResult {
		r.more++
		return
	}
	r.parts, r.bytes = append(r.parts, text), r.bytes+len(text)
}

// output is the result for the agent.
func (r *result) output(s *server) tool.Output {
	text := strings.Join(r.parts, "\n")
	if r.more > 0 {
		text += fmt.Sprintf("\n(%d more parts are left out: the result is too long.)", r.more)
	}
	return tool.Output{Text: s.hide.Replace(text), IsError: r.isError}
}

// resultOf is the result of a tool. Its structured form is used if there is no other.
func resultOf(from *sdk.CallToolResult) *result {
	r := &result{isError: from.IsError}
	for _, part := range from.Content {
		r.addContent(part)
	}
	if len(from.Content) == 0 && from.StructuredContent != nil {
		if text, err := json.Marshal(from.StructuredContent); err == nil {
			r.add(string(text))
		}
	}
	return r
}

// addContent adds a part. Pictures and sound are described: agents read text.
func (r *result) addContent(part sdk.Content) {
	switch p := part.(type) {
	case *sdk.TextContent:
		r.add(p.Text)
	case *sdk.ImageContent:
		r.add(fmt.Sprintf("[picture, %s, %d bytes]", shortened(p.MIMEType, maxShown), len(p.Data)))
	case *sdk.AudioContent:
		r.add(fmt.Sprintf("[sound, %s, %d bytes]", shortened(p.MIMEType, maxShown), len(p.Data)))
	case *sdk.ResourceLink:
		r.add(strings.TrimSpace(fmt.Sprintf("[resource %s] %s %s", p.URI, p.Name, p.Description)))
	case *sdk.EmbeddedResource:
		r.addResource(p.Resource)
	default:
		r.add("[content of an unknown kind]")
	}
}

func (r *result) addResource(c *sdk.ResourceContents) {
	switch {
	case c == nil:
	case c.Text != "" || len(c.Blob) == 0:
		r.add(c.Text)
	default:
		r.add(fmt.Sprintf("[resource %s, %s, %d bytes]", shortened(c.URI, maxShown), shortened(c.MIMEType, maxShown), len(c.Blob)))
	}
}

func resourcesOf(list *sdk.ListResourcesResult) *result {
	r := &result{}
	for _, one := range list.Resources {
		r.add(strings.TrimSpace(fmt.Sprintf("%s %s: %s", one.URI, one.Name, shortened(one.Description, maxProblem))))
	}
	if list.NextCursor != "" {
		r.add("(more with cursor " + shortened(list.NextCursor, maxProblem) + ")")
	}
	return r
}
