package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/sashabaranov/go-openai"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// events reads the chunks of an answer from server-sent events. Comments and other fields are dropped; an error in the
// data, and invalid data, is an error.
//
// A value may span lines, as the standard allows; a complete one ends with its line, since some servers omit the empty
// line between events. An answer sent as one JSON document is one chunk.
type events struct {
	c    *call
	src  *bufio.Reader
	left int // remaining bytes allowed

	waits func() // called before more is awaited; may be nil

	line  []byte // current line
	value []byte // incomplete value
	ready *openai.ChatCompletionStreamResponse
	err   error // returned after ready

	done   bool   // [DONE] was read
	frames int    // values read
	stray  string // the first line that is not part of an event stream
}

const done = "[DONE]"

func newEvents(c *call, limit int) *events {
	e := &events{c: c, left: limit}
	e.src, _ = sources.Get().(*bufio.Reader)
	e.src.Reset(body{e})
	return e
}

// sources are readers that no answer is read from.
var sources = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, 16<<10) }}

// close gives the reader back.
func (e *events) close() {
	e.src.Reset(nil)
	sources.Put(e.src)
	e.src = nil
}

// body is the response body up to the limit.
type body struct{ e *events }

func (b body) Read(p []byte) (int, error) {
	if b.e.left == 0 {
		return 0, b.e.tooLarge("the stream", b.e.c.p.o.StreamBytes)
	}
	if b.e.waits != nil {
		b.e.waits()
	}
	n, err := b.e.c.read(p[:min(len(p), b.e.left)])
	b.e.left -= n
	if err != nil && !errors.Is(err, io.EOF) {
		err = b.e.c.network(fmt.Errorf("the stream broke off: %w", err))
	}
	return n, err
}

func (e *events) tooLarge(what string, bytes int) error {
	return e.c.p.fail(llm.TooLarge, e.c.model, fmt.Sprintf("%s has more than %d bytes", what, bytes))
}

func (e *events) malformed(message string) error {
	return e.c.p.fail(llm.Malformed, e.c.model, message)
}

// begin detects whether this is an event stream.
func (e *events) begin() error {
	for {
		first, err := e.src.Peek(1)
		if errors.Is(err, io.EOF) {
			return e.c.p.fail(llm.Unavailable, e.c.model, "the answer is empty")
		}
		if err != nil {
			return err
		}
		switch first[0] {
		case ' ', '\t', '\r', '\n':
			_, _ = e.src.Discard(1)
		case '{', '[':
			return e.document()
		case '<':
			return e.malformed("the endpoint answers with an HTML page; check the base URL")
		default:
			if mark, _ := e.src.Peek(3); bytes.Equal(mark, []byte("\uFEFF")) {
				_, _ = e.src.Discard(3)
			}
			return nil
		}
	}
}

// document parses an answer that is one JSON value.
func (e *events) document() error {
	limit := e.c.p.o.FrameBytes
	text, err := io.ReadAll(io.LimitReader(e.src, int64(limit)+1))
	switch {
	case err != nil:
		return err
	case len(text) > limit:
		return e.tooLarge("the answer", limit)
	case !json.Valid(text):
		return e.broken("the answer is not JSON", text)
	}
	if refusal := e.c.refusalIn(text); refusal != nil {
		return refusal
	}
	var whole openai.ChatCompletionResponse
	if err := json.Unmarshal(text, &whole); err != nil {
		return e.malformed("the answer is not a chat completion: " + err.Error())
	}
	e.ready = asChunk(&whole)
	e.err = e.finish()
	return nil
}

func asChunk(whole *openai.ChatCompletionResponse) *openai.ChatCompletionStreamResponse {
	chunk := &openai.ChatCompletionStreamResponse{ID: whole.ID, Model: whole.Model, Usage: &whole.Usage}
	for i := range whole.Choices {
		said := &whole.Choices[i]
		delta := openai.ChatCompletionStreamChoiceDelta{Content: content(&said.Message), Refusal: said.Message.Refusal,
			ReasoningContent: said.Message.ReasoningContent, ToolCalls: said.Message.ToolCalls}
		for n := range delta.ToolCalls {
			delta.ToolCalls[n].Index = &n
		}
		chunk.Choices = append(chunk.Choices, openai.ChatCompletionStreamChoice{Index: said.Index, Delta: delta, FinishReason: said.FinishReason})
	}
	return chunk
}

