package monitor

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/health"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections/index"
	"github.com/pronto-lab/openclawd/projections/search"
	"github.com/pronto-lab/openclawd/workspace"
)

// Store is the part of the log that the API needs.
type Store interface {
	// View calls read in one read transaction.
	View(ctx context.Context, read func(*sql.Tx) error) error
	// ViewMarked is View with the mark of the state that read sees; the zero Mark if that is unknown.
	ViewMarked(ctx context.Context, read func(*sql.Tx, eventstore.Mark) error) error
	// EventsIn reads events by seq, in that order; unknown ones are left out.
	EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)
	Head(ctx context.Context) (eventstore.Head, error)
	// Mark names the state of the log and its tables; the zero Mark if that is unknown.
	Mark() eventstore.Mark
	// Wait blocks until the log's head is at least seq.
	Wait(ctx context.Context, seq int64) (int64, error)
	eventstore.Appender
}

// Options of New. Store and Rules are required.
type Options struct {
	Store   Store
	Rules   coordination.Rules
	Now     func() time.Time // default: time.Now
	Version string           // shown by GET /api
	// Durability is the durability of acknowledged appends, and Importing the progress of running imports; both are
	// shown by health.
	Durability string
	Importing  func() (done, total int64, running bool)
	Logger     *slog.Logger
	Settings   // in force until Configure is called
	// Workspace is the state directory whose files are read and written; default: a missing one.
	Workspace *workspace.Dir

	Search *search.Index // nil: no search

	SQL        SQL           // nil, or no AdminToken: SQL is off
	AdminToken config.Secret // required for SQL, and for profiles where it is set

	// Limits per answer. Zero means the default.
	MaxWait   time.Duration // limits waiting for min_seq, waiting for memory, and a search
	MaxEvents int           // events in a list of work sessions; lists of events have their own limit
	MaxBytes  int           // total size of event payloads

	// Reads limits the memory of all answers, possibly shared with others; nil: budget.Default for these answers
	// alone.
	Reads *budget.Budget

	// MilestoneInterval is the interval of polling Task-Hub's milestones while clients are connected to /ws; negative:
	// never.
	MilestoneInterval time.Duration

	OwnTasks *OwnTasks // nil: another gateway stores the tasks, in files in Workspace
	NoFiles  bool      // past contents of those files are unknown: answers about another gateway's tasks are refused

	Work  Work  // nil: no agents run here, and the work queue cannot be changed
	Flows Flows // likewise for flows between agents
	// Policy says what one agent may do with another, by ids; nil: unknown. Its errors are *policy.NoAgentError, or internal.
	Policy func(from, to string) (policy.Policy, error)
	// PolicyMatrix says, without texts, what Policy says of the first configured agents, at most so many; with a from, and with texts, what
	// it says of this one towards all. nil: unknown. Its errors are those of Policy.
	PolicyMatrix func(from string, most int) (policy.Matrix, error)

	Backup     func(context.Context) (Copy, error) // nil: no backups are made here
	Backups    Backups                             // nil: none are listed here
	Stored     StoredFiles                         // files of messages; nil: none are kept here
	Redactions Redactions                          // nil: nothing is redacted here

	Configuration Configuration // nil: none is read here

	Cluster Cluster // nil: this server is no node of a cluster

	Approvals Approvals // nil: another gateway runs the agents, and no approvals are decided here
	Operator  Operator  // likewise for tasks
	Pairings  Pairings  // likewise for people who ask to write to agents
	Schedules Schedules // likewise for scheduled jobs
	Tools     Tools     // likewise for tools: the rights and the MCP servers are unknown
	// Reminders says when unanswered requests in a place are followed up; nil: unknown.
	Reminders func(place string) response.Policy
	// Continuation returns an agent's next continuation step; nil: no agent is continued automatically here.
	Continuation Explain

	// Names replaces mentions in a text by the names the bots know; others stay. nil: no bots run here, and the
	// configuration's names are used.
	Names func(text string) string
	Bots  func() []health.Bot // the bots of all channels, Discord's first; nil: none run here

	Operations Operations // reports of the surrounding program

	Past   Past   // nil: as_of is refused
	Replay Replay // nil: points of the log are not compared here

	Push push.Options // limits of /ws; Now, Logger and Version are shared

	then *Moment // the snapshot's event; nil: the current state
}

