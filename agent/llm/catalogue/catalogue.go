package catalogue

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/llm/openai"
	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/config"
)

// Options of New.
type Options struct {
	Getenv    func(string) string // for API keys; nil finds none
	Script    *scripted.Script    // for the scripted provider if none is configured; default: scripted.Default()
	Transport http.RoundTripper   // HTTP transport; share it between catalogues to keep connections over configuration changes
	OpenAI    openai.Options      // limits and timeouts of all endpoints; fields that the catalogue sets are ignored
}

// Catalogue resolves the models of one configuration. It is safe for concurrent use; create a new one when the
// configuration changes. It needs no closing: connections belong to the Transport.
type Catalogue struct {
	config *config.Config
	o      Options

	mu     sync.Mutex
	opened map[string]llm.Provider // by the provider's id
}

// New returns a Catalogue.
func New(c *config.Config, o Options) *Catalogue {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	if o.Transport == nil {
		o.Transport = openai.NewTransport()
	}
	return &Catalogue{config: c, o: o, opened: map[string]llm.Provider{}}
}

// Error says why a model cannot be opened. It contains no secret.
type Error struct {
	Ref      string // of the model
	Setting  string // setting to fix, such as models.providers.fake.baseUrl
	Problem  string
	HintText string
}

func (e *Error) Error() string {
	return fmt.Sprintf("model %s: %s: %s; %s", e.Ref, e.Setting, e.Problem, e.HintText)
}
func (e *Error) Code() string { return "model" }
func (e *Error) Hint() string { return e.HintText }

// Choices returns the references of an agent's models, first choice first, without duplicates. There is at least one.
func (c *Catalogue) Choices(agentID string) []string {
	choice := c.config.ModelFor(agentID)
	refs := []string{choice.Primary}
	for _, ref := range choice.Fallbacks {
		if ref != "" && !slices.Contains(refs, ref) {
			refs = append(refs, ref)
		}
	}
	return refs
}

// Open resolves a model. Errors are *Error.
func (c *Catalogue) Open(ref string) (*Model, error) {
	providerID, id := config.SplitModel(ref)
	if providerID == "" || id == "" {
		return nil, &Error{llm.Clean(ref), "model", "names no provider", "write provider/model, such as " + c.example()}
	}
	listed := c.configured(providerID)
	m := &Model{Ref: ref, ProviderID: providerID, ID: id}
	if info := c.config.ModelNamed(ref); info != nil {
		m.ContextWindow, m.MaxTokens = info.ContextWindow, info.MaxTokens
		m.plain = !info.Reasoning
		m.Images = slices.Contains(info.Input, "image")
	} else if listed != nil && len(listed.Models) > 0 {
		return nil, &Error{llm.Clean(ref), "models.providers." + providerID + ".models", "does not list " + llm.Clean(id),
			"add it, or name one of " + idsOf(listed.Models)}
	} else {
		m.Images = true // nothing says that it cannot process images
	}
	m.ContextWindow = cmp.Or(m.ContextWindow, config.DefaultContextTokens)
	provider, err := c.provider(ref, providerID, listed)
	if err != nil {
		return nil, err
	}
	m.provider = provider
	return m, nil
}

func (c *Catalogue) configured(id string) *config.ModelProvider {
	for i := range c.config.Models.Providers {
		if p := &c.config.Models.Providers[i]; p.ID == id {
			return p
		}
	}
	return nil
}

// example is an example of a model reference.
func (c *Catalogue) example() string {
	for _, p := range c.config.Models.Providers {
		if len(p.Models) > 0 {
			return p.ID + "/" + p.Models[0].ID
		}
	}
	return config.ScriptedModel
}

// providers lists some configured providers and the built-in one.
func (c *Catalogue) providers() string {
	const shown = 10
	var ids []string
	for _, p := range c.config.Models.Providers[:min(len(c.config.Models.Providers), shown)] {
		ids = append(ids, p.ID)
	}
	return strings.Join(append(ids, scripted.ID), ", ")
}

