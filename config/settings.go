package config

import (
	"slices"
	"time"

	"github.com/pronto-lab/openclawd/coordination/chain"
)

// Agent is a configured agent.
type Agent struct {
	ID        string
	Name      string // its own, else its identity's; may be ""
	Kind      string // "" or utility
	Utility   bool   // works only for other agents
	Default   bool   // used if no agent is named
	Role      string // RoleLead, RoleWorker or RoleSpecialist
	Workspace string // may begin with ~; "" if not configured
	Identity  Identity
	Model     ModelChoice

	ContextTokens int            // 0 if not set
	Timeout       *time.Duration // of its runs, 0 is unlimited; nil is the default for all agents
	Tools         ToolPolicy     // in addition to the policy for all agents

	// AllowAgents are the agents it may start as sub-agents; "*" is any.
	AllowAgents []string
	// SubagentModel and SubagentThinking apply to its sessions as a sub-agent, instead of those of Subagents.
	// Fallbacks are ignored.
	SubagentModel    ModelChoice
	SubagentThinking string
	Heartbeat        *Heartbeat // nil is the default for all agents
	Skills           []string   // names of those it may use; nil is the default for all agents
	Runs             Placement
}

// AgentDefaults are the defaults of all agents.
type AgentDefaults struct {
	Workspace     string
	Model         ModelChoice
	ContextTokens int           // 0 if not configured
	Timeout       time.Duration // of a run; 0 is unlimited
	MaxConcurrent int           // concurrent runs
	MaxNested     int           // concurrent runs that agents wait for
	Subagents     Subagents
	A2A           A2AConcurrency
	LoopGuard     A2ALoopGuard
	Continuation  TaskContinuation
	Resume        string // ResumeSteps or ResumeOff
	Heartbeat     Heartbeat
	SystemAgent   string // used if no agent is named and none is marked as default; "" if not configured
}

// Values of AgentDefaults.Resume: whether a run that a restart interrupts goes on at its last step.
const (
	ResumeSteps = "steps"
	ResumeOff   = "off"
)

// Subagents are the limits of sub-agents.
type Subagents struct {
	MaxConcurrent       int
	MaxSpawnDepth       int
	MaxChildrenPerAgent int
	ArchiveAfter        time.Duration
	AnnounceMaxAge      time.Duration

	// Defaults if the requester specifies none.
	Model    ModelChoice    // fallbacks are ignored; "" is the agent's own
	Thinking string         // "" is the agent's own
	Timeout  *time.Duration // of its run, 0 is unlimited; nil is the agent's own
}

// A2ALoopGuard limits agents triggering each other: see coordination/chain.
type A2ALoopGuard = chain.Limits

// A2AConcurrency limits an agent's concurrent exchanges.
type A2AConcurrency struct {
	MaxFlows     int
	QueueTimeout time.Duration
}

// TaskContinuation says when an agent is prompted to continue its unfinished task.
type TaskContinuation struct {
	Enabled       bool
	CheckInterval time.Duration
	IdleThreshold time.Duration
	ZombieTaskTTL time.Duration
	Channel       string
}

// Binding routes an account's messages to an agent.
type Binding struct {
	AgentID   string
	Channel   string // discord, ...
	AccountID string // "" is the default account, "*" any

	// Further conditions; empty matches all.
	PeerKind, PeerID string // channel, group or direct, and its id
	GuildID          string
	Roles            []string // one of them, in the guild
	TeamID           string
}

// Session holds the settings of sessions.
type Session struct {
	Scope            string // per-sender or global: whether senders have separate sessions
	DMScope          string
	MaxPingPongTurns int // 0 to 30
}

// ToolPolicy says which tools may be used. Entries are tool names, with * for any part, or group:<group>, ignoring
// case. Package tools applies it.
type ToolPolicy struct {
	Profile   string   // minimal, messaging, coding or full; "" inherits from all agents, else full. Not for the gateway
	Allow     []string // none means any
	AlsoAllow []string // in addition to Profile and Allow; nil inherits from all agents. Not for the gateway
	Deny      []string // takes precedence
}

// Tools says which tools agents may use, and which agents they may reach.
type Tools struct {
	ToolPolicy

	AgentToAgent AgentToAgent
	Visibility   string // of sessions: self, tree, agent or all
	TaskEnforcer TaskEnforcer
	PlanGate     PlanGate
	Approvals    CallApprovals
	Exec         Exec
	Web          Web
}

// Web says how agents reach the web.
type Web struct {
	Fetch  WebFetch
	Search WebSearch
}

// WebFetch says which pages agents may fetch.
type WebFetch struct {
	AllowHosts []string // hosts, or host:port, that may have addresses that are not public
	Robots     bool     // obey robots.txt
	Timeout    time.Duration
}

// WebSearch names the provider of searches.
type WebSearch struct {
	Provider string // SearchBrave or SearchSearXNG; "" for none
	APIKey   Secret
	BaseURL  string // of searxng
}

// Providers of WebSearch.
const (
	SearchBrave   = "brave"
	SearchSearXNG = "searxng" // needs BaseURL
)

// Exec says how agents' commands are run.
type Exec struct {
	Sandbox string        // SandboxAuto, SandboxOff, or the kind of a sandbox
	Image   string        // of SandboxContainer
	Network bool          // commands may use the network
	Timeout time.Duration // of a command that sets none; 0 is unlimited
	Env     []string      // variables of openclawd's environment that commands get
	Disk    int64         // bytes that the files of a workspace may take while a command runs
}

