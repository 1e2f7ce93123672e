package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/sashabaranov/go-openai"

	"github.com/pronto-lab/openclawd/agent/llm"
)

// call is one request with its answer.
type call struct {
	p     *Provider
	model string
	idKey string
	turn  int // number of requests sent

	parent context.Context
	ctx    context.Context // ends with parent, or when the endpoint is silent for too long
	cancel context.CancelCauseFunc
	timer  Timer
	wait   time.Duration // timeout of the next byte

	body   io.ReadCloser // of the response; nil if there is none
	events *events
	sent   bool
}

// errSilent ends a call whose endpoint sends nothing any more.
var errSilent = errors.New("silent")

func newCall(ctx context.Context, p *Provider, r *llm.Request) *call {
	c := &call{p: p, model: r.Model, idKey: r.IdempotencyKey, turn: len(r.Messages), parent: ctx, wait: p.o.First}
	c.ctx, c.cancel = context.WithCancelCause(ctx)
	c.timer = p.o.AfterFunc(c.wait, func() { c.cancel(errSilent) })
	return c
}

func (c *call) end() {
	c.timer.Stop()
	if c.body != nil {
		c.body.Close()
	}
	if c.events != nil {
		c.events.close()
	}
	c.cancel(nil)
}

func (c *call) complete(request *openai.ChatCompletionRequest, r *llm.Request, stream func(llm.Chunk)) (*llm.Answer, error) {
	if err := c.send(request, r); err != nil {
		return nil, err
	}
	g := newAnswerBuilder(c, stream)
	defer g.pass()
	for {
		chunk, err := c.events.chunk()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if err := g.add(chunk); err != nil {
			return nil, err
		}
	}
	answer, err := g.answer()
	if err == nil && c.events.done {
		c.rest()
	}
	return answer, err
}

// send sends the request and waits until the answer begins.
func (c *call) send(q *openai.ChatCompletionRequest, r *llm.Request) error {
	body, err := c.p.body(q, r)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(c.ctx, http.MethodPost, c.p.baseURL+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	c.sent = true
	c.setHeaders(request.Header)
	response, err := c.p.http.Do(request)
	if err != nil {
		return c.network(err)
	}
	c.timer.Stop()
	c.body = response.Body
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return c.refusal(response)
	}
	c.events = newEvents(c, c.p.o.StreamBytes)
	return c.events.begin()
}

func (c *call) setHeaders(header http.Header) {
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "text/event-stream")
	header.Set("Cache-Control", "no-cache")
	for name, values := range c.p.headers() {
		if name = http.CanonicalHeaderKey(name); !isOwn(name) {
			header[name] = values
		}
	}
	if key := c.p.key(); key != "" {
		header.Set("Authorization", "Bearer "+key)
	}
	if c.idKey != "" {
		header.Set("Idempotency-Key", c.idKey)
	}
	if c.p.o.UserAgent != "" {
		header.Set("User-Agent", c.p.o.UserAgent)
	}
}

// isOwn reports whether only this package and the transport may set a header.
func isOwn(name string) bool {
	switch name {
	case "Accept", "Accept-Encoding", "Connection", "Content-Length", "Content-Type", "Host", "Transfer-Encoding":
		return true
	}
	return false
}

// read reads the body, with a timeout for silence. Time without a reader does not count.
func (c *call) read(p []byte) (int, error) {
	c.timer.Reset(c.wait)
	n, err := c.body.Read(p)
	c.timer.Stop()
	if n > 0 {
		c.wait = c.p.o.Idle
	}
	return n, err
}

// rest drains the body after an answer, so that the connection can be reused.
func (c *call) rest() {
	var scrap [512]byte
	for n := 0; n < maxRest; {
		c.timer.Reset(restTime)
		got, err := c.body.Read(scrap[:])
		c.timer.Stop()
		if n += got; err != nil {
			return
		}
	}
}

// failure converts what ended a call to an *llm.Error, unless it is one.
func (c *call) failure(err error) error {
	var own *llm.Error
	switch {
	case errors.As(err, &own):
		return own
	case !c.sent:
		return c.p.fail(llm.Rejected, c.model, err.Error())
	}
	return c.p.fail(llm.Malformed, c.model, err.Error())
}

// network is the error for an unreachable endpoint. It omits the address.
func (c *call) network(err error) *llm.Error {
	if errors.Is(context.Cause(c.ctx), errSilent) {
		return c.p.fail(llm.Timeout, c.model, fmt.Sprintf("no data for %s", c.wait))
	}
	class := llm.Unavailable
	var at *url.Error
	if errors.As(err, &at) {
		if at.Timeout() {
			class = llm.Timeout
		}
		err = at.Err
	}
	return c.p.fail(class, c.model, err.Error())
}