func idsOf(models []config.Model) string {
	const shown = 10
	var ids []string
	for i := range models[:min(len(models), shown)] {
		ids = append(ids, models[i].ID)
	}
	return strings.Join(ids, ", ")
}

// provider opens a provider, or returns the open one.
func (c *Catalogue) provider(ref, id string, listed *config.ModelProvider) (llm.Provider, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p := c.opened[id]; p != nil {
		return p, nil
	}
	p, err := c.open(id, listed)
	if err != nil {
		err.Ref = llm.Clean(ref)
		return nil, err
	}
	c.opened[id] = p
	return p, nil
}

func (c *Catalogue) open(id string, listed *config.ModelProvider) (llm.Provider, *Error) {
	isConfigured := listed != nil
	if !isConfigured {
		listed = &config.ModelProvider{ID: id}
	}
	if listed.API == scripted.ID || !isConfigured && id == scripted.ID {
		return c.openScript()
	}
	setting := "models.providers." + llm.Clean(id)
	base, ok := compatible(listed.API, listed.BaseURL)
	if !ok {
		return nil, &Error{Setting: setting + ".api", Problem: fmt.Sprintf("%s is an API that openclawd does not support", llm.Clean(listed.API)),
			HintText: "set it to openai-completions, and baseUrl to an OpenAI-compatible endpoint"}
	}
	base = cmp.Or(base, known(id).baseURL)
	switch {
	case base == "" && !isConfigured:
		return nil, &Error{Setting: setting, Problem: "is not configured, and no provider of this name is known",
			HintText: "configure it, or name one of " + c.providers()}
	case base == "":
		return nil, &Error{Setting: setting + ".baseUrl", Problem: "is not set, and no provider of this name is known",
			HintText: "set it to an OpenAI-compatible endpoint, such as http://127.0.0.1:8000/v1"}
	}
	key, variable := c.key(id, listed)
	if key == "" && !isNear(base) && known(id).keys != nil && !authorises(listed.Headers) {
		return nil, &Error{Setting: setting + ".apiKey", Problem: "there is no API key", HintText: "set it, or the environment variable " + variable}
	}
	o := c.o.OpenAI
	o.ID, o.BaseURL, o.Key, o.Transport, o.Headers = id, base, key, c.o.Transport, http.Header{}
	for _, h := range listed.Headers {
		o.Headers.Set(h.Name, h.Value.Reveal())
	}
	if listed.Timeout > 0 {
		o.First, o.Idle = listed.Timeout, listed.Timeout
	}
	p, err := openai.New(o)
	if err != nil {
		return nil, &Error{Setting: setting + ".baseUrl", Problem: err.Error(), HintText: "see the provider's documentation"}
	}
	return p, nil
}

// authorises reports whether the headers contain credentials.
func authorises(headers []config.Header) bool {
	return slices.ContainsFunc(headers, func(h config.Header) bool {
		return strings.EqualFold(h.Name, "Authorization") || strings.EqualFold(h.Name, "X-Api-Key")
	})
}

// key returns a provider's API key, and the environment variable for it. A configured key that is the name of a set
// variable stands for its value, as in OpenClaw.
func (c *Catalogue) key(id string, listed *config.ModelProvider) (key, variable string) {
	variables := known(id).keys
	if variables == nil {
		variables = []string{variableOf(id)}
	}
	if written := listed.APIKey.Reveal(); written != "" {
		if isVariable(written) {
			written = cmp.Or(c.o.Getenv(written), written)
		}
		return written, variables[0]
	}
	for _, name := range variables {
		if key := c.o.Getenv(name); key != "" {
			return key, name
		}
	}
	return "", variables[0]
}

// isVariable reports whether a text looks like the name of an environment variable for a key.
func isVariable(s string) bool {
	for _, r := range s {
		if r != '_' && (r < 'A' || r > 'Z') && (r < '0' || r > '9') {
			return false
		}
	}
	return strings.HasSuffix(s, "_KEY") || strings.HasSuffix(s, "_TOKEN")
}
