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
)

// Options of New. All but Guard and Grace are required.
type Options struct {
	Config func() *config.Config // in force; never nil
	Logger *slog.Logger
	Tools  []Tool
	// Guard says why a call is not made that is otherwise in order; nil lets every call be made. Errors are *tool.Error, which callers see, or
	// anything else, which is logged and not told. It heeds ctx.
	Guard func(ctx context.Context, call *Call, spec *tool.Spec) error
	// Grace is how long a tool may take to end after its ctx, before it is left behind. 0 is usualGrace.
	Grace time.Duration
}

const usualGrace = 250 * time.Millisecond

// Registry is a set of tools. It implements tool.Box.
type Registry struct {
	opts  Options
	tools []*entry // in order of name
	stats counters
}

// entry is a tool that is registered.
type entry struct {
	Tool
	schema *jsonschema.Schema
	left   atomic.Int64 // calls that go on although their caller has left
}

// New registers tools. Errors are *RegistrationError: a name that is no name or has been taken, a schema that is none, nothing to do.
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
			return nil, &RegistrationError{Tool: t.Name, Field: "name", Text: "there is a tool of this name already", Mend: "give it another one"}
		}
		schema, err := compile(&t.Spec)
		if err != nil {
			return nil, err
		}
		r.tools = slices.Insert(r.tools, at, &entry{Tool: t, schema: schema})
	}
	return r, nil
}

// maxName is how many bytes a tool's name may have.
const maxName = 64

func (t *Tool) check() error {
	switch {
	case t.Name == "", len(t.Name) > maxName, strings.ContainsFunc(t.Name, func(c rune) bool { return !isNameRune(c) }):
		return &RegistrationError{Tool: t.Name, Field: "name", Text: "this is no name", Mend: "use a-z, 0-9 and _, at most 64"}
	case t.Do == nil:
		return &RegistrationError{Tool: t.Name, Field: "do", Text: "there is nothing to do", Mend: "give it a function"}
	}
	return nil
}

func isNameRune(c rune) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' }

// RegistrationError says why there is no registry with a tool in it.
type RegistrationError struct {
	Tool  string
	Field string // name, schema, do
	Text  string
	Mend  string
}

func (e *RegistrationError) Error() string {
	return fmt.Sprintf("tools: %s of tool %q: %s: %s", e.Field, e.Tool, e.Text, e.Mend)
}

func (r *Registry) find(name string) (at int, found bool) {
	return slices.BinarySearchFunc(r.tools, name, func(e *entry, name string) int { return cmp.Compare(e.Name, name) })
}

// Offer implements tool.Box. The order is that of the names.
func (r *Registry) Offer(c tool.Caller) []tool.Spec {
	call, known := callOf(r.opts.Config(), c)
	if !known {
		return nil
	}
	var offered []tool.Spec
	for _, e := range r.tools {
		if call.admit(&e.Tool) {
			offered = append(offered, e.told())
		}
	}
	return offered
}

// told is a copy that nobody can change what is kept through.
func (e *entry) told() tool.Spec {
	s := e.Spec
	s.Schema = slices.Clone(s.Schema)
	return s
}

// Catalogue lists what runs of the caller's session may call, however the caller itself came here, in the order of groups and names.
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
	at, found := r.find(name)
	if !known || !found || !call.admit(&r.tools[at].Tool) {
		r.stats.unknown.Add(1)
		name = coordination.Mask(shortened(name, maxName))
		return tool.Output{}, &tool.Error{Code: tool.CodeUnknown, Tool: name, Text: "Tool not available: " + name,
			Mend: "call one of the tools that are offered"}
	}
	e := r.tools[at]
	judged, err := e.judge(args)
	if err != nil {
		r.stats.invalid.Add(1)
		return tool.Output{}, err
	}
	if err := ctx.Err(); err != nil {
		return tool.Output{}, err
	}
	call.Args = judged
	return r.run(ctx, e, &call)
}

// callOf is a call of somebody. It is of nobody if they speak for a session that is none, or for one of another agent.
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
	key = InScope(conf, key)
	c.AgentID, c.SessionKey = agent, key.String()
	return Call{Caller: c, Session: key, Config: conf}, true
}

// globalScope is the session.scope in which all agents share one main session, and its key.
const globalScope = "global"

// InScope is the session that a key means with the session.scope in force.
func InScope(conf *config.Config, key coordination.SessionKey) coordination.SessionKey {
	if conf.Session.Scope == globalScope && key.Agent != "" && key == coordination.MainKey(key.Agent) {
		return coordination.SessionKey{Kind: coordination.KeyAlias, ID: globalScope}
	}
	return key
}