// Values of Exec.Sandbox other than a kind.
const (
	SandboxAuto = "auto" // the first that works: bubblewrap, landlock
	SandboxOff  = "off"
	// SandboxContainer runs commands by podman or docker.
	SandboxContainer = "container"
)

// TaskEnforcer says which tools an agent may call only while it works on a task.
type TaskEnforcer struct {
	Enabled bool
	Tools   []string // names, patterns and groups, as in ToolPolicy, and group:mcp-changes
}

// PlanGate says which tools an agent may call only according to an approved plan. Plans may request these tools even
// if the gate is disabled.
type PlanGate struct {
	Enabled bool
	Tools   []string // names, patterns and groups, as in ToolPolicy, and group:mcp-changes
}

// CallApprovals says which single calls of tools are made, which wait for a decision of a person, and which are refused. Without a rule
// that matches, a call is made.
type CallApprovals struct {
	Rules   []CallRule    // the first that matches counts
	Timeout time.Duration // how long a call waits; then it is refused
}

// CallRule is a rule about calls. All of its conditions have to be met.
type CallRule struct {
	Tools     []string // names, patterns and groups, as in ToolPolicy; none means any
	Agents    []string // ids, * matches any part; none means any
	Arguments []ArgumentPattern
	Decision  string // CallAllow, CallAsk or CallDeny
}

// ArgumentPattern is a condition on an argument, in which * matches any part. Case counts. An argument that is no text is compared as JSON.
type ArgumentPattern struct{ Name, Pattern string }

// Decisions of a CallRule.
const (
	CallAllow = "allow"
	CallAsk   = "ask"
	CallDeny  = "deny"
)

// Asks reports whether any rule has calls wait for a decision.
func (a *CallApprovals) Asks() bool {
	return slices.ContainsFunc(a.Rules, func(r CallRule) bool { return r.Decision == CallAsk })
}

// AgentToAgent says whether, and to whom, agents may write.
type AgentToAgent struct {
	Enabled bool
	Allow   []string // agent ids, "*" is any
	Pairs   []AgentPair
}

// AgentPair is a rule for messages between agents. The first match takes precedence over AgentToAgent.Allow.
type AgentPair struct {
	From, To string // agent ids, * matches any part
	Allow    bool
}

// Gateway holds the settings of the WebSocket gateway.
type Gateway struct {
	Port       int
	Mode       string // local or remote
	Bind       string // loopback, auto, lan, custom or tailnet
	CustomHost string
	Auth       Auth
	Origins    []string // origins of pages on other machines that may connect; "*" is any
	PageBase   string   // path of the page of serve --control-ui; "" or /such/as
	Sinks      []Sink
	HTTP       HTTP
	Tools      ToolPolicy // for calls over HTTP: Allow extends what is allowed by default
	// WorkerLease is how long a remote worker that is silent keeps its runs; 0 is the usual time.
	WorkerLease time.Duration
}

// HTTP says which of OpenAI's endpoints are enabled.
type HTTP struct {
	ChatCompletions bool // POST /v1/chat/completions
	Responses       bool // POST /v1/responses
	// ModelErrors is how a failing model is reported: as the agent's text, or as an HTTP error.
	ModelErrors string
}

// Values of HTTP.ModelErrors.
const (
	ModelErrorsText = "text"
	ModelErrorsHTTP = "http"
)

// Auth is how clients of the gateway authenticate.
type Auth struct {
	Mode     string // "", token, password, none or trusted-proxy
	Token    Secret
	Password Secret
	Worker   Secret // with which remote workers connect, and nothing else; "": none may
}

// Sink mirrors agents' conversations elsewhere.
type Sink struct {
	ID      string
	Enabled bool
	Discord SinkDiscord
	Webhook SinkWebhook // SinkOfWebhook only
}

// Supported sinks.
const (
	SinkOfDiscord = "discord-conversation"
	SinkOfWebhook = "webhook"
)

// SinkDiscord are the options of SinkOfDiscord.
type SinkDiscord struct {
	GuildID        string
	DefaultChannel string
	ReportChannel  string
	RouterAccount  string // account that opens threads: by default the one called ruda, else the first enabled one; "" if there is none
	MessageAccount string
	NotifyUsers    []string
	ArchivePolicy  string // never, 24h, 3d or 7d
}

// SinkWebhook are the options of SinkOfWebhook.
type SinkWebhook struct {
	URL    Secret   // may contain credentials
	Token  Secret   // bearer token; may be ""
	Events []string // types, or families such as a2a.*; none means those of the Discord sink
}

// TaskMonitor are the settings of the Task-Monitor API. Flags and TASK_MONITOR_* variables take precedence.
type TaskMonitor struct {
	Host           string
	Port           int
	WriteToken     Secret
	ReadToken      Secret // "": reading needs no token
	AllowedOrigins []string
	TaskHubURL     string
}

// UI are the settings of Task-Hub, the web page.
type UI struct{ Viewers []Viewer }

// Viewer may read Task-Hub, and no more.
type Viewer struct {
	Name  string // unique, ignoring case
	Token Secret // unique, at least 16 characters
}
