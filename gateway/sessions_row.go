package gateway

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

type modelRef struct {
	Provider string `json:"modelProvider"`
	Model    string `json:"model"`
}

// listDefaults are the values for sessions without settings.
type listDefaults struct {
	modelRef
	ContextTokens int `json:"contextTokens"`
}

func defaultsOf(c *config.Config) listDefaults {
	agent := c.DefaultAgentID()
	ref := c.ModelFor(agent).Primary
	return listDefaults{modelRefOf(ref), c.ContextTokens(agent, ref)}
}

func modelRefOf(ref string) modelRef {
	provider, model := config.SplitModel(ref)
	return modelRef{provider, model}
}

func (m modelRef) String() string { return m.Provider + "/" + m.Model }

// modelOf is a session's model: its own setting, else the one that answered last, else its agent's.
func modelOf(c *config.Config, one *sessions.Session) modelRef {
	usual := modelRefOf(c.ModelFor(ownerOf(c, one)).Primary)
	if set := textSetting(one, "model"); set != "" {
		m := modelRefOf(set)
		m.Provider = cmp.Or(m.Provider, usual.Provider)
		return m
	}
	if one.Model != "" {
		return modelRef{cmp.Or(one.Provider, usual.Provider), one.Model}
	}
	return usual
}

// ownerOf is the agent that owns a session; the default agent if the key names none.
func ownerOf(c *config.Config, one *sessions.Session) string {
	return cmp.Or(one.Agent, c.DefaultAgentID())
}

// textSetting is a string setting, "" if unset.
func textSetting(one *sessions.Session, name string) (text string) {
	if raw, set := one.Settings[name]; set {
		_ = json.Unmarshal(raw, &text) // a value of another type is ignored
	}
	return text
}

type sessionRow struct {
	Key              string          `json:"key"`
	Kind             string          `json:"kind"`
	Label            string          `json:"label,omitempty"`
	DisplayName      string          `json:"displayName,omitempty"`
	Channel          string          `json:"channel,omitempty"`
	ChatType         string          `json:"chatType,omitempty"`
	UpdatedAt        int64           `json:"updatedAt"`
	SessionID        string          `json:"sessionId"`
	AbortedLastRun   bool            `json:"abortedLastRun,omitempty"`
	ThinkingLevel    json.RawMessage `json:"thinkingLevel,omitempty"`
	VerboseLevel     json.RawMessage `json:"verboseLevel,omitempty"`
	ReasoningLevel   json.RawMessage `json:"reasoningLevel,omitempty"`
	ElevatedLevel    json.RawMessage `json:"elevatedLevel,omitempty"`
	SendPolicy       json.RawMessage `json:"sendPolicy,omitempty"`
	GroupActivation  json.RawMessage `json:"groupActivation,omitempty"`
	InputTokens      *int64          `json:"inputTokens,omitempty"`
	OutputTokens     *int64          `json:"outputTokens,omitempty"`
	TotalTokens      *int64          `json:"totalTokens,omitempty"`
	TotalTokensFresh bool            `json:"totalTokensFresh"`
	ResponseUsage    json.RawMessage `json:"responseUsage,omitempty"`
	modelRef
	ContextTokens int           `json:"contextTokens,omitempty"`
	Delivery      *deliveryPlan `json:"deliveryContext,omitempty"`
	LastChannel   string        `json:"lastChannel,omitempty"`
	LastTo        string        `json:"lastTo,omitempty"`
	LastAccountID string        `json:"lastAccountId,omitempty"`
	DerivedTitle  string        `json:"derivedTitle,omitempty"`
	LastMessage   string        `json:"lastMessagePreview,omitempty"`
	Queue         *sessionQueue `json:"queue,omitempty"`

	// Protocol 4.
	AgentID   string `json:"agentId,omitempty"`
	IsMain    bool   `json:"isMain,omitempty"`
	SpawnedBy string `json:"spawnedBy,omitempty"`
	CreatedAt int64  `json:"createdAt,omitempty"`
}

