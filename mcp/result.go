package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pronto-lab/openclawd/coordination"
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
func (r *result) cut(text string, most int) string {
	return coordination.Clipped(r.hide.Replace(text), most)
}

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

// Limits of a list of resources, in bytes: of all, of what is said of one, and of a cursor, which comes behind them.
const (
	maxList   = maxPart - 4<<10
	maxLine   = 8 << 10
	maxCursor = 2_020
)

// page is a place in the list of resources: a cursor of the server, and how many resources are passed over behind it, since a page of a server
// may be longer than an answer.
type page struct {
	cursor string
	passed int
}

// pageOf reads a cursor as agents have it.
func pageOf(cursor string) page {
	if counted, is := strings.CutPrefix(cursor, "+"); is {
		if number, behind, found := strings.Cut(counted, ":"); found {
			if n, err := strconv.Atoi(number); err == nil && n >= 0 {
				return page{behind, n}
			}
		}
	}
	return page{cursor: cursor}
}

func (p page) String() string {
	if p.passed == 0 && !strings.HasPrefix(p.cursor, "+") {
		return p.cursor
	}
	return fmt.Sprintf("+%d:%s", p.passed, p.cursor)
}

// resourcesOf is a part of a page of resources as one text, with the cursor of what comes behind it.
func resourcesOf(list *sdk.ListResourcesResult, at page, hide *secrets) *result {
	r := &result{hide: hide}
	next := page{cursor: list.NextCursor}
	var lines strings.Builder
	for i := min(at.passed, len(list.Resources)); i < len(list.Resources); i++ {
		one := list.Resources[i]
		line := r.cut(strings.TrimSpace(fmt.Sprintf("%s %s: %s", one.URI, one.Name, r.cut(one.Description, maxProblem))), maxLine) + "\n"
		if lines.Len()+len(line) > maxList {
			next = page{at.cursor, i}
			break
		}
		lines.WriteString(line)
	}
	if more := next.String(); more != "" && len(more) <= maxCursor {
		fmt.Fprintf(&lines, "(more with cursor %s)", more)
	}
	r.add(strings.TrimSuffix(lines.String(), "\n"))
	return r
}
