package monitor

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
)

// Operations is what the program around the API tells operators. Every field may be nil.
type Operations struct {
	// Reasons lists what keeps the program from doing its whole work, as of now; none: it does.
	Reasons func(context.Context) []Reason
	// Running says how the parts of the program stand that the log knows nothing of.
	Running func(context.Context) Running
	// TaskFiles says how the files of tasks are; nil where another gateway keeps them.
	TaskFiles func() *TaskFilesState
	// Metrics answers GET /metrics; nil: there is nothing there.
	Metrics http.Handler
}

// Reason is one thing that keeps the program from doing its whole work, or soon may.
type Reason struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"` // stable, e.g. projection_parked
	What     string   `json:"what"`
	Mend     string   `json:"mend"`
}

// Severity says whether a Reason keeps the program from being ready.
type Severity string

const (
	SeverityError   Severity = "error"   // answers or promises suffer: not ready
	SeverityWarning Severity = "warning" // somebody should look; what clients get is right
)

// Running is how the program around the API stands. What is nil is not done at all.
type Running struct {
	Mode      string          `json:"mode"` // produce; follow: another gateway produces
	API       string          `json:"api,omitempty"`
	StateDir  string          `json:"stateDir,omitempty"`
	StartedAt time.Time       `json:"startedAt,omitzero"`
	Gateway   *GatewayState   `json:"gateway"`
	Follow    *FollowState    `json:"follow"`
	Mirror    *MirrorState    `json:"mirror"`
	Search    *SearchState    `json:"search"`
	TaskFiles *TaskFilesState `json:"taskFiles"`
	Backup    *BackupState    `json:"backup"`
	Chain     *ChainState     `json:"chain"`
	Clients   *ClientsState   `json:"clients"`
	Config    *ConfigState    `json:"config"`
	Database  *DatabaseState  `json:"database"`
}

// GatewayState is how the WebSocket gateway is doing. Numbers but Clients are since the start.
type GatewayState struct {
	Address    string `json:"address"`
	Auth       string `json:"auth"` // what clients show: token, password, none
	Clients    int    `json:"clients"`
	Requests   int64  `json:"requests"`
	Errors     int64  `json:"errors"`  // requests that were not done
	Refused    int64  `json:"refused"` // clients that were not let in
	SlowCloses int64  `json:"slowCloses"`
	Error      string `json:"error,omitempty"` // why it has ended
}

// FollowState is how far the coordination log of another gateway has been read.
type FollowState struct {
	File     string    `json:"file"`
	Present  bool      `json:"present"`
	Behind   int64     `json:"behind"` // bytes
	Lines    int64     `json:"lines"`  // since the start
	LastLine time.Time `json:"lastLine,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// MirrorState is how far our events have been written into the coordination log.
type MirrorState struct {
	File    string `json:"file"`
	Seq     int64  `json:"seq"`
	Lag     int64  `json:"lag"`     // events
	Lines   int64  `json:"lines"`   // since the start
	Foreign bool   `json:"foreign"` // another gateway has written the file too
	Error   string `json:"error,omitempty"`
}

// SearchState is how far the search file has come.
type SearchState struct {
	Seq   int64  `json:"seq"`
	Lag   int64  `json:"lag"` // events
	Error string `json:"error,omitempty"`
}

// TaskFilesState is how far the files of tasks are as the log says. Written and Conflicts are since the start.
type TaskFilesState struct {
	Seq       int64    `json:"seq"`
	Lag       int64    `json:"lag"` // events
	Written   int64    `json:"written"`
	Conflicts int64    `json:"conflicts"`         // edits by hand that were kept aside, or undone
	Failing   int      `json:"failing"`           // tasks, months and focuses whose files cannot be written now
	Kept      []string `json:"kept,omitempty"`    // what was kept aside, ever, and nobody has removed since
	Refused   []string `json:"refused,omitempty"` // agents for whom nothing is written, and why
	Error     string   `json:"error,omitempty"`
}

// BackupState is how the backups stand.
type BackupState struct {
	Dir     string    `json:"dir"`
	Every   string    `json:"every"` // "": none is scheduled
	Last    time.Time `json:"last,omitzero"`
	LastSeq int64     `json:"lastSeq"`
	Next    time.Time `json:"next,omitzero"`
	Running bool      `json:"running"`
	Error   string    `json:"error,omitempty"`
}

// ChainState is how the checks of the log's chain stand.
type ChainState struct {
	Every   string    `json:"every"`            // "": none is scheduled
	Last    time.Time `json:"last,omitzero"`    // end of the newest one
	OK      *bool     `json:"ok"`               // whether it has found the log to be what was appended; nil: nobody knows
	Seq     int64     `json:"seq"`              // up to which it has
	TookMs  int64     `json:"tookMs"`           // rests included
	Broken  string    `json:"broken,omitempty"` // what does not hold
	Next    time.Time `json:"next,omitzero"`
	Running bool      `json:"running"`
	Error   string    `json:"error,omitempty"` // why the newest attempt came to nothing
}

// ClientsState is how the clients of /ws are doing.
type ClientsState struct {
	Connected  int   `json:"connected"`
	SlowCloses int64 `json:"slowCloses"` // since the start
}

// ConfigState is whether openclaw.json can be used as it is.
type ConfigState struct {
	File  string `json:"file"`
	Valid bool   `json:"valid"`
}

// DatabaseState is how the file stands.
type DatabaseState struct {
	File         string  `json:"file"`
	Bytes        int64   `json:"bytes"`
	WALBytes     int64   `json:"walBytes"`
	OldestReader float64 `json:"oldestReaderSeconds"`
	Queued       int     `json:"queuedEvents"`
}

// alive answers as long as the process does. It asks nobody.
func (s *Server) alive(c echo.Context) error {
	return writeJSON(c, http.StatusOK, struct {
		Status string `json:"status"`
	}{"ok"})
}

// readiness answers GET /readyz.
type readiness struct {
	Status  string   `json:"status"` // ok; degraded: there are warnings; unready: there are errors
	Reasons []Reason `json:"reasons"`
}

// ready says whether the program does its whole work, and if not, why not and what to do.
func (s *Server) ready(c echo.Context) error {
	answer, status := readiness{"ok", s.reasons(c.Request().Context())}, http.StatusOK
	switch {
	case slices.ContainsFunc(answer.Reasons, Reason.isError):
		answer.Status, status = "unready", http.StatusServiceUnavailable
	case len(answer.Reasons) > 0:
		answer.Status = "degraded"
	}
	c.Response().Header().Set("Cache-Control", "no-store")
	return writeJSON(c, status, answer)
}

func (r Reason) isError() bool { return r.Severity == SeverityError }

func (s *Server) reasons(ctx context.Context) []Reason {
	reasons := []Reason{}
	if s.opts.Operations.Reasons != nil {
		reasons = append(reasons, s.opts.Operations.Reasons(ctx)...)
	}
	return append(reasons, s.botReasons()...)
}

// metrics answers in the text format of Prometheus.
func (s *Server) metrics(c echo.Context) error {
	if s.opts.Operations.Metrics == nil {
		return notFound("Not found")
	}
	s.opts.Operations.Metrics.ServeHTTP(c.Response(), c.Request())
	return nil
}
