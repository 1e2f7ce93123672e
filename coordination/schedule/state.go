package schedule

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
)

// Outcomes of runs.
const (
	OK      = "ok"
	Error   = "error"
	Skipped = "skipped" // there was nothing to do
)

// States of deliveries.
const (
	NotRequested = "not-requested"
	Delivered    = "delivered"
	NotDelivered = "not-delivered"
	Unknown      = "unknown"
)

// State is a job and how far it has come. Times are ms since 1970, 0 for none.
type State struct {
	Job       coordination.CronJob `json:"job"`
	NextAt    int64                `json:"nextAt,omitempty"`    // next due time that has neither a run nor been missed
	NotBefore int64                `json:"notBefore,omitempty"` // back-off
	Runs      int                  `json:"runs,omitempty"`      // of due times
	Missed    int                  `json:"missed,omitempty"`

	RunID     string `json:"runId,omitempty"` // the run in progress; "" for none
	RunDueAt  int64  `json:"runDueAt,omitempty"`
	RunningAt int64  `json:"runningAt,omitempty"` // since when

	LastRunID         string `json:"lastRunId,omitempty"`
	LastRunAt         int64  `json:"lastRunAt,omitempty"` // its begin
	LastStatus        string `json:"lastStatus,omitempty"`
	LastError         string `json:"lastError,omitempty"`
	LastDurationMs    int64  `json:"lastDurationMs,omitempty"`
	LastDelivery      string `json:"lastDelivery,omitempty"`
	LastDeliveryError string `json:"lastDeliveryError,omitempty"`
	Notes             string `json:"notes,omitempty"`    // of a heartbeat: what HEARTBEAT.md said at the last wake that ended well
	RunNotes          string `json:"runNotes,omitempty"` // of its run in progress
	Errors            int    `json:"errors,omitempty"`   // consecutive
	Skips             int    `json:"skips,omitempty"`    // likewise
}

// WakeAt is when something has to be done for the job; 0: never, or not before its run is over.
func (s *State) WakeAt() int64 {
	if !s.Job.Enabled || s.RunID != "" || s.NextAt == 0 {
		return 0
	}
	return max(s.NextAt, s.NotBefore)
}

// RunID is the id of the run for a due time of a job, and RunOf its reverse: ids of other runs are of no job.
func RunID(jobID string, dueAt int64, manual bool) string {
	kind := ":"
	if manual {
		kind = ":m"
	}
	return runPrefix + jobID + kind + strconv.FormatInt(dueAt, 10)
}

const runPrefix = coordination.CronRunPrefix

// JobOf returns the job of a run that RunID named; "" for another run.
func JobOf(runID string) string {
	rest, ok := strings.CutPrefix(runID, runPrefix)
	end := strings.LastIndexByte(rest, ':')
	if !ok || end < 0 {
		return ""
	}
	return rest[:end]
}

// Stream is the stream of a job.
func Stream(jobID string) string { return coordination.CronStream(jobID) }

// Ran is the answer to a request to run a job at once.
type Ran struct {
	RunID  string // "": it was not started
	Reason string // why not: already-running, not-due, disabled
}

// End is what follows for a job from the end of its run.
type End struct {
	NotBefore int64 // back-off
	Ends      bool  // the job is never due again, and disabled
	Remove    bool  // it is removed
}

// Finish decides what follows from the end of the run in progress.
func (s *State) Finish(status string, now int64) (e End) {
	if status == Error {
		e.NotBefore = now + pause(s.Errors+1).Milliseconds()
	}
	if s.NextAt == 0 {
		e.Ends = true
		keep := s.Job.DeleteAfterRun != nil && !*s.Job.DeleteAfterRun
		e.Remove = s.Job.Schedule.Kind == KindAt && status == OK && !keep
	}
	return e
}

// Apply changes the state by an event, and reports whether the event is about the job. removed says that the job is gone.
func (s *State) Apply(typ string, data json.RawMessage) (means, removed bool) {
	switch typ {
	case coordination.TypeCronJobAdded, coordination.TypeCronJobUpdated:
		var d coordination.CronJobChanged
		if json.Unmarshal(data, &d) != nil || d.Job.ID == "" {
			return false, false
		}
		if d.Job.Enabled && !s.Job.Enabled {
			s.Errors = 0
		}
		s.Job, s.NextAt, s.NotBefore = d.Job, d.NextAtMs, 0
		return true, false
	case coordination.TypeCronJobRemoved:
		return true, true
	}
	if s.Job.ID == "" {
		return false, false
	}
	return s.applyRun(typ, data), false
}

func (s *State) applyRun(typ string, data json.RawMessage) bool {
	switch typ {
	case coordination.TypeCronRunDue:
		var d coordination.CronRunDue
		if json.Unmarshal(data, &d) != nil {
			return false
		}
		s.RunID, s.RunDueAt, s.RunningAt = d.RunID, d.DueAtMs, d.AtMs
		if !d.Manual {
			s.NextAt = d.NextAtMs
			s.Runs++
		}
	case coordination.TypeCronRunMissed:
		var d coordination.CronRunMissed
		if json.Unmarshal(data, &d) != nil {
			return false
		}
		s.NextAt = d.NextAtMs
		s.Missed += d.Count
		if d.Ends {
			s.Job.Enabled = false
			s.LastStatus, s.LastError = Skipped, "its time was missed"
		}
	case coordination.TypeCronRunStarted:
		var d coordination.CronRunStarted
		if json.Unmarshal(data, &d) != nil {
			return false
		}
		s.RunNotes = d.Notes
	case coordination.TypeCronRunFinished:
		var d coordination.CronRunFinished
		_ = json.Unmarshal(data, &d) // a redacted end still ends the run
		s.finish(&d)
	case coordination.TypeCronRunDelivered:
		var d coordination.CronRunDelivered
		if json.Unmarshal(data, &d) != nil || d.RunID != s.LastRunID {
			return false
		}
		s.LastDelivery, s.LastDeliveryError = d.Status, d.Error
	default:
		return false
	}
	return true
}

func (s *State) finish(d *coordination.CronRunFinished) {
	if s.RunID == "" || d.RunID != "" && d.RunID != s.RunID {
		return
	}
	s.LastRunID, s.LastRunAt = s.RunID, s.RunningAt
	s.RunID, s.RunDueAt, s.RunningAt = "", 0, 0
	s.LastStatus, s.LastError, s.LastDurationMs = d.Status, d.Error, d.DurationMs
	s.LastDelivery, s.LastDeliveryError = d.DeliveryStatus, d.DeliveryError
	s.NotBefore = d.NotBeforeMs
	switch d.Status {
	case Error:
		s.Errors++
	case Skipped:
		s.Skips++
	default:
		s.Errors, s.Skips = 0, 0
	}
	if d.Status == OK && s.RunNotes != "" {
		s.Notes = s.RunNotes
	}
	s.RunNotes = ""
	if d.Ends {
		s.Job.Enabled = false
	}
}
