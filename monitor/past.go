package monitor

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination/continuation"
	"github.com/pronto-lab/openclawd/coordination/policy"
	"github.com/pronto-lab/openclawd/coordination/response"
	"github.com/pronto-lab/openclawd/coordination/snapshot"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Past provides snapshots of the state at earlier events.
type Past interface {
	// At returns the snapshot at event seq, which is in the log. release is called after the answer has been written;
	// the snapshot stays until then. It may wait a little for one that is being built; if that is not enough, ready is
	// false, there is nothing to release, and progress says how far it is. Errors: snapshot.ErrBusy, *eventstore.DiskFullError, eventstore.ErrClosed; others mean that it
	// cannot be built.
	At(ctx context.Context, seq int64) (moment *Moment, release func(), progress snapshot.Progress, ready bool, err error)
}

// Moment is a snapshot of the state at an event. It belongs to one Server and must not be copied.
type Moment struct {
	Seq   int64
	Now   time.Time // its time: when the event was recorded
	Store Store     // the log up to that event, with its tables

	// Team and Home are those of OwnTasks, Policy, PolicyMatrix, Continuation and Reminders those of Options, by the configuration then in
	// force. Team is nil if the log does not contain that configuration completely.
	Team         func() []config.Agent
	Home         func(agent string) string
	Policy       func(from, to string) (policy.Policy, error)
	PolicyMatrix func(from string, most int) (policy.Matrix, error)
	Continuation Explain
	Reminders    func(place string) response.Policy

	SQL SQL // nil: SQL is off

	once   sync.Once
	server *Server
}

const (
	parameterAsOf = "as_of"
	codeNotThen   = "as_of_not_supported"
)

// Reasons for no answer as of an event.
const (
	whyForeignFiles = "another gateway stores tasks and plans in files, whose past contents are not in the log"
	whyNoSettings   = "the log does not contain the complete configuration that was in force"
)

// onlyNow returns why a path has no answer as of an event; "" if it has one.
func onlyNow(path string) (why string) {
	switch path {
	case "/api/health", "/api/status", "/healthz", "/readyz", "/metrics", profilesPath + "*":
		return "it reports the program's state, which is not in the log"
	case milestonesPath, milestonesPath + "/*":
		return "milestones belong to Task-Hub"
	case livePath:
		return "it sends events from now on; since gives the start"
	case sqlPath + "/schema":
		return "the tables and views are the same at every event"
	case backupsPath:
		return "backups are not in the log"
	case storedPath + "/*":
		return "files lie beside the log, and never change"
	case configPath + "/check", configPath + "/effective":
		return "files of the configuration are not in the log"
	case replayDiffPath, replayStepPath, replayPointPath:
		return "the points of the log are in its own parameters"
	case mcpServersPath:
		return "the connections to MCP servers are not in the log"
	case rightsPath:
		return "the tools of MCP servers are not in the log"
	case discordPath + botsTail, channelsPath + "/*" + botsTail, channelsPath:
		return "the bots' connections are not in the log"
	}
	return ""
}

// notThen refuses to answer as of an event.
func notThen(why string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: codeNotThen, Field: parameterAsOf, Message: "No answer as of an event here: " + why,
		Hint: "ask without as_of"}
}

func (s *Server) timely(path string, answer echo.HandlerFunc) echo.HandlerFunc {
	if s.opts.then != nil || path == workspaceFilePath {
		return answer
	}
	why := onlyNow(path)
	return func(c echo.Context) error {
		p := parametersOf(c)
		if p.first(parameterAsOf) == "" {
			return answer(c)
		}
		seq := p.integer(parameterAsOf, 0, 0, math.MaxInt64)
		minSeq := p.minSeq()
		switch {
		case why != "":
			return notThen(why)
		case p.err != nil:
			return p.err
		case s.opts.Past == nil:
			return notThen("this server shows one snapshot only")
		case minSeq > seq:
			p.refuse("min_seq", p.first("min_seq"), fmt.Sprintf("give at most as_of, which is %d, or leave it out", seq))
			return p.err
		}
		return s.answerAsOf(c, seq)
	}
}

// fromAfar reports whether a browser sent the request for a page that may not read the answer.
func (s *Server) fromAfar(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		return !isSame(origin, r) && !s.shares(origin)
	}
	return r.Header.Get("Sec-Fetch-Site") == "cross-site"
}

// snapshotPending answers a request as of an event while the snapshot is being built.
type snapshotPending struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	AsOf    int64  `json:"asOf"`
	snapshot.Progress
}

