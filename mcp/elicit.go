package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/pronto-lab/openclawd/coordination"
)

// CodeDeclined is the code of input that a server asked for and was declined.
const CodeDeclined = "mcp.elicitation_declined"

// exchanges are the calls under way on a connection.
type exchanges struct {
	mu     sync.Mutex
	all    map[*exchange]bool
	strays atomic.Bool // a call that was given up may go on at the server
}

func (x *exchanges) add(e *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all = map[*exchange]bool{}
	}
	x.all[e] = true
}

func (x *exchanges) remove(e *exchange) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.all, e)
}

// of are the calls that may have asked for an input: the one of the context, or, since servers need not say which call it is that asks, all.
func (x *exchanges) of(ctx context.Context) (list []*exchange, sure bool) {
	if e, is := ctx.Value(exchangeKey{}).(*exchange); is {
		return []*exchange{e}, true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Collect(maps.Keys(x.all)), len(x.all) == 1 && !x.strays.Load()
}

// retell is the least time between two lines of the log about declined input.
const retell = time.Minute

// elicited answers a request for input at once: with what a person has given for it before, or else that there is none.
func (c *connection) elicited(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
	in, fault := c.inputOf(r.Params)
	asking, sure := c.asking.of(ctx)
	if sure && fault == "" {
		if values, given := asking[0].answer(in.Digest); given {
			result := &sdk.ElicitResult{Action: "accept"}
			if in.Mode == coordination.InputForm {
				result.Content = values
			}
			return result, nil
		}
	}
	if !sure {
		fault = "other calls of the server are under way, or were given up, so it is not known which of them it is for"
	}
	for _, e := range asking {
		e.want(in, fault)
	}
	now, last := time.Now().UnixNano(), c.told.Load()
	if (last == 0 || now-last >= int64(retell)) && c.told.CompareAndSwap(last, now) {
		c.server.logger.Info("an MCP server asks for input, which it does not get in this call", "message", in.Message, "why", fault)
	}
	return &sdk.ElicitResult{Action: "decline"}, nil
}

// inputOf is what a server asks for, without secrets and bounded. fault says why no person can be asked for it.
func (c *connection) inputOf(p *sdk.ElicitParams) (in *coordination.CallInput, fault string) {
	in = &coordination.CallInput{Mode: coordination.InputForm, Message: coordination.Mask(c.server.shown(p.Message, coordination.MaxInputMessage))}
	schema := jsonOf(p.RequestedSchema)
	if p.RequestedSchema == nil {
		schema = nil
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%q %q %q", p.Message, p.URL, schema)
	in.Digest = hex.EncodeToString(hash.Sum(nil)[:16])
	hidden := func(text string) bool { return coordination.Mask(c.server.hide.Replace(text)) != text }
	if p.Mode == coordination.InputURL || p.URL != "" {
		in.Mode, in.URL = coordination.InputURL, p.URL
		address, err := url.Parse(p.URL)
		switch {
		case err != nil || address.Host == "" || address.Scheme != "https" && address.Scheme != "http" || strings.ContainsFunc(p.URL, isOdd):
			return in, "the address that a person should open is no web address"
		case len(p.URL) > coordination.MaxInputURL, hidden(p.URL):
			return in, "the address that a person should open is too long, or contains a secret"
		}
		return in, ""
	}
	switch in.Schema = schema; {
	case len(schema) > coordination.MaxInputSchema:
		return in, fmt.Sprintf("its form has %d bytes", len(schema))
	case hidden(string(schema)):
		return in, "its form contains a secret"
	}
	if _, err := in.Fields(); err != nil {
		return in, c.server.shown(err.Error(), maxProblem)
	}
	return in, ""
}

// isOdd reports whether a character can make an address look like another one.
func isOdd(r rune) bool { return r <= ' ' || r > '~' }

// answer is what a person has given.
func (e *exchange) answer(digest string) (values map[string]any, given bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.inputs == nil {
		return nil, false
	}
	return e.inputs.Answer(digest)
}

// want records an input that was declined. Only the first one of an exchange counts: the others are asked for again.
func (e *exchange) want(in *coordination.CallInput, fault string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.wanted != nil {
		return
	}
	if e.wanted, e.unaskable = in, fault != ""; fault != "" {
		fault = " No person is asked: " + fault + "."
	}
	e.note = fmt.Sprintf("The server asked for input, which was declined: %s. It asked: %q. If the tool takes that as an argument, call it with it; "+
		"otherwise ask the people you work for.%s", CodeDeclined, in.Message, fault)
}

// settle passes on what was wanted and not given, or says so to the agent.
func (e *exchange) settle() (note string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.wanted == nil:
		return ""
	case e.inputs == nil || e.unaskable:
		return "\n(" + e.note + ")"
	}
	e.inputs.Want(e.wanted, e.note)
	return ""
}

// codeURLRequired is the code of an error with the address that a person has to open before the call can be made.
const codeURLRequired = -32042

// refusedFor records the address without which a server refused a call.
func (e *exchange) refusedFor(c *connection, err error) {
	var answered *jsonrpc.Error
	if !errors.As(err, &answered) || answered.Code != codeURLRequired {
		return
	}
	var data struct{ Elicitations []*sdk.ElicitParams }
	if json.Unmarshal(answered.Data, &data) != nil || len(data.Elicitations) == 0 || data.Elicitations[0] == nil {
		return
	}
	p := data.Elicitations[0]
	p.Mode = coordination.InputURL
	e.want(c.inputOf(p))
}
