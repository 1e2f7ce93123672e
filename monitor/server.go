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
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/budget"
	"github.com/pronto-lab/openclawd/internal/taskhub"
	"github.com/pronto-lab/openclawd/monitor/push"
	"github.com/pronto-lab/openclawd/projections/search"
	"github.com/pronto-lab/openclawd/workspace"
)

// Store is what the API needs of the log.
type Store interface {
	// View runs read in one read transaction.
	View(ctx context.Context, read func(*sql.Tx) error) error
	// EventsIn reads events by their seqs, in that order; unknown ones are left out.
	EventsIn(ctx context.Context, tx *sql.Tx, seqs []int64) ([]eventstore.Event, error)
	Head(ctx context.Context) (eventstore.Head, error)
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
	// Durability is what an acknowledged append has survived, and Importing how far the import of logs under way is; both for health.
	Durability string
	Importing  func() (done, total int64, running bool)
	Logger     *slog.Logger
	Settings   // in force until Configure is called
	// Workspace is the state directory whose files are shown and written; default: one that is not there.
	Workspace *workspace.Dir

	Search *search.Index // nil: the search endpoints say that there is no search

	SQL        SQL           // nil, or without an AdminToken: nobody asks SQL here
	AdminToken config.Secret // that whoever asks SQL has to show

	// Bounds of one answer. Zero means the default.
	MaxWait   time.Duration // how long min_seq waits for the log, a read for others that hold too much, and a search may take
	MaxEvents int           // in a list of work sessions; of events there is a limit in every request
	MaxBytes  int           // of the payloads of events

	// Reads is what all answers may hold together, with others that share it; nil: budget.Default for these answers alone.
	Reads *budget.Budget

	// MilestoneInterval is how often Task-Hub is asked whether its milestones have changed, while somebody is on /ws; negative: never.
	MilestoneInterval time.Duration

	OwnTasks *OwnTasks // nil: another gateway keeps the tasks, and its files in Workspace say how they stand
	NoFiles  bool      // what those files said is nowhere: answers about tasks of another gateway are refused

	Work  Work  // nil: no agents run here, and nothing can be done about what waits
	Flows Flows // likewise about flows between agents
	// Policy says what one agent may do with another, both by their ids; nil: nobody knows. Its errors are *NoAgentError, or are not told.
	Policy func(from, to string) (Policy, error)

	Backup     func(context.Context) (Copy, error) // nil: no backups are made here
	Redactions Redactions                          // nil: nothing is redacted here

	Approvals Approvals // nil: another gateway produces, and nothing is decided here
	// Continuation says what would be done about an agent now so that it goes on with its tasks; nil: nobody is kept going here.
	Continuation Explain

	// Names writes names for Discord's mentions in a text, as far as our bots know them; other mentions stay. nil: no bots run here, and there are the
	// names of the configuration.
	Names func(text string) string
	Bots  func() []BotStatus // our bots in Discord; nil: none run here

	Operations Operations // what the program around the API tells operators

	Past Past // nil: as_of is refused

	Push push.Options // bounds of /ws; Now, Logger and Version are those of the other answers

	then *Moment // of answers as of an event; nil: answers are as of now
}

// Defaults of Options.
const (
	DefaultMaxWait   = 5 * time.Second
	DefaultMaxEvents = 20_000
	DefaultMaxBytes  = 32 << 20

	DefaultMilestoneInterval = 30 * time.Second
)

// maxBodyBytes bounds the body of a request. Reads ignore it.
const maxBodyBytes = 1 << 20

// Server answers requests. It is safe for concurrent use.
type Server struct {
	opts     Options
	settings atomic.Pointer[Settings]
	echo     *echo.Echo
	hub      *push.Hub
	taskHub  *taskhub.Client
}

// New returns a server that is ready to answer.
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
	s := &Server{opts: opts, echo: echo.New()}
	s.taskHub = s.newTaskHub()
	s.Configure(opts.Settings)
	s.hub = newHub(opts)
	s.echo.HTTPErrorHandler = s.refuse
	s.echo.Pre(survive, s.admit, s.share, onlyLive, unchanging)
	s.place(s.routes())
	return s
}

