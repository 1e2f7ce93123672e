package config

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
)

// ScriptedModel answers where no model is configured. It is part of the program and needs no key.
const ScriptedModel = "scripted/scripted"

// DefaultContextTokens is how much an agent keeps in view of a model that says nothing about it.
const DefaultContextTokens = 200_000

// Identity is how an agent shows itself. Every text may be "".
type Identity struct {
	Name   string
	Emoji  string
	Avatar string // a letter, an address, or a path in its workspace
	Theme  string
}

// ModelChoice says which model answers, as provider/id. A zero one leaves it open.
type ModelChoice struct {
	Primary   string
	Fallbacks []string // that answer if it cannot, in this order
}

// Models holds the models that agents may use.
type Models struct {
	Providers []ModelProvider // in the order of the file
	Script    *Script         // by which the scripted provider answers; nil is the one that is part of the program
}

// Script is a file of the scripted provider. What is in it is not looked at here: whoever opens the provider does.
type Script struct {
	File    string // as it can be opened
	Text    []byte
	Problem string // why there is no Text
	Line    int    // of the setting that names it
	Column  int

	named bool // File is a path that may be read
}

// ModelProvider is where models are asked.
type ModelProvider struct {
	ID      string
	BaseURL string
	API     string // openai-completions, ...; openclawd speaks what an OpenAI-compatible endpoint understands
	APIKey  Secret
	Headers []Header      // that are sent with each request, by their names
	Timeout time.Duration // how long it may be silent; 0 if the files do not say
	Models  []Model
}

// Header is one of HTTP. Many hold keys.
type Header struct {
	Name  string
	Value Secret
}

// Model is a model of a provider.
type Model struct {
	ID            string
	Name          string // its id if the files say none
	Reasoning     bool
	Input         []string // text, image, ...
	ContextWindow int      // tokens; 0 if the files do not say
	MaxTokens     int      // of an answer; 0 if the files do not say
}

// SplitModel splits provider/id. The provider is "" where only an id is given; an id may hold further slashes.
func SplitModel(ref string) (provider, id string) {
	provider, id, found := strings.Cut(ref, "/")
	if !found {
		return "", ref
	}
	return provider, id
}

// Language is the one in which people are told of what happens in Discord: as set, else Korean where an agent has a Korean name.
func (c *Config) Language() coordination.Language {
	if set := c.Discord.Collaboration.Language; set != "" {
		return set
	}
	names := make([]string, 0, len(c.Agents))
	for i := range c.Agents {
		names = append(names, c.Agents[i].Name)
	}
	return coordination.LanguageOf(names...)
}

// indexAgents makes AgentNamed find agents without looking at each of them.
func (c *Config) indexAgents() {
	c.byID, c.indexed = make(map[string]int, len(c.Agents)), c.Agents
	for i := range c.Agents {
		c.byID[strings.ToLower(c.Agents[i].ID)] = i
	}
}

// isIndexed reports whether Agents are those that were loaded. A copy of a Config may have been given others.
func (c *Config) isIndexed() bool {
	return len(c.indexed) > 0 && len(c.indexed) == len(c.Agents) && &c.indexed[0] == &c.Agents[0]
}

// AgentNamed finds an agent by its id, whatever its capitals, or nil.
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

// AgentPath is where the settings of an agent stand, or would stand, for messages: agents.entries.eden, or agents.list[eden] in the older form.
func (c *Config) AgentPath(id string) string {
	if c.Says("agents", "list") && !c.Says("agents", "entries") {
		return "agents.list[" + id + "]"
	}
	var root *path
	return root.member("agents").member("entries").named(id).String()
}

// DefaultAgentID is the agent that answers where nobody is named: the first one that is marked as default, else the one of
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

// SubagentModel is the model that is configured for sub-agents that are an agent, "" if none is.
func (c *Config) SubagentModel(agentID string) string {
	if a := c.AgentNamed(agentID); a != nil && a.SubagentModel.Primary != "" {
		return a.SubagentModel.Primary
	}
	return c.Defaults.Subagents.Model.Primary
}

// SubagentThinking is how hard such sub-agents think, "" if it is not configured.
func (c *Config) SubagentThinking(agentID string) string {
	if a := c.AgentNamed(agentID); a != nil && a.SubagentThinking != "" {
		return a.SubagentThinking
	}
	return c.Defaults.Subagents.Thinking
}

// ModelFor is the choice that holds for an agent: its own, else that of all agents, else the first configured model, else ScriptedModel.
// An agent that names a model of its own has no fallbacks but its own. Any id may be asked for.
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

// whole gives a reference that names only a model the provider that has it.
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

// ContextTokens is how many tokens an agent that uses a model keeps in view: what is set for the agent, else for all agents, else the
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
