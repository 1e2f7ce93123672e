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

	"github.com/pronto-lab/openclawd/eventstore"
)

// Past is where the API finds how things stood at an event of the log.
type Past interface {
	// At is how things stood at event seq, which is in the log. release is called when the answer has been written; until then the moment stays.
	// While it is still being made, moment is nil and there is nothing to release; making says how far it is.
	// Errors: ErrPastBusy, *eventstore.DiskFullError, eventstore.ErrClosed; others say that it cannot be made.
	At(ctx context.Context, seq int64) (moment *Moment, release func(), making Making, err error)
}

// ErrPastBusy is returned by Past.At when so many moments wait to be made that another one is not taken.
var ErrPastBusy = errors.New("too many moments wait to be made")

// Making is how far a moment is that is being made.
type Making struct {
	Done   int64 `json:"done"`   // events that are folded
	Total  int64 `json:"total"`  // of so many
	Before int   `json:"before"` // moments that are made before it
}

// Moment is how things stood at an event. It belongs to one Server, and is not copied.
type Moment struct {
	Seq   int64
	Now   time.Time // what the clock showed: when the event was recorded
	Store Store     // the log up to that event, with its tables

	// Team and Home are those of OwnTasks, Policy and Continuation those of Options, all by the configuration that was in force. Team is nil where the log
	// does not hold that as a whole.
	Team         func() []Member
	Home         func(agent string) string
	Policy       func(from, to string) (Policy, error)
	Continuation Explain

	once   sync.Once
	server *Server
}

const (
	parameterAsOf = "as_of"
	codeNotThen   = "as_of_not_supported"
)

// Why there is no answer as of an event.
const (
	whyForeignFiles = "another gateway keeps tasks and plans in files, and what stood in them is not in the log"
	whyNoSettings   = "the log does not hold the whole configuration that was in force"
)

// onlyNow says why a path has no answer as of an event; "" for one that has.
func onlyNow(path string) (why string) {
	switch path {
	case "/api/health", "/api/status", "/healthz", "/readyz", "/metrics":
		return "it says how the program stands, which is not in the log"
	case milestonesPath, milestonesPath + "/*":
		return "milestones are Task-Hub's"
	case livePath:
		return "it tells of what happens from now on; since says from where"
	case sqlPath, sqlPath + "/schema":
		return "SQL asks what is there now; openclawd sql --as-of asks the past"
	case "/api/discord/bots":
		return "how bots are connected is not in the log"
	}
	return ""
}

// notThen refuses to answer as of an event.
func notThen(why string) *problem {
	return &problem{Status: http.StatusBadRequest, Code: codeNotThen, Field: parameterAsOf, Message: "There is no answer as of an event here: " + why,
		Hint: "ask without as_of"}
}

// timely makes a way to read answer as of an event too, where as_of names one.
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
			return notThen("this server shows one moment only")
		case minSeq > seq:
			p.refuse("min_seq", p.first("min_seq"), fmt.Sprintf("give at most as_of, which is %d, or leave it out", seq))
			return p.err
		}
		return s.answerAsOf(c, seq)
	}
}

// fromAfar reports whether a browser has sent a request for a page that may not read the answer.
func (s *Server) fromAfar(r *http.Request) bool {
	if origin := r.Header.Get("Origin"); origin != "" {
		return !isSame(origin, r) && !s.shares(origin)
	}
	return r.Header.Get("Sec-Fetch-Site") == "cross-site"
}

// making answers a request as of an event whose moment is still being made.
type making struct {
	Message string `json:"message"`
	Code    string `json:"code"`
	AsOf    int64  `json:"asOf"`
	Making
}

