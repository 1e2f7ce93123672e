package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/services/access"
)

// Options of New. Config, Logger and Tools are required.
type Options struct {
	Config func() *config.Config // in force; never nil
	Logger *slog.Logger
	Tools  []Tool
	// Guard returns why a call that is otherwise valid is not made; nil allows every call. Errors are *tool.Error and *tool.WaitsError, which
	// callers see, or anything else, which is only logged. It respects ctx.
	Guard func(ctx context.Context, call *Call, spec *tool.Spec) error
	// Sources offer tools that come and go, in order of precedence behind Tools.
	Sources []Source
	// Journal performs the calls of tools with an outside effect. It is required if there are such tools.
	Journal Journal
	// Grace is how long a tool may take to return after its ctx has ended, before its caller leaves it behind. 0 is usualGrace.
	Grace time.Duration
}

// Journal records calls with an effect outside of this program.
type Journal interface {
	// Perform makes a call with do and records the intent before and the outcome after it, or returns the outcome of the same call made
	// earlier. An outcome that is unknown is an Output.
	Perform(ctx context.Context, call *Call, t *Tool, do func(context.Context) (tool.Output, error)) (tool.Output, error)
}

const usualGrace = 250 * time.Millisecond

// Registry is a set of tools. It implements tool.Box.
type Registry struct {
	opts  Options
	tools []*entry // in order of name
	stats counters
}

type entry struct {
	Tool
	schema  *jsonschema.Schema
	foreign bool         // of a Source: its schema may be anything
	left    atomic.Int64 // calls whose callers have left
}

// New registers tools. Errors are *RegistrationError: an invalid or duplicate name, an invalid schema, no function.
func New(opts Options) (*Registry, error) {
	r := &Registry{opts: opts}
	if r.opts.Grace <= 0 {
		r.opts.Grace = usualGrace
	}
	for _, t := range opts.Tools {
		if err := t.check(); err != nil {
			return nil, err
		}
		at, taken := r.find(t.Name)
		if taken {
			return nil, &RegistrationError{Tool: t.Name, Field: "name", Text: "there is already a tool of this name", Hint: "give it another one"}
		}
		schema, err := compile(&t.Spec)
		if err != nil {
			return nil, err
		}
		r.tools = slices.Insert(r.tools, at, &entry{Tool: t, schema: schema})
	}
	return r, nil
}

const maxName = 64

func (t *Tool) check() error {
	switch {
	case t.Name == "", len(t.Name) > maxName, strings.ContainsFunc(t.Name, func(c rune) bool { return !isNameRune(c) }):
		return &RegistrationError{Tool: t.Name, Field: "name", Text: "it is not a valid name", Hint: "use a-z, 0-9 and _, at most 64"}
	case t.Do == nil:
		return &RegistrationError{Tool: t.Name, Field: "do", Text: "it has no function", Hint: "give it a Do function"}
	}
	return nil
}

func isNameRune(c rune) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }

// isForeignRune reports whether a character may be in the name of a tool of a Source: what all providers of models accept.
func isForeignRune(c rune) bool { return isNameRune(c) || c >= 'A' && c <= 'Z' || c == '-' }

// RegistrationError reports a tool that cannot be registered.
type RegistrationError struct {
	Tool  string
	Field string // name, schema, do
	Text  string
	Hint  string
}

func (e *RegistrationError) Error() string {
	return fmt.Sprintf("tools: %s of tool %q: %s: %s", e.Field, e.Tool, e.Text, e.Hint)
}

func (r *Registry) find(name string) (at int, found bool) { return find(r.tools, name) }

func find(list []*entry, name string) (at int, found bool) {
	return slices.BinarySearchFunc(list, name, func(e *entry, name string) int { return cmp.Compare(e.Name, name) })
}

// Offer implements tool.Box. The order is by name.
func (r *Registry) Offer(c tool.Caller) []tool.Spec {
	call, known := callOf(r.opts.Config(), c)
	if !known {
		return nil
	}
	var offered []tool.Spec
	for _, e := range r.all() {
		if call.admit(&e.Tool) {
			s := e.spec()
			s.Asks = access.MayAsk(call.Config, call.AgentID, &s)
			offered = append(offered, s)
		}
	}
	return offered
}

// spec returns a deep copy, so that callers cannot change the registry.
func (e *entry) spec() tool.Spec {
	s := e.Spec
	s.Schema = slices.Clone(s.Schema)
	return s
}

// Catalogue lists what runs of the caller's session may call, regardless of how the caller came here, by group and name.
func (r *Registry) Catalogue(c tool.Caller) []tool.Spec {
	c.Entry = tool.ByRun
	list := r.Offer(c)
	slices.SortStableFunc(list, func(a, b tool.Spec) int { return cmp.Compare(a.Group, b.Group) })
	return list
}

// Call implements tool.Box.
func (r *Registry) Call(ctx context.Context, c tool.Caller, name string, args json.RawMessage) (tool.Output, error) {
	r.stats.calls.Add(1)
	call, known := callOf(r.opts.Config(), c)
	var e *entry
	if known {
		e = r.entryOf(ctx, &call, name)
	}
	if e == nil || !call.admit(&e.Tool) {
		r.stats.unknown.Add(1)
		name = coordination.Mask(coordination.Clipped(name, maxName))
		return tool.Output{}, &tool.Error{Code: tool.CodeUnknown, Tool: name, Text: "Tool not available: " + name,
			Hint: "call one of the offered tools"}
	}
	judged, err := e.judge(args)
	if err != nil {
		r.stats.invalid.Add(1)
		return tool.Output{}, err
	}
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	call.Args = judged
	return r.call(ctx, e, &call)
}

// callOf returns the call of a caller. It belongs to no agent if the session key is invalid or another agent's.
func callOf(conf *config.Config, c tool.Caller) (call Call, known bool) {
	agent := strings.ToLower(c.AgentID)
	if agent == "" {
		agent = conf.DefaultAgentID()
	}
	key, err := coordination.SessionKeyOf(cmp.Or(c.SessionKey, coordination.DefaultMainKey), agent)
	switch {
	case err != nil, coordination.NormalizeAgentID(agent) != agent:
		return call, false
	case key.Agent == "":
	case c.AgentID == "":
		agent = key.Agent
	case key.Agent != agent:
		return call, false
	}
	key = conf.SessionInScope(key)
	c.AgentID, c.SessionKey = agent, key.String()
	return Call{Caller: c, Session: key, Config: conf}, true
}