// Defaults of Options.
const (
	DefaultMaxWait   = 5 * time.Second
	DefaultMaxEvents = 20_000
	DefaultMaxBytes  = 32 << 20

	DefaultMilestoneInterval = 30 * time.Second
)

// maxBodyBytes is the size limit of a request body. Reads ignore bodies.
const maxBodyBytes = 1 << 20

// Server answers requests. It is safe for concurrent use.
type Server struct {
	opts     Options
	settings atomic.Pointer[Settings]
	echo     *echo.Echo
	hub      *push.Hub
	taskHub  *taskhub.Client

	backupJobs *backupJobs
	checking   checking
	profiling  sync.Mutex // held while a profile that covers a time is taken

	kept     keptAnswers
	rendered renderings
	rosters  index.Rosters
	tables   atomic.Pointer[healthTables]
}

// New returns a server, ready to answer.
func New(opts Options) *Server {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	opts.MaxWait = cmp.Or(opts.MaxWait, DefaultMaxWait)
	opts.MaxEvents = cmp.Or(opts.MaxEvents, DefaultMaxEvents)
	opts.MaxBytes = cmp.Or(opts.MaxBytes, DefaultMaxBytes)
	if opts.Reads == nil {
		opts.Reads = budget.New(budget.Default)
	}
	if opts.Workspace == nil {
		opts.Workspace = workspace.New("", workspace.Options{})
	}
	opts.MilestoneInterval = cmp.Or(opts.MilestoneInterval, DefaultMilestoneInterval)
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts, echo: echo.New(), backupJobs: newBackupJobs()}
	s.taskHub = s.newTaskHub()
	s.Configure(opts.Settings)
	s.hub = newHub(opts)
	s.echo.HTTPErrorHandler = s.refuse
	s.echo.Pre(survive, s.admit, s.share, s.closeToOthers, onlyLive, unchanging)
	s.register(s.routes())
	return s
}

// Run does the background work until ctx ends. The server also answers without it.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var polling sync.WaitGroup
	polling.Go(func() { s.pollMilestones(ctx) })
	polling.Go(func() { s.backupJobs.run(ctx) })
	defer polling.Wait()
	defer stop()
	return s.hub.Run(ctx)
}

// Handler serves all paths of the API. It expects a server that limits headers and timeouts.
func (s *Server) Handler() http.Handler { return http.MaxBytesHandler(s.echo, maxBodyBytes) }