// answerAsOf answers a request like a server whose log ends at event seq.
func (s *Server) answerAsOf(c echo.Context, seq int64) error {
	r := c.Request()
	if _, granted := grantOf(r.Context()); !granted && s.fromAfar(r) {
		return &problem{Status: http.StatusForbidden, Code: "origin_refused", Field: "Origin", Message: "Pages of other sites may not use as_of",
			Hint: "add the page's origin, or its host, to the allowed ones"}
	}
	head, err := s.opts.Store.Head(r.Context())
	if err != nil {
		return err
	}
	if seq > head.Seq {
		return &problem{Status: http.StatusNotFound, Code: "no_such_point", Field: parameterAsOf, Message: fmt.Sprintf("Event %d does not exist", seq),
			Hint: fmt.Sprintf("the log ends at %d; use min_seq to wait for a later event", head.Seq)}
	}
	moment, release, far, ready, err := s.opts.Past.At(r.Context(), seq)
	switch {
	case errors.Is(err, snapshot.ErrBusy):
		return &problem{Status: http.StatusServiceUnavailable, Code: "busy", Field: parameterAsOf, Message: "Too many snapshots are waiting to be built",
			Hint: "wait for those already requested", RetryAfter: 5}
	case err != nil:
		return s.refuseSnapshot(c, parameterAsOf, fmt.Sprintf("The snapshot at event %d cannot be built", seq), err)
	case !ready:
		return writeBuilding(c, seq, far)
	}
	defer release()
	moment.once.Do(func() { moment.server = s.then(moment) })
	moment.server.echo.ServeHTTP(c.Response(), r)
	return nil
}

// writeBuilding answers with the progress of a snapshot.
func writeBuilding(c echo.Context, seq int64, far snapshot.Progress) error {
	h := c.Response().Header()
	h.Set("Retry-After", "1")
	h.Set(headerAsOf, strconv.FormatInt(seq, 10))
	h.Set("Cache-Control", "no-store")
	return writeJSON(c, http.StatusAccepted, snapshotPending{fmt.Sprintf("The snapshot at event %d is being built; ask again", seq), "building", seq, far})
}

// refuseSnapshot refuses an answer whose snapshot cannot be built, with a message if the reason is not for clients.
func (s *Server) refuseSnapshot(c echo.Context, field, message string, err error) error {
	p := s.problemOf(err, c)
	if p == nil || p.Code != "internal" {
		return err
	}
	p = &problem{Status: http.StatusInternalServerError, Code: "past_failed", Field: field, Message: message, Hint: "see the server's log, and openclawd verify"}
	if archived, is := errors.AsType[*eventstore.ArchivedError](err); is {
		p.Code, p.Message, p.Hint = archived.Code(), archived.Error(), archived.Hint()
	}
	return p
}

// then is a read-only server for a snapshot, without the state that only the program has.
func (s *Server) then(m *Moment) *Server {
	opts := s.opts
	opts.then, opts.Store, opts.Now = m, m.Store, func() time.Time { return m.Now }
	if opts.OwnTasks != nil {
		opts.OwnTasks = &OwnTasks{Team: m.Team, Home: m.Home}
	}
	if opts.Policy != nil {
		opts.Policy = m.policy
	}
	if opts.PolicyMatrix != nil {
		opts.PolicyMatrix = m.policyMatrix
	}
	if opts.Continuation != nil {
		opts.Continuation = m.explain
	}
	opts.SQL = m.SQL
	opts.Reminders = m.Reminders
	then := &Server{opts: opts, echo: echo.New()}
	then.settings.Store(s.settings.Load())
	then.echo.HTTPErrorHandler = then.refuse
	then.echo.Pre(survive)
	then.register(then.routes())
	return then
}

func (m *Moment) policy(from, to string) (policy.Policy, error) {
	if m.Policy == nil {
		return policy.Policy{}, notThen(whyNoSettings)
	}
	return m.Policy(from, to)
}

func (m *Moment) policyMatrix(from string, most int) (policy.Matrix, error) {
	if m.PolicyMatrix == nil {
		return policy.Matrix{}, notThen(whyNoSettings)
	}
	return m.PolicyMatrix(from, most)
}

func (m *Moment) explain(ctx context.Context, tx *sql.Tx, agent string) (continuation.Explained, bool, error) {
	if m.Continuation == nil {
		return continuation.Explained{}, false, notThen(whyNoSettings)
	}
	return m.Continuation(ctx, tx, agent)
}

// knowsTasks refuses answers about tasks or agents if the log does not contain their state then.
func (o *Options) knowsTasks() error {
	switch {
	case o.NoFiles && o.OwnTasks == nil:
		return &problem{Status: http.StatusBadRequest, Code: codeNotThen, Message: "No answer about the past here: " + whyForeignFiles,
			Hint: "ask the server of the current state"}
	case o.then == nil:
		return nil
	case o.OwnTasks == nil:
		return notThen(whyForeignFiles)
	case o.OwnTasks.Team == nil:
		return notThen(whyNoSettings)
	}
	return nil
}

// unchanging refuses writes to the past.
func unchanging(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Method != http.MethodGet && r.Method != http.MethodHead && r.URL.EscapedPath() != sqlPath && parametersOf(c).first(parameterAsOf) != "" {
			return notThen("the past cannot be changed")
		}
		return next(c)
	}
}