// deliveryPlan is where an answer of the session would be delivered.
type deliveryPlan struct {
	Channel   string `json:"channel"`
	To        string `json:"to,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
}

// rowOf converts a session for a client of a protocol version.
func rowOf(c *config.Config, one *sessions.Session, version int) sessionRow {
	model, owner := modelOf(c, one), ownerOf(c, one)
	row := sessionRow{
		Key: one.Key, Kind: kindOf(one), Label: one.Label, DisplayName: one.Label, UpdatedAt: one.UpdatedAt, SessionID: one.ID,
		AbortedLastRun: one.AbortedLastRun,
		ThinkingLevel:  one.Settings["thinkingLevel"], VerboseLevel: one.Settings["verboseLevel"], ReasoningLevel: one.Settings["reasoningLevel"],
		ElevatedLevel: one.Settings["elevatedLevel"], SendPolicy: one.Settings["sendPolicy"], GroupActivation: one.Settings["groupActivation"],
		ResponseUsage: one.Settings["responseUsage"], TotalTokensFresh: one.TokensFresh,
		modelRef: model, ContextTokens: c.ContextTokens(owner, model.String()),
		LastChannel: one.LastChannel, LastTo: one.LastTo, LastAccountID: one.LastAccount,
	}
	if one.LastChannel != "" {
		row.Delivery = &deliveryPlan{one.LastChannel, one.LastTo, one.LastAccount, one.LastThread}
	}
	if hasTokens(one) {
		total := contextUsed(one)
		row.InputTokens, row.OutputTokens, row.TotalTokens = &one.InputTokens, &one.OutputTokens, &total
	}
	if key, err := coordination.ParseSessionKey(one.Key); err == nil {
		row.Channel = key.Channel
		switch key.Kind {
		case coordination.KeyDirect, coordination.KeyGroup, coordination.KeyChannel:
			row.ChatType = string(key.Kind)
		case coordination.KeyOther:
			row.Channel = "" // an unknown family may not be a channel
		}
	}
	if version >= protocol.SinceOwners {
		row.AgentID, row.SpawnedBy, row.CreatedAt = owner, one.Spawner, one.CreatedAt
		row.IsMain = one.Key == mainSessionOf(c, owner).String()
	}
	return row
}

// hasTokens reports whether token counts of a session are known.
func hasTokens(one *sessions.Session) bool {
	return one.TokensFresh || one.InputTokens != 0 || one.OutputTokens != 0 || one.TotalTokens != 0
}

// contextUsed is how much of the context window the last answer took, as OpenClaw counts it: what the model was told, without what it said.
func contextUsed(one *sessions.Session) int64 { return cmp.Or(one.InputTokens, one.TotalTokens) }

func kindOf(one *sessions.Session) string {
	switch {
	case one.Key == "global" || one.Key == "unknown":
		return one.Key
	case one.Kind == coordination.KeyGroup || one.Kind == coordination.KeyChannel:
		return "group"
	}
	return "direct"
}

const maxTitle = 60

// derivedTitle is a session's title. Clients of protocol 4 know main sessions and name them on their own: they never
// end, and their first message says little.
func derivedTitle(row *sessionRow, one *sessions.Session) string {
	if row.IsMain {
		return ""
	}
	return titleOf(one)
}

// titleOf is the title of a session without a label: the start of its first user message, else its id and last
// change's date.
func titleOf(one *sessions.Session) string {
	if one.Title != "" {
		return cutText(one.Title, maxTitle, "…")
	}
	return one.ID[:min(8, len(one.ID))] + " (" + time.UnixMilli(one.UpdatedAt).UTC().Format(time.DateOnly) + ")"
}

// entryOf is a session as stored: settings and counts, without defaults.
func entryOf(one *sessions.Session, version int) map[string]any {
	entry := map[string]any{"sessionId": one.ID, "updatedAt": one.UpdatedAt}
	for name, value := range one.Settings {
		entry[name] = value
	}
	if one.Label != "" {
		entry["label"] = one.Label
	}
	if one.Spawner != "" {
		entry["spawnedBy"] = one.Spawner
	}
	if one.Model != "" {
		entry["modelProvider"], entry["model"] = one.Provider, one.Model
	}
	if set := textSetting(one, "model"); set != "" {
		m := modelRefOf(set)
		if entry["modelOverride"] = m.Model; m.Provider != "" {
			entry["providerOverride"] = m.Provider
		}
		if one.Model == "" {
			delete(entry, "model") // the original's name for the model that answered last
		}
	}
	if hasTokens(one) {
		entry["inputTokens"], entry["outputTokens"], entry["totalTokens"] = one.InputTokens, one.OutputTokens, contextUsed(one)
		entry["totalTokensFresh"] = one.TokensFresh
	}
	if one.AbortedLastRun {
		entry["abortedLastRun"] = true
	}
	if version >= protocol.SinceOwners {
		entry["createdAt"] = one.CreatedAt
	}
	return entry
}
