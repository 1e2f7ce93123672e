package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// ScriptedModel is the built-in model used if none is configured. It needs no key.
const ScriptedModel = "scripted/scripted"

// DefaultContextTokens is the context size for a model that does not specify one.
const DefaultContextTokens = 200_000

// Identity is how an agent presents itself. Every text may be "".
type Identity struct {
	Name   string
	Emoji  string
	Avatar string // a letter, a URL, or a path in its workspace
	Theme  string
}

// ModelChoice names models as provider/id. The zero value leaves it open.
type ModelChoice struct {
	Primary   string
	Fallbacks []string // used in this order if the primary one fails
}

// Models are the configured models.
type Models struct {
	Providers []ModelProvider // in file order
	Script    *Script         // for the scripted provider; nil is the built-in one
}

// Script is a file for the scripted provider, which parses it.
type Script struct {
	File    string // path for opening
	Text    []byte
	Problem string // why there is no Text
	Line    int    // path of the setting
	Column  int

	named bool // File is a readable path
}

// ModelProvider is an endpoint with models.
type ModelProvider struct {
	ID      string
	BaseURL string
	API     string // openai-completions, ...; openclawd uses OpenAI-compatible endpoints
	APIKey  Secret
	Headers []Header      // sent with each request, sorted by name
	Timeout time.Duration // maximum silence; 0 if not set
	Models  []Model
}

// Header is an HTTP header, whose value is often a key.
type Header struct {
	Name  string
	Value Secret
}

// Model is a provider's model.
type Model struct {
	ID            string
	Name          string // its id if not set
	Reasoning     bool
	Input         []string // text, image, ...
	ContextWindow int      // context window in tokens; 0 if not set
	MaxTokens     int      // of an answer; 0 if not set
}

// SplitModel splits provider/id. The provider is "" for an id alone; an id may contain slashes.
func SplitModel(ref string) (provider, id string) {
	provider, id, found := strings.Cut(ref, "/")
	if !found {
		return "", ref
	}
	return provider, id
}

// Language is the language of notices in the channels: as configured in the first one that has it, else Korean if an agent has a Korean name.
func (c *Config) Language() coordination.Language {
	for _, own := range []*Channel{&c.Discord, &c.Telegram, &c.Slack} {
		if set := own.Collaboration.Language; set != "" {
			return set
		}
	}
	names := make([]string, 0, len(c.Agents))
	for i := range c.Agents {
		names = append(names, c.Agents[i].Name)
	}
	return coordination.LanguageOf(names...)
}

func (c *Config) indexAgents() {
	c.byID, c.indexed = make(map[string]int, len(c.Agents)), c.Agents
	for i := range c.Agents {
		c.byID[strings.ToLower(c.Agents[i].ID)] = i
	}
}

// isIndexed reports whether Agents is the indexed slice. It may have been replaced in a copy of a Config.
func (c *Config) isIndexed() bool {
	return len(c.indexed) > 0 && len(c.indexed) == len(c.Agents) && &c.indexed[0] == &c.Agents[0]
}

// AgentNamed finds an agent by id, ignoring case; nil if there is none.
func (c *Config) AgentNamed(id string) *Agent {
	if c.isIndexed() {
		if i, there := c.byID[strings.ToLower(id)]; there {
			return &c.Agents[i]
		}
		return nil
	}
	for i := range c.Agents {
		if strings.EqualFold(c.Agents[i].ID, id) {
			return &c.Agents[i]
		}
	}
	return nil
}

// AgentPath is the path of an agent's settings, for messages: agents.entries.eden, or agents.list[eden] in the older
// form.
func (c *Config) AgentPath(id string) string {
	if c.Sets("agents", "list") && !c.Sets("agents", "entries") {
		return "agents.list[" + id + "]"
	}
	var root *path
	return root.member("agents").member("entries").named(id).String()
}

// DefaultAgentID is the agent used if none is named: the first one marked as default, else that of
// agents.defaults.systemAgent, else the first one, else main.
func (c *Config) DefaultAgentID() string {
	for _, a := range c.Agents {
		if a.Default {
			return strings.ToLower(a.ID)
		}
	}
	if a := c.AgentNamed(c.Defaults.SystemAgent); a != nil {
		return strings.ToLower(a.ID)
	}
	if len(c.Agents) > 0 {
		return strings.ToLower(c.Agents[0].ID)
	}
	return "main"
}

// SubagentModel is the configured model of an agent as a sub-agent, "" if none.
func (c *Config) SubagentModel(agentID string) string {
	if a := c.AgentNamed(agentID); a != nil && a.SubagentModel.Primary != "" {
		return a.SubagentModel.Primary
	}
	return c.Defaults.Subagents.Model.Primary
}

// SubagentThinking is the configured thinking level of an agent as a sub-agent, "" if none.
func (c *Config) SubagentThinking(agentID string) string {
	if a := c.AgentNamed(agentID); a != nil && a.SubagentThinking != "" {
		return a.SubagentThinking
	}
	return c.Defaults.Subagents.Thinking
}

// ModelFor returns an agent's model choice: its own, else that of all agents, else the first configured model, else
// ScriptedModel. An agent with its own model has only its own fallbacks. Any id may be given.
func (c *Config) ModelFor(agentID string) ModelChoice {
	choice := c.Defaults.Model
	if a := c.AgentNamed(agentID); a != nil {
		switch {
		case a.Model.Primary != "":
			choice = a.Model
		case len(a.Model.Fallbacks) > 0:
			choice.Fallbacks = a.Model.Fallbacks
		}
	}
	choice.Primary = c.whole(cmp.Or(choice.Primary, c.firstModel(), ScriptedModel))
	choice.Fallbacks = slices.Clone(choice.Fallbacks)
	for i, ref := range choice.Fallbacks {
		choice.Fallbacks[i] = c.whole(ref)
	}
	return choice
}

// whole completes a reference without provider by the provider that has the model.
func (c *Config) whole(ref string) string {
	if provider, id := SplitModel(ref); provider == "" {
		for _, p := range c.Models.Providers {
			if slices.ContainsFunc(p.Models, func(m Model) bool { return m.ID == id }) {
				return p.ID + "/" + id
			}
		}
	}
	return ref
}

func (c *Config) firstModel() string {
	for _, p := range c.Models.Providers {
		if len(p.Models) > 0 {
			return p.ID + "/" + p.Models[0].ID
		}
	}
	return ""
}

// ModelNamed finds a configured model by provider/id, or nil.
func (c *Config) ModelNamed(ref string) *Model {
	provider, id := SplitModel(ref)
	for i := range c.Models.Providers {
		if p := &c.Models.Providers[i]; p.ID == provider {
			for j := range p.Models {
				if p.Models[j].ID == id {
					return &p.Models[j]
				}
			}
		}
	}
	return nil
}

// ContextTokens is an agent's context size with a model: the agent's setting, else that of all agents, else the
// model's window.
func (c *Config) ContextTokens(agentID, ref string) int {
	own := 0
	if a := c.AgentNamed(agentID); a != nil {
		own = a.ContextTokens
	}
	window := 0
	if m := c.ModelNamed(ref); m != nil {
		window = m.ContextWindow
	}
	return cmp.Or(own, c.Defaults.ContextTokens, window, DefaultContextTokens)
}