// Run does what goes on without being asked, until ctx ends. A server that does not run answers all the same.
func (s *Server) Run(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	var polling sync.WaitGroup
	polling.Go(func() { s.pollMilestones(ctx) })
	defer polling.Wait()
	defer stop()
	return s.hub.Run(ctx)
}

// Handler answers every path of the API. It expects a server that bounds headers and waits.
func (s *Server) Handler() http.Handler { return http.MaxBytesHandler(s.echo, maxBodyBytes) }

func (s *Server) routes() []route {
	return []route{
		{"", "/", "", s.describe},
		{"", "/api", "", s.describe},
		{"", "/api/openapi.yaml", "GET /api/openapi.yaml", s.describeFully},
		{"", "/api/health", "GET /api/health", s.health},
		{"", "/api/status", "GET /api/status", s.status},
		{"", "/healthz", "GET /healthz", s.alive},
		{"", "/readyz", "GET /readyz", s.ready},
		{"", "/metrics", "GET /metrics", s.metrics},
		{"", "/api/events", "GET /api/events", s.listEvents},
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
		{http.MethodPost, approvalsPath + "/*" + approveTail, "POST /api/approvals/:id/approve", s.approve},
		{http.MethodPost, approvalsPath + "/*" + rejectTail, "POST /api/approvals/:id/reject", s.reject},
		{"", "/api/team-state", "GET /api/team-state", s.showTeamState},
		{"", taskListPath, "GET /api/tasks", s.listAllTasks},
		{"", taskListPath + "/*", "GET /api/tasks/:id", s.showAnyTask},
		{http.MethodPost, taskListPath + "/rewrite", "POST /api/tasks/rewrite", s.rewriteTasks},
		{"", workspaceFilePath, "", nothing},
		{http.MethodPost, workspaceFilePath, "POST /api/workspace-file", s.writeFile},
		{"", milestonesPath, "GET /api/milestones", s.milestones},
		{"", milestonesPath + "/*", "GET /api/milestones/*", s.milestones},
		{"", "/api/runs", "GET /api/runs", s.listRuns},
		{"", flowsPath, "GET /api/a2a/jobs", s.listFlows},
		{"", flowsPath + "/*", "GET /api/a2a/jobs/:id", s.showFlow},
		{http.MethodPost, flowsPath + "/*" + cancelTail, "POST /api/a2a/jobs/:id/cancel", s.cancelFlow},
		{"", handoffsPath, "GET /api/a2a/handoffs", s.listHandoffs},
		{"", policyPath, "GET /api/a2a/policy", s.showPolicy},
		{"", tracePath + "/*", "GET /api/trace/:id", s.showTrace},
		{"", workPath, "GET /api/work", s.listWork},
		{http.MethodPost, workPath + "/*" + resendTail, "POST /api/work/:effectId/resend", s.resendWork},
		{http.MethodPost, workPath + "/*" + cancelTail, "POST /api/work/:effectId/cancel", s.cancelWork},
		{"", routingPath, "GET /api/routing", s.listRouting},
		{"", routingPath + "/*", "GET /api/routing/:messageId", s.showRouting},
		{"", discordThreadsPath, "GET /api/discord/threads", s.listThreads},
		{"", discordObservedPath, "GET /api/discord/observed", s.listObserved},
		{"", discordPostsPath, "GET /api/discord/posts", s.listPosts},
		{"", redactionsPath, "GET /api/redactions", s.listRedactions},
		{"", redactionsPath + "/*", "GET /api/redactions/:id", s.showRedaction},
		{http.MethodPost, redactionsPath, "POST /api/redactions", s.redact},
		{http.MethodPost, backupsPath, "POST /api/backups", s.backUp},
		{"", "/api/discord/bots", "GET /api/discord/bots", s.listBots},
		{"", collaborationsPath, "GET /api/collaborations", s.listCollaborations},
		{"", collaborationsPath + "/*", "GET /api/collaborations/:id", s.showCollaboration},
		{http.MethodPost, sqlPath, "POST /api/sql", s.asAdmin(s.askSQL)},
		{"", sqlPath + "/schema", "GET /api/sql/schema", s.asAdmin(s.showSchema)},
		{"", livePath, "GET /ws", s.live},
	}
}

// survive makes a panic an error of its request.
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
