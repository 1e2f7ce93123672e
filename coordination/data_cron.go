package coordination

import (
	"encoding/json"
	"strings"
)

// CronJob is what is to be done at which times. Its names are those of OpenClaw's gateway.
type CronJob struct {
	ID             string        `json:"id"`
	Name           string        `json:"name"`
	Description    string        `json:"description,omitempty"`
	AgentID        string        `json:"agentId,omitempty"`    // "": the default agent
	SessionKey     string        `json:"sessionKey,omitempty"` // of a main job: the session that is addressed; "": the agent's main one
	Enabled        bool          `json:"enabled"`
	DeleteAfterRun *bool         `json:"deleteAfterRun,omitempty"` // of at; nil: yes
	CreatedAtMs    int64         `json:"createdAtMs"`
	UpdatedAtMs    int64         `json:"updatedAtMs"`
	Schedule       CronSchedule  `json:"schedule"`
	SessionTarget  string        `json:"sessionTarget"` // main, isolated
	WakeMode       string        `json:"wakeMode"`      // now, next-heartbeat
	Payload        CronPayload   `json:"payload"`
	Delivery       *CronDelivery `json:"delivery,omitempty"`
	Missed         string        `json:"missed,omitempty"`  // skip, last, all; "": last
	MaxRuns        int           `json:"maxRuns,omitempty"` // the job ends after so many; 0: never
	Check          *CronCheck    `json:"check,omitempty"`
}

// CronSchedule says when a job is due.
type CronSchedule struct {
	Kind      string `json:"kind"`               // at, every, cron
	At        string `json:"at,omitempty"`       // RFC 3339; without a zone it is UTC
	EveryMs   int64  `json:"everyMs,omitempty"`  //
	AnchorMs  *int64 `json:"anchorMs,omitempty"` // one of the due times of every; nil: the job's creation
	Expr      string `json:"expr,omitempty"`
	Tz        string `json:"tz,omitempty"` // "": the zone of the host
	StaggerMs *int64 `json:"staggerMs,omitempty"`
}

// CronPayload is what an agent is told.
type CronPayload struct {
	Kind           string `json:"kind"` // systemEvent, agentTurn, heartbeat
	Text           string `json:"text,omitempty"`
	Message        string `json:"message,omitempty"`
	Model          string `json:"model,omitempty"`
	Thinking       string `json:"thinking,omitempty"`
	TimeoutSeconds *int64 `json:"timeoutSeconds,omitempty"` // 0: none; nil: the agent's
}

// CronDelivery says where an answer is posted.
type CronDelivery struct {
	Mode       string `json:"mode"`              // none, announce
	Channel    string `json:"channel,omitempty"` // last, or a channel
	To         string `json:"to,omitempty"`
	AccountID  string `json:"accountId,omitempty"`
	ThreadID   string `json:"threadId,omitempty"`
	BestEffort bool   `json:"bestEffort,omitempty"`
}

// CronCheck decides without a model whether there is anything to do: a command by its exit status, 0 is yes and 1 is no, or a tool of an MCP
// server by its result.
type CronCheck struct {
	Command        []string        `json:"command,omitempty"`
	Tool           string          `json:"tool,omitempty"`           // as agents call it, server__tool
	Arguments      json.RawMessage `json:"arguments,omitempty"`      // of the tool, an object; absent: none
	Nothing        string          `json:"nothing,omitempty"`        // of a tool: a result with this text in it says that there is nothing to do
	TimeoutSeconds int64           `json:"timeoutSeconds,omitempty"` // 0: 60
}

// What is the command or the tool in a line.
func (c *CronCheck) What() string {
	if c.Tool != "" {
		return strings.TrimSpace(c.Tool + " " + string(c.Arguments))
	}
	return strings.Join(c.Command, " ")
}

// CronJobChanged is the data of cron.job.added and cron.job.updated: the whole job, and when it is due next.
type CronJobChanged struct {
	Context
	Job      CronJob `json:"job"`
	NextAtMs int64   `json:"nextAtMs,omitempty"` // 0: never
	By       string  `json:"by,omitempty"`
}

// CronJobRemoved is the data of cron.job.removed.
type CronJobRemoved struct {
	Context
	JobID  string `json:"jobId"`
	Reason string `json:"reason,omitempty"` // finished, config; "": on request
	By     string `json:"by,omitempty"`
}

// CronRunDue is the data of cron.run.due: a run begins, with a check or at once. There is one for a due time.
type CronRunDue struct {
	Context
	JobID    string `json:"jobId"`
	RunID    string `json:"runId"`
	DueAtMs  int64  `json:"dueAtMs"`
	AtMs     int64  `json:"atMs"`               // when it began
	NextAtMs int64  `json:"nextAtMs,omitempty"` // the job's next due time; 0: never
	Manual   bool   `json:"manual,omitempty"`   // on request: it uses no due time
	Check    bool   `json:"check,omitempty"`    // the job's check is asked first
	By       string `json:"by,omitempty"`       // who asked, of a manual one
}

// CronRunMissed is the data of cron.run.missed: due times that have no run.
type CronRunMissed struct {
	Context
	JobID    string `json:"jobId"`
	FromMs   int64  `json:"fromMs"`
	ToMs     int64  `json:"toMs"`
	Count    int    `json:"count"`          // of due times
	More     bool   `json:"more,omitempty"` // there were more than counted
	NextAtMs int64  `json:"nextAtMs,omitempty"`
	Rule     string `json:"rule"`
	Ends     bool   `json:"ends,omitempty"` // the job is never due again, and disabled
}

// CronRunStarted is the data of cron.run.started: the agent's run is queued.
type CronRunStarted struct {
	Context
	JobID      string `json:"jobId"`
	RunID      string `json:"runId"`
	SessionKey string `json:"sessionKey"`
	Cause      string `json:"cause,omitempty"` // of a heartbeat: why the agent is woken: notes, always, request
	Notes      string `json:"notes,omitempty"` // of a heartbeat: hash of what HEARTBEAT.md says
}

// CronRunFinished is the data of cron.run.finished.
type CronRunFinished struct {
	Context
	JobID          string        `json:"jobId"`
	RunID          string        `json:"runId"`
	Status         string        `json:"status"` // ok, error, skipped
	Error          string        `json:"error,omitempty"`
	Summary        string        `json:"summary,omitempty"` // beginning of the answer
	AtMs           int64         `json:"atMs"`
	DurationMs     int64         `json:"durationMs"`
	NotBeforeMs    int64         `json:"notBeforeMs,omitempty"` // back-off: the job is not started before
	Ends           bool          `json:"ends,omitempty"`        // the job is never due again, and disabled
	SessionKey     string        `json:"sessionKey,omitempty"`
	SessionID      string        `json:"sessionId,omitempty"`
	Provider       string        `json:"provider,omitempty"`
	Model          string        `json:"model,omitempty"`
	ModelCalls     int           `json:"modelCalls,omitempty"`
	Usage          *SessionUsage `json:"usage,omitempty"`
	DeliveryStatus string        `json:"deliveryStatus"` // not-requested, not-delivered; unknown: it is being posted
	DeliveryError  string        `json:"deliveryError,omitempty"`
}

// CronRunDelivered is the data of cron.run.delivered: what became of the answer's post.
type CronRunDelivered struct {
	Context
	JobID  string `json:"jobId"`
	RunID  string `json:"runId"`
	Status string `json:"status"` // delivered, not-delivered, unknown
	Error  string `json:"error,omitempty"`
}