// answerAsOf answers a request as a server would have whose log ended with event seq.
func (s *Server) answerAsOf(c echo.Context, seq int64) error {
	r := c.Request()
	if s.fromAfar(r) {
		return &problem{Status: http.StatusForbidden, Code: "origin_refused", Field: "Origin", Message: "Pages of other sites may not ask for the past",
			Hint: "add the page's origin, or its host, to those that are allowed"}
	}
	head, err := s.opts.Store.Head(r.Context())
	if err != nil {
		return err
	}
	if seq > head.Seq {
		return &problem{Status: http.StatusNotFound, Code: "no_such_point", Field: parameterAsOf, Message: fmt.Sprintf("There is no event %d", seq),
			Hint: fmt.Sprintf("the log ends at %d; min_seq waits for an event that is to come", head.Seq)}
	}
	moment, release, far, err := s.opts.Past.At(r.Context(), seq)
	switch {
	case errors.Is(err, ErrPastBusy):
		return &problem{Status: http.StatusServiceUnavailable, Code: "busy", Field: parameterAsOf, Message: "Too many moments wait to be made",
			Hint: "wait for those that were asked for", RetryAfter: 5}
	case err != nil:
		return s.unmade(c, seq, err)
	case moment == nil:
		h := c.Response().Header()
		h.Set("Retry-After", "1")
		h.Set(headerAsOf, strconv.FormatInt(seq, 10))
		h.Set("Cache-Control", "no-store")
		return writeJSON(c, http.StatusAccepted, making{fmt.Sprintf("How things stood at event %d is being made; ask again", seq), "building", seq, far})
	}
	defer release()
	moment.once.Do(func() { moment.server = s.then(moment) })
	moment.server.echo.ServeHTTP(c.Response(), r)
	return nil
}

// unmade refuses to answer as of an event whose moment cannot be made.
func (s *Server) unmade(c echo.Context, seq int64, err error) error {
	p := s.problemOf(err, c)
	if p == nil || p.Code != "internal" {
		return err
	}
	p = &problem{Status: http.StatusInternalServerError, Code: "past_failed", Field: parameterAsOf,
		Message: fmt.Sprintf("How things stood at event %d cannot be made", seq), Hint: "the log of the server says why; openclawd verify says more"}
	if archived, is := errors.AsType[*eventstore.ArchivedError](err); is {
		p.Code, p.Message, p.Hint = archived.Code(), archived.Error(), archived.Hint()
	}
	return p
}

// then is a server that reads as of a moment. It changes nothing, and what only the program knows is not in its answers.
func (s *Server) then(m *Moment) *Server {
	opts := s.opts
	opts.then, opts.Store, opts.Now = m, m.Store, func() time.Time { return m.Now }
	if opts.OwnTasks != nil {
		opts.OwnTasks = &OwnTasks{Team: m.Team, Home: m.Home}
	}
	if opts.Policy != nil {
		opts.Policy = m.policy
	}
	if opts.Continuation != nil {
		opts.Continuation = m.explain
	}
	then := &Server{opts: opts, echo: echo.New()}
	then.settings.Store(s.settings.Load())
	then.echo.HTTPErrorHandler = then.refuse
	then.echo.Pre(survive)
	then.place(then.routes())
	return then
}

func (m *Moment) policy(from, to string) (Policy, error) {
	if m.Policy == nil {
		return Policy{}, notThen(whyNoSettings)
	}
	return m.Policy(from, to)
}

func (m *Moment) explain(ctx context.Context, tx *sql.Tx, agent string) (Explained, bool, error) {
	if m.Continuation == nil {
		return Explained{}, false, notThen(whyNoSettings)
	}
	return m.Continuation(ctx, tx, agent)
}

// knowsTasks refuses an answer about tasks or agents where the log does not tell how these stood.
func (o *Options) knowsTasks() error {
	switch {
	case o.NoFiles && o.OwnTasks == nil:
		return &problem{Status: http.StatusBadRequest, Code: codeNotThen, Message: "There is no answer of the past here: " + whyForeignFiles,
			Hint: "ask the server that serves the present"}
	case o.then == nil:
		return nil
	case o.OwnTasks == nil:
		return notThen(whyForeignFiles)
	case o.OwnTasks.Team == nil:
		return notThen(whyNoSettings)
	}
	return nil
}

// unchanging refuses to change what has been.
func unchanging(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Method != http.MethodGet && r.Method != http.MethodHead && parametersOf(c).first(parameterAsOf) != "" {
			return notThen("what has been cannot be changed")
		}
		return next(c)
	}
}