func (s *Server) routes() []endpoint {
	return append(s.channelPaths(), []endpoint{
		{"", "/", "", s.describe},
		{"", "/api", "", s.describe},
		{"", "/api/openapi.yaml", "GET /api/openapi.yaml", s.describeFully},
		{"", "/api/health", "GET /api/health", s.health},
		{"", "/api/status", "GET /api/status", s.status},
		{"", problemsPath, "GET /api/problems", s.listProblems},
		{"", countsPath, "GET /api/counts", s.counts},
		{"", "/healthz", "GET /healthz", s.alive},
		{"", "/readyz", "GET /readyz", s.ready},
		{"", "/metrics", "GET /metrics", s.metrics},
		{"", "/api/events", "GET /api/events", s.listEvents},
		{"", histogramPath, "GET /api/events/histogram", s.countEvents},
		{"", eventsPath + "/*", "GET /api/events/:seq", s.showEvent},
		{"", "/api/events/search", "GET /api/events/search", s.searchEvents},
		{"", "/api/work-sessions", "GET /api/work-sessions", s.listSessions},
		{"", "/api/work-sessions/search", "GET /api/work-sessions/search", s.searchSessions},
		{"", "/api/work-sessions/*", "GET /api/work-sessions/:id", s.showSession},
		{"", "/api/work-sessions/*" + categoryTail, "GET /api/work-sessions/:id/category", s.showCategory},
		{http.MethodPatch, "/api/work-sessions/*" + categoryTail, "PATCH /api/work-sessions/:id/category", s.setCategory},
		{http.MethodDelete, "/api/work-sessions/*" + categoryTail, "DELETE /api/work-sessions/:id/category", s.clearCategory},
		{"", "/api/categories", "GET /api/categories", s.listCategories},
		{"", agentsPath, "GET /api/agents", s.listAgents},
		{"", agentsPath + "/*", "", s.showAgent},
		{"", agentsPath + "/*/info", "GET /api/agents/:id/info", s.showAgent},
		{"", agentsPath + "/*/tasks", "GET /api/agents/:id/tasks", s.showAgent},
		{"", agentsPath + "/*/tasks/", "GET /api/agents/:id/tasks/:taskId", s.showAgent},
		{"", agentsPath + "/*/current", "GET /api/agents/:id/current", s.showAgent},
		{"", agentsPath + "/*/history", "GET /api/agents/:id/history", s.showAgent},
		{"", agentsPath + "/*/blocked", "GET /api/agents/:id/blocked", s.showAgent},
		{"", agentsPath + "/*/plans", "GET /api/agents/:id/plans", s.showAgent},
		{"", agentsPath + "/*/continuation", "GET /api/agents/:id/continuation", s.showAgent},
		{"", "/api/continuation", "GET /api/continuation", s.listContinuations},
		{"", approvalsPath, "GET /api/approvals", s.listApprovals},
		{"", approvalsPath + "/*", "GET /api/approvals/:id", s.showApproval},
		{"", pairingsPath, "GET /api/pairings", s.listPairings},
		{http.MethodPost, pairingsApproving, "POST /api/pairings/approve", s.approvePairing},
		{http.MethodPost, pairingsRevoking, "POST /api/pairings/revoke", s.revokePairing},
		{http.MethodPost, approvalsPath + "/*" + approveTail, "POST /api/approvals/:id/approve", s.approve},
		{http.MethodPost, approvalsPath + "/*" + rejectTail, "POST /api/approvals/:id/reject", s.reject},
		{http.MethodPost, approvalsPath + "/*" + alwaysTail, "POST /api/approvals/:id/always", s.approveAlways},
		{http.MethodPost, approvalsPath + "/*" + forgetTail, "POST /api/approvals/:id/forget", s.forgetPermission},
		{"", owedPath, "GET /api/owed", s.listOwed},
		{"", "/api/team-state", "GET /api/team-state", s.showTeamState},
		{"", taskListPath, "GET /api/tasks", s.listAllTasks},
		{"", taskListPath + "/*", "GET /api/tasks/:id", s.showAnyTask},
		{http.MethodPost, taskListPath + "/*" + cancelTail, "POST /api/tasks/:id/cancel", s.cancelTask},
		{http.MethodPost, taskListPath + "/*" + unblockTail, "POST /api/tasks/:id/unblock", s.unblockTask},
		{http.MethodPost, taskListPath + "/*" + reassignTail, "POST /api/tasks/:id/reassign", s.reassignTask},
		{http.MethodPost, taskListPath + "/*" + priorityTail, "POST /api/tasks/:id/priority", s.prioritiseTask},
		{http.MethodPost, rewritePath, "POST /api/tasks/rewrite", s.rewriteTasks},
		{"", workspaceFilePath, "", nothing},
		{http.MethodPost, workspaceFilePath, "POST /api/workspace-file", s.writeFile},
		{"", milestonesPath, "GET /api/milestones", s.milestones},
		{"", milestonesPath + "/*", "GET /api/milestones/*", s.milestones},
		{"", runsPath, "GET /api/runs", s.listRuns},
		{"", runsPath + "/*", "GET /api/runs/:id", s.showRun},
		{"", flowsPath, "GET /api/a2a/jobs", s.listFlows},
		{"", flowsPath + "/*", "GET /api/a2a/jobs/:id", s.showFlow},
		{http.MethodPost, flowsPath + "/*" + cancelTail, "POST /api/a2a/jobs/:id/cancel", s.cancelFlow},
		{"", handoffsPath, "GET /api/a2a/handoffs", s.listHandoffs},
		{"", policyPath, "GET /api/a2a/policy", s.showPolicy},
		{"", matrixPath, "GET /api/a2a/policy/matrix", s.showPolicyMatrix},
		{"", tracePath + "/*", "GET /api/trace/:id", s.showTrace},
		{"", schedulesPath, "GET /api/schedules", s.listJobs},
		{"", schedulesPath + "/*", "GET /api/schedules/:id", s.showJob},
		{"", schedulesPath + "/*" + runsTail, "GET /api/schedules/:id/runs", s.listJobRuns},
		{http.MethodPost, schedulesPath + "/*" + runTail, "POST /api/schedules/:id/run", s.runJob},
		{http.MethodPost, schedulesPath + "/*" + pauseTail, "POST /api/schedules/:id/pause", s.pauseJob},
		{http.MethodPost, schedulesPath + "/*" + resumeTail, "POST /api/schedules/:id/resume", s.resumeJob},
		{"", toolCallsPath, "GET /api/tools/calls", s.listToolCalls},
		{"", rightsPath, "GET /api/tools/rights", s.showRights},
		{"", mcpServersPath, "GET /api/mcp/servers", s.listMCPServers},
		{"", sandboxesPath, "GET /api/sandboxes", s.listSandboxes},
		{"", migrationsPath, "GET /api/migrations", s.listMigrations},
		{"", workPath, "GET /api/work", s.listWork},
		{http.MethodPost, workPath + "/*" + resendTail, "POST /api/work/:effectId/resend", s.resendWork},
		{http.MethodPost, workPath + "/*" + cancelTail, "POST /api/work/:effectId/cancel", s.cancelWork},
		{"", routingPath, "GET /api/routing", s.listRouting},
		{"", routingPath + "/*", "GET /api/routing/:messageId", s.showRouting},
		{"", redactionsPath, "GET /api/redactions", s.listRedactions},
		{"", redactionsPath + "/*", "GET /api/redactions/:id", s.showRedaction},
		{http.MethodPost, redactionsPath, "POST /api/redactions", s.redact},
		{"", backupsPath, "GET /api/backups", s.listBackups},
		{http.MethodPost, backupsPath, "POST /api/backups", s.backUp},
		{http.MethodPost, backupsPath + "/*" + verifyTail, "POST /api/backups/:name/verify", s.verifyBackup},
		{"", storedPath + "/*", "GET /api/files/:sha256", s.showStored},
		{"", clusterPath, "GET /api/cluster", s.showCluster},
		{http.MethodPost, clusterPath + "/step-down", "POST /api/cluster/step-down", s.stepDown},
		{http.MethodPost, clusterPath + "/promote", "POST /api/cluster/promote", s.promote},
		{"", configPath + "/check", "GET /api/config/check", s.checkConfig},
		{"", configPath + "/effective", "GET /api/config/effective", s.showConfig},
		{"", collaborationsPath, "GET /api/collaborations", s.listCollaborations},
		{"", collaborationsPath + "/*", "GET /api/collaborations/:id", s.showCollaboration},
		{http.MethodPost, sqlPath, "POST /api/sql", s.askSQL},
		{"", sqlPath + "/schema", "GET /api/sql/schema", s.asAdmin(s.showSchema)},
		{"", replayDiffPath, "GET /api/replay/diff", s.replayDiff},
		{"", replayStepPath, "GET /api/replay/step", s.replayStep},
		{"", replayPointPath, "GET /api/replay/point", s.replayPoint},
		{"", livePath, "GET /ws", s.live},
		{"", profilesPath + "*", "GET /debug/pprof/:name", s.asProfiler(s.showProfile)},
	}...)
}

// survive turns a panic into an error of its request.
func survive(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
			}
		}()
		return next(c)
	}
}
