package migrate

import (
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/migrate/openclaw"
)

// Parts of a state directory, in the order in which they are taken over.
const (
	Coordination = "coordination" // logs of ProntoClaw
	Sessions     = "sessions"
	Messages     = "messages"
	Settings     = "settings"
	Cron         = "cron"
	CronRuns     = "cron runs"
	People       = "people"
)

// Count is how much of a part was found and what became of it.
type Count = coordination.MigrationCount

// Reasons of what is left, beside those of package openclaw.
const (
	ReasonIDInUse      = "session_id_in_use" // another session here has the transcript's id
	ReasonSessionHere  = "session_exists"    // the session was made or reset here
	ReasonOlder        = "older_than_taken"  // a later transcript of the session was taken over before
	ReasonInvalidEntry = "invalid_entry"     // it cannot be stored
	ReasonSetting      = "setting"           // a value that sessions here cannot have
	ReasonClock        = "clock"             // a time that cannot be
	ReasonAgentGone    = "agent_gone"        // no agent of the configuration has that id
	ReasonUnsupported  = openclaw.ReasonUnsupported
	ReasonManaged      = "managed"      // OpenClaw makes the job by itself, and so does openclawd where it has one
	ReasonRemovedHere  = "removed_here" // it was taken over and removed here since
	ReasonPermission   = "permission"   // what an agent may do without being asked
	ReasonCredential   = "credential"   // tokens of devices and keys of models, which are given again
	ReasonWorkspace    = "workspace"    // files of agents, which are copied or shared
)

// notes are the reasons that lose nothing: they do not make a report incomplete.
var notes = map[string]bool{ReasonClock: true, ReasonAgentGone: true, ReasonManaged: true, ReasonRemovedHere: true, ReasonCredential: true, ReasonWorkspace: true,
	openclaw.ReasonTorn: true}

// maxListed bounds the problems of a report. All are counted.
const maxListed = 1_000

// Report says what was taken over, and what was not.
type Report struct {
	From     string             `json:"from"`
	Era      openclaw.Era       `json:"era"`
	Plan     bool               `json:"plan,omitempty"` // nothing was written
	Complete bool               `json:"complete"`       // nothing is left
	Counts   []*Count           `json:"counts"`
	Left     []openclaw.Problem `json:"left"`    // at most 1,000
	Reasons  map[string]int64   `json:"reasons"` // how many of each reason, notes included
}

func newReport(from string, era openclaw.Era, plan bool) *Report {
	return &Report{From: from, Era: era, Plan: plan, Complete: true, Counts: []*Count{}, Left: []openclaw.Problem{}, Reasons: map[string]int64{}}
}

// count returns the count of a part.
func (r *Report) count(part string) *Count {
	for _, c := range r.Counts {
		if c.Part == part {
			return c
		}
	}
	c := &Count{Part: part}
	r.Counts = append(r.Counts, c)
	return c
}

// add adds a problem.
func (r *Report) add(p openclaw.Problem) {
	r.Reasons[p.Reason]++
	r.Complete = r.Complete && notes[p.Reason]
	if len(r.Left) < maxListed {
		r.Left = append(r.Left, p)
	}
}