// content is the text of a message, which some servers send in parts.
func content(m *openai.ChatCompletionMessage) string {
	text := m.Content
	for _, part := range m.MultiContent {
		text += part.Text
	}
	return text
}

// chunk returns the next chunk, or io.EOF after the last one.
func (e *events) chunk() (*openai.ChatCompletionStreamResponse, error) {
	for e.ready == nil {
		if e.err != nil {
			return nil, e.err
		}
		e.err = e.next()
	}
	chunk := e.ready
	e.ready = nil
	return chunk, nil
}

// next reads a line, and decodes what it completes: at most one chunk.
func (e *events) next() error {
	line, err := e.readLine()
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	last := err != nil
	name, data, _ := bytes.Cut(line, []byte(":"))
	switch {
	case len(line) == 0:
		err = e.complete()
	case string(name) == "data":
		err = e.data(bytes.TrimSpace(data))
	default:
		err = nil
		if len(name) > 0 && !isField(name) && e.stray == "" {
			e.stray = string(line[:min(len(line), maxErrorBody)])
		}
	}
	if err == nil && last {
		return e.end()
	}
	return err
}

func isField(name []byte) bool {
	switch string(name) {
	case "event", "id", "retry":
		return true
	}
	return false
}

// readLine reads a line without its end. The last one is returned with io.EOF.
func (e *events) readLine() ([]byte, error) {
	e.line = e.line[:0]
	for {
		part, err := e.src.ReadSlice('\n')
		if len(e.line)+len(part) > e.c.p.o.FrameBytes {
			return nil, e.tooLarge("a part of the stream", e.c.p.o.FrameBytes)
		}
		if len(e.line) == 0 && err == nil {
			return bytes.TrimRight(part, "\r\n"), nil // most lines fit into the buffer
		}
		e.line = append(e.line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(e.line, "\r\n"), err
		}
	}
}

// data handles a line's data. An incomplete value waits for the rest.
func (e *events) data(text []byte) error {
	switch {
	case len(e.value)+len(text) >= e.c.p.o.FrameBytes:
		return e.tooLarge("a part of the stream", e.c.p.o.FrameBytes)
	case len(e.value) > 0:
		e.value = append(append(e.value, ' '), text...)
		return nil
	case len(text) == 0:
		return nil
	case string(text) == done:
		return e.finish()
	}
	if whole, err := e.frame(text); whole {
		return err
	}
	e.value = append(e.value, text...)
	return nil
}

// complete ends a value that spans lines, if there is one.
func (e *events) complete() error {
	if len(e.value) == 0 {
		return nil
	}
	whole, err := e.frame(e.value)
	if !whole {
		return e.broken("a part of the stream is not JSON", e.value)
	}
	e.value = e.value[:0]
	return err
}

// frame decodes a value. whole reports whether it is complete, or an error in itself.
func (e *events) frame(value []byte) (whole bool, err error) {
	var chunk openai.ChatCompletionStreamResponse
	failed := json.Unmarshal(value, &chunk)
	if _, cut := errors.AsType[*json.SyntaxError](failed); cut {
		return false, nil
	}
	e.frames++
	if bytes.Contains(value, []byte(`"error"`)) {
		if refusal := e.c.refusalIn(value); refusal != nil {
			return true, refusal
		}
	}
	if failed != nil {
		return true, e.malformed("a part of the stream is not a chat completion: " + failed.Error())
	}
	e.ready = &chunk
	return true, nil
}

// finish records that the stream has ended as it should.
func (e *events) finish() error {
	e.done = true
	return io.EOF
}

// end decides what the end of a stream without [DONE] means. Whether the answer is complete depends on its content.
func (e *events) end() error {
	if json.Valid(e.value) {
		if err := e.complete(); err != nil {
			return err
		}
	}
	switch {
	case len(e.value) > 0:
		return e.c.p.fail(llm.Unavailable, e.c.model, "the stream ended in the middle of a part")
	case e.frames == 0 && e.stray != "":
		return e.malformed("the answer is not a stream of events: " + e.stray)
	case e.frames == 0:
		return e.c.p.fail(llm.Unavailable, e.c.model, "the stream ended before the answer began")
	}
	return io.EOF
}

func (e *events) broken(what string, text []byte) error {
	return e.malformed(what + ": " + string(text[:min(len(text), maxErrorBody)]))
}
