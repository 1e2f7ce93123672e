package sessiontools

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/projections/sessions"
)

type sessionRow struct {
	Key            string            `json:"key"`
	Kind           string            `json:"kind"`
	Channel        string            `json:"channel"`
	Label          string            `json:"label,omitempty"`
	DisplayName    string            `json:"displayName,omitempty"`
	Delivery       *delivery         `json:"deliveryContext,omitempty"`
	UpdatedAt      int64             `json:"updatedAt"`
	SessionID      string            `json:"sessionId"`
	Provider       string            `json:"modelProvider,omitempty"`
	Model          string            `json:"model"`
	ContextTokens  int               `json:"contextTokens,omitempty"`
	TotalTokens    *int64            `json:"totalTokens,omitempty"` // of the newest answer
	ThinkingLevel  string            `json:"thinkingLevel,omitempty"`
	VerboseLevel   string            `json:"verboseLevel,omitempty"`
	SendPolicy     string            `json:"sendPolicy,omitempty"`
	AbortedLastRun bool              `json:"abortedLastRun,omitempty"`
	SpawnedBy      string            `json:"spawnedBy,omitempty"`
	LastChannel    string            `json:"lastChannel,omitempty"`
	LastTo         string            `json:"lastTo,omitempty"`
	LastAccountID  string            `json:"lastAccountId,omitempty"`
	Messages       []json.RawMessage `json:"messages,omitempty"`
}

// delivery is where an answer of the session would be sent.
type delivery struct {
	Channel   string `json:"channel"`
	To        string `json:"to,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	ThreadID  string `json:"threadId,omitempty"`
}

func rowOf(c *config.Config, one *sessions.Session) sessionRow {
	model := modelOf(c, one)
	r := sessionRow{
		Key: one.Key, Kind: kindOf(one), Channel: channelOf(one), Label: coordination.Mask(one.Label),
		DisplayName: coordination.Mask(cmp.Or(one.Label, one.Title)), UpdatedAt: one.UpdatedAt, SessionID: one.ID,
		ContextTokens: c.ContextTokens(ownerOf(c, one), model),
		ThinkingLevel: one.Settings.Text("thinkingLevel"), VerboseLevel: one.Settings.Text("verboseLevel"), SendPolicy: one.Settings.Text("sendPolicy"),
		AbortedLastRun: one.AbortedLastRun, SpawnedBy: one.Spawner,
		LastChannel: one.LastChannel, LastTo: one.LastTo, LastAccountID: one.LastAccount,
	}
	r.Provider, r.Model = config.SplitModel(model)
	if one.LastChannel != "" {
		r.Delivery = &delivery{one.LastChannel, one.LastTo, one.LastAccount, one.LastThread}
	}
	if one.TokensFresh || one.TotalTokens != 0 {
		r.TotalTokens = &one.TotalTokens
	}
	return r
}

// ownerOf returns the agent of a session; one without an agent belongs to the default agent.
func ownerOf(c *config.Config, one *sessions.Session) string {
	return cmp.Or(one.Agent, c.DefaultAgentID())
}

// modelOf returns the model of a session as provider/id: the one set for it, else the last one used, else its agent's.
func modelOf(c *config.Config, one *sessions.Session) string {
	usual := c.ModelFor(ownerOf(c, one)).Primary
	provider, _ := config.SplitModel(usual)
	ref := usual
	if set := one.Settings.Text("model"); set != "" {
		ref = set
	} else if one.Model != "" {
		ref = strings.TrimPrefix(one.Provider+"/"+one.Model, "/")
	}
	if own, id := config.SplitModel(ref); own == "" && provider != "" {
		return provider + "/" + id
	}
	return ref
}

// Kinds of sessions, as agents of OpenClaw know them.
const (
	kindMain  = "main"
	kindGroup = "group"
	kindCron  = "cron"
	kindHook  = "hook"
	kindNode  = "node"
	kindOther = "other"
)

func kindNames() []string {
	return []string{kindMain, kindGroup, kindCron, kindHook, kindNode, kindOther}
}

func kindOf(one *sessions.Session) string {
	key, err := coordination.ParseSessionKey(one.Key)
	if err != nil {
		return kindOther
	}
	switch key.Kind {
	case coordination.KeyMain:
		if key.ID == coordination.DefaultMainKey {
			return kindMain
		}
	case coordination.KeyGroup, coordination.KeyChannel:
		return kindGroup
	case coordination.KeyCron:
		return kindCron
	case coordination.KeyOther:
		if key.IsHook() {
			return kindHook
		}
	case coordination.KeyAlias:
		family, _, _ := strings.Cut(key.ID, ":")
		switch {
		case family == "global", family == coordination.DefaultMainKey:
			return kindMain
		case family == kindCron, family == kindHook:
			return family
		case strings.HasPrefix(family, kindNode):
			return kindNode
		}
	}
	return kindOther
}

func channelOf(one *sessions.Session) string {
	key, err := coordination.ParseSessionKey(one.Key)
	if err == nil && key.Kind != coordination.KeyOther && key.Channel != "" {
		return key.Channel
	}
	switch kindOf(one) {
	case kindCron, kindHook, kindNode:
		return "internal"
	}
	return cmp.Or(one.LastChannel, "unknown")
}
