package mcp

import (
	"bytes"
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
	hide    *secrets
}

// cut is the beginning of a text, without secrets: a cut one would not be recognized.
func (r *result) cut(text string, most int) string { return shortened(r.hide.Replace(text), most) }

func (r *result) add(text string) {
	text = r.cut(text, maxPart)
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
func resultOf(from *sdk.CallToolResult, hide *secrets) *result {
	r := &result{isError: from.IsError, hide: hide}
	for _, part := range from.Content {
		r.addContent(part)
	}
	if len(from.Content) == 0 && from.StructuredContent != nil {
		r.add(string(jsonOf(from.StructuredContent)))
	}
	return r
}

// jsonOf is a value as JSON with <, > and & as they are; "" if it is none.
func jsonOf(value any) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(value) != nil {
		return nil
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// addContent adds a part. Pictures and sound are described: agents read text.
func (r *result) addContent(part sdk.Content) {
	switch p := part.(type) {
	case *sdk.TextContent:
		r.add(p.Text)
	case *sdk.ImageContent:
		r.add(fmt.Sprintf("[picture, %s, %d bytes]", r.cut(p.MIMEType, maxShown), len(p.Data)))
	case *sdk.AudioContent:
		r.add(fmt.Sprintf("[sound, %s, %d bytes]", r.cut(p.MIMEType, maxShown), len(p.Data)))
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
		r.add(fmt.Sprintf("[resource %s, %s, %d bytes]", r.cut(c.URI, maxShown), r.cut(c.MIMEType, maxShown), len(c.Blob)))
	}
}

func resourcesOf(list *sdk.ListResourcesResult, hide *secrets) *result {
	r := &result{hide: hide}
	for _, one := range list.Resources {
		r.add(strings.TrimSpace(fmt.Sprintf("%s %s: %s", one.URI, one.Name, r.cut(one.Description, maxProblem))))
	}
	if list.NextCursor != "" {
		r.add("(more with cursor " + r.cut(list.NextCursor, maxProblem) + ")")
	}
	return r
}
