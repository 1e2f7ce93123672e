package config

import (
	"time"

	"github.com/pronto-lab/openclawd/coordination/chain"
)

// Agent is an agent as configured.
type Agent struct {
	ID        string
	Name      string // its own, else its identity's; may be ""
	Kind      string // "" or utility
	Utility   bool   // works for other agents only
	Default   bool   // answers where nobody is named
	Role      string // RoleLead, RoleWorker or RoleSpecialist
	Workspace string // may begin with ~; "" if not configured
	Identity  Identity
	Model     ModelChoice

	ContextTokens int            // 0 if it has no number of its own
	Timeout       *time.Duration // of its runs, 0 is for ever; nil is as for all agents
	Tools         ToolPolicy     // beside what holds for all agents

	// AllowAgents are those that it may start as sub-agents; "*" is any.
	AllowAgents []string
	// SubagentModel and SubagentThinking hold for its sub-agents' sessions, in place of those of Subagents. Fallbacks of the model are not heeded.
	SubagentModel    ModelChoice
	SubagentThinking string
}

// AgentDefaults hold for every agent.
type AgentDefaults struct {
	Workspace     string
	Model         ModelChoice
	ContextTokens int           // 0 if not configured
	Timeout       time.Duration // of a run; 0 is for ever
	MaxConcurrent int           // runs at a time
	MaxNested     int           // runs at a time that agents wait for
	Subagents     Subagents
	A2A           A2AConcurrency
	LoopGuard     A2ALoopGuard
	Continuation  TaskContinuation
	SystemAgent   string // answers where nobody is named and no agent is marked as default; "" if not configured
}

// Subagents bound what agents may start.
type Subagents struct {
	MaxConcurrent       int
	MaxSpawnDepth       int
	MaxChildrenPerAgent int
	ArchiveAfter        time.Duration
	AnnounceMaxAge      time.Duration

	// What holds where who starts one does not say it.
	Model    ModelChoice    // its fallbacks are not heeded; "" is as for the agent
	Thinking string         // "" is as for the agent
	Timeout  *time.Duration // of its run, 0 is for ever; nil is as for the agent
}

// A2ALoopGuard bounds how agents cause each other to act: see coordination/chain.
type A2ALoopGuard = chain.Limits

// A2AConcurrency bounds the exchanges that one agent may have at a time.
type A2AConcurrency struct {
	MaxFlows     int
	QueueTimeout time.Duration
}

// TaskContinuation says when an agent is reminded of its unfinished task.
type TaskContinuation struct {
	Enabled       bool
	CheckInterval time.Duration
	IdleThreshold time.Duration
	ZombieTaskTTL time.Duration
	Channel       string
}

// Binding gives the messages of an account to an agent.
type Binding struct {
	AgentID   string
	Channel   string // discord, ...
	AccountID string // "" is the default account, "*" any

	// What the messages have to come from besides; "" and none is whatever.
	PeerKind, PeerID string // channel, group or direct, and its id
	GuildID          string
	Roles            []string // any of them, in the guild
	TeamID           string
}

// Session holds the settings of sessions.
type Session struct {
	Scope            string // per-sender or global: whether everybody has a session of their own
	DMScope          string
	MaxPingPongTurns int // 0 to 30
}

// ToolPolicy says which tools may be used. Entries are names of tools, with * for any part of one, or group:<group>; capitals make no
// difference. Package tools heeds it.
type ToolPolicy struct {
	Profile   string   // minimal, messaging, coding or full; "" is that of all agents, where this is of one, else full. Not of the gateway
	Allow     []string // none is any
	AlsoAllow []string // beside what Profile and Allow name; nil is as for all agents, where this is of one. Not of the gateway
	Deny      []string // goes before all of them
}

// Tools says which tools agents may use, and whom they may reach with them.
type Tools struct {
	ToolPolicy

	AgentToAgent AgentToAgent
	Visibility   string // of sessions: self, tree, agent or all
	TaskEnforcer TaskEnforcer
	PlanGate     PlanGate
}

// TaskEnforcer says which tools an agent may call only while it works at a task.
type TaskEnforcer struct {
	Enabled bool
	Tools   []string // names; capitals make no difference
}

// PlanGate says which tools an agent may call only as an approved plan says. Plans may ask for these tools, whether the gate is there or not.
type PlanGate struct {
	Enabled bool
	Tools   []string // names; capitals make no difference
}

// AgentToAgent says whether, and to whom, agents may write.
type AgentToAgent struct {
	Enabled bool
	Allow   []string // agent ids, "*" is any
	Pairs   []AgentPair
}

// AgentPair is a rule for the messages of some agents to some others. The first that fits goes before AgentToAgent.Allow.
type AgentPair struct {
	From, To string // agent ids, * is any part of one
	Allow    bool
}

// Gateway holds the settings of the WebSocket gateway.
type Gateway struct {
	Port       int
	Mode       string // local or remote
	Bind       string // loopback, auto, lan, custom or tailnet
	CustomHost string
	Auth       Auth
	Origins    []string // of pages of other machines that may connect; "*" is any
	PageBase   string   // where on the port the page is that serve --control-ui serves; "" or /such/as
	Sinks      []Sink
	HTTP       HTTP
	Tools      ToolPolicy // of those that are called over HTTP: Allow adds to what may be, it does not bound it
}

// HTTP says which of OpenAI's endpoints the gateway has.
type HTTP struct {
	ChatCompletions bool // POST /v1/chat/completions
	Responses       bool // POST /v1/responses
	// ModelErrors is how a model that fails is told: as text, which an agent answers, or as an error of HTTP.
	ModelErrors string
}

// Values of HTTP.ModelErrors.
const (
	ModelErrorsText = "text"
	ModelErrorsHTTP = "http"
)

// Auth is how clients of the gateway show who they are.
type Auth struct {
	Mode     string // "", token, password, none or trusted-proxy
	Token    Secret
	Password Secret
}

// Sink mirrors conversations of agents to somewhere else.
type Sink struct {
	ID      string
	Enabled bool
	Discord SinkDiscord
	Webhook SinkWebhook // of SinkOfWebhook
}

// The sinks that openclawd knows.
const (
	SinkOfDiscord = "discord-conversation"
	SinkOfWebhook = "webhook"
)

// SinkDiscord says where SinkOfDiscord reports.
type SinkDiscord struct {
	GuildID        string
	DefaultChannel string
	ReportChannel  string
	RouterAccount  string // whose bot opens threads: unless set the one called ruda, else the first that is enabled; "" if there is none
	MessageAccount string
	NotifyUsers    []string
	ArchivePolicy  string // never, 24h, 3d or 7d
}

// SinkWebhook says where SinkOfWebhook posts.
type SinkWebhook struct {
	URL    Secret   // it often holds one
	Token  Secret   // sent as a bearer token; may be ""
	Events []string // types, or families such as a2a.*; none is those of the Discord sink
}

// TaskMonitor holds the settings of the Task-Monitor API. Flags and TASK_MONITOR_* variables win over them.
type TaskMonitor struct {
	Host           string
	Port           int
	WriteToken     Secret
	AllowedOrigins []string
	TaskHubURL     string
}
