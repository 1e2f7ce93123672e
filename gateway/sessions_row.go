package gateway

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/gateway/protocol"
	"github.com/pronto-lab/openclawd/projections/session"
)

// modelRef names a model.
type modelRef struct {
	Provider string `json:"modelProvider"`
	Model    string `json:"model"`
}

// listDefaults are what holds for a session for which nothing is set.
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

// modelOf is the model of a session: what is set for it, else the one that answered last, else its agent's.
func modelOf(c *config.Config, one *session.Session) modelRef {
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

// ownerOf is the agent whose session it is; a session of nobody is the default agent's.
func ownerOf(c *config.Config, one *session.Session) string {
	return cmp.Or(one.Agent, c.DefaultAgentID())
}

// textSetting is a setting that is a text, "" if it is not set.
func textSetting(one *session.Session, name string) (text string) {
	if raw, set := one.Settings[name]; set {
		_ = json.Unmarshal(raw, &text) // what is no text has no value here
	}
	return text
}

// sessionRow is a session as clients are told of it.
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

	// Of protocol 4.
	AgentID   string `json:"agentId,omitempty"`
	IsMain    bool   `json:"isMain,omitempty"`
	SpawnedBy string `json:"spawnedBy,omitempty"`
	CreatedAt int64  `json:"createdAt,omitempty"`
}

// deliveryPlan is where an answer of the session would go.
type deliveryPlan struct {
	Channel   string `json:"channel"`
	To        string `json:"to,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
}

// rowOf describes a session to a client of a protocol.
func rowOf(c *config.Config, one *session.Session, version int) sessionRow {
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
		row.InputTokens, row.OutputTokens, row.TotalTokens = &one.InputTokens, &one.OutputTokens, &one.TotalTokens
	}
	if key, err := coordination.ParseSessionKey(one.Key); err == nil {
		row.Channel = key.Channel
		switch key.Kind {
		case coordination.KeyDirect, coordination.KeyGroup, coordination.KeyChannel:
			row.ChatType = string(key.Kind)
		case coordination.KeyOther:
			row.Channel = "" // a family that is not known here need not be one
		}
	}
	if version >= protocol.SinceOwners {
		row.AgentID, row.SpawnedBy, row.CreatedAt = owner, one.Spawner, one.CreatedAt
		row.IsMain = one.Key == mainSessionOf(c, owner).String()
	}
	return row
}

// hasTokens reports whether anything is known of the tokens of a session.
func hasTokens(one *session.Session) bool {
	return one.TokensFresh || one.InputTokens != 0 || one.OutputTokens != 0 || one.TotalTokens != 0
}

func kindOf(one *session.Session) string {
	switch {
	case one.Key == "global" || one.Key == "unknown":
		return one.Key
	case one.Kind == coordination.KeyGroup || one.Kind == coordination.KeyChannel:
		return "group"
	}
	return "direct"
}

// maxTitle is how many characters a title has at most.
const maxTitle = 60

// derivedTitle is what a row calls its session. Clients of protocol 4, which are told which session is a main one, have a name of their own for
// it: it goes on for ever, and its first message says nothing of it.
func derivedTitle(row *sessionRow, one *session.Session) string {
	if row.IsMain {
		return ""
	}
	return titleOf(one)
}

// titleOf is what a session is called where it has no label: how its user began, else its id and the day of its last change.
func titleOf(one *session.Session) string {
	if one.Title != "" {
		return cutText(one.Title, maxTitle, "…")
	}
	return one.ID[:min(8, len(one.ID))] + " (" + time.UnixMilli(one.UpdatedAt).UTC().Format(time.DateOnly) + ")"
}

// entryOf is a session as it is stored: what is set and what was counted, without what holds by default.
func entryOf(one *session.Session, version int) map[string]any {
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
			delete(entry, "model") // the original's name of the one that answered last
		}
	}
	if hasTokens(one) {
		entry["inputTokens"], entry["outputTokens"], entry["totalTokens"] = one.InputTokens, one.OutputTokens, one.TotalTokens
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
