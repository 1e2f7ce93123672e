package health

import (
	"slices"
	"time"
)

// Reason is a problem that limits the program, or soon may.
type Reason struct {
	Severity Severity `json:"severity"`
	Code     Code     `json:"code"`
	What     string   `json:"what"`
	Hint     string   `json:"hint"`
	Subject  string   `json:"-"` // what it is about, if several reasons may have the code: a projection, a bot's account
}

// Severity says whether a Reason makes the program unready.
type Severity string

const (
	SeverityError   Severity = "error"   // answers or guarantees are affected: not ready
	SeverityWarning Severity = "warning" // needs attention; answers are correct
)

// IsError reports whether the program is not ready.
func (r Reason) IsError() bool { return r.Severity == SeverityError }

// Running is the state of the surrounding program. Disabled parts are nil.
type Running struct {
	Mode      string          `json:"mode"` // produce; follow: another gateway runs the agents
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
	Past      *PastState      `json:"past"`
	Cluster   *ClusterState   `json:"cluster"` // nil: the server is no node of one
	Clients   *ClientsState   `json:"clients"`
	Config    *ConfigState    `json:"config"`
	Database  *DatabaseState  `json:"database"`
}

// GatewayState is the state of the WebSocket gateway. Counts except Clients are since the start.
type GatewayState struct {
	Address    string `json:"address"`
	Auth       string `json:"auth"` // credentials required: token, password, none
	Clients    int    `json:"clients"`
	Requests   int64  `json:"requests"`
	Errors     int64  `json:"errors"`  // failed requests
	Refused    int64  `json:"refused"` // rejected clients
	SlowCloses int64  `json:"slowCloses"`
	Error      string `json:"error,omitempty"` // why it has stopped
}

// FollowState is the progress of reading another gateway's coordination log.
type FollowState struct {
	File     string    `json:"file"`
	Present  bool      `json:"present"`
	Behind   int64     `json:"behind"` // bytes
	Lines    int64     `json:"lines"`  // since the start
	LastLine time.Time `json:"lastLine,omitzero"`
	Error    string    `json:"error,omitempty"`
}

// MirrorState is the progress of writing our events to the coordination log.
type MirrorState struct {
	File    string `json:"file"`
	Seq     int64  `json:"seq"`
	Lag     int64  `json:"lag"`     // events
	Lines   int64  `json:"lines"`   // since the start
	Foreign bool   `json:"foreign"` // another gateway has also written to the file
	Error   string `json:"error,omitempty"`
}

// SearchState is the progress of the search index.
type SearchState struct {
	Seq   int64  `json:"seq"`
	Lag   int64  `json:"lag"` // events
	Error string `json:"error,omitempty"`
}

// TaskFilesState is the progress of the task files. Written and Conflicts are since the start.
type TaskFilesState struct {
	Seq       int64    `json:"seq"`
	Lag       int64    `json:"lag"` // events
	Written   int64    `json:"written"`
	Conflicts int64    `json:"conflicts"`         // manual edits set aside or undone
	Failing   int      `json:"failing"`           // tasks, months and focuses whose files cannot be written now
	Kept      []string `json:"kept,omitempty"`    // files set aside and not yet removed
	Refused   []string `json:"refused,omitempty"` // agents for whom nothing is written, with the reason
	Error     string   `json:"error,omitempty"`
}

// BackupState is the state of the backups.
type BackupState struct {
	Dir     string    `json:"dir"`
	Every   string    `json:"every"` // "": none is scheduled
	Last    time.Time `json:"last,omitzero"`
	LastSeq int64     `json:"lastSeq"`
	Next    time.Time `json:"next,omitzero"`
	Running bool      `json:"running"`
	Error   string    `json:"error,omitempty"`
}

// ChainState is the state of the verification of the log's hash chain.
type ChainState struct {
	Every   string    `json:"every"`            // "": none is scheduled
	Last    time.Time `json:"last,omitzero"`    // end of the newest one
	OK      *bool     `json:"ok"`               // whether the log was found unmodified; nil: unknown
	Seq     int64     `json:"seq"`              // last event verified
	TookMs  int64     `json:"tookMs"`           // pauses included
	Broken  string    `json:"broken,omitempty"` // the violation found
	Next    time.Time `json:"next,omitzero"`
	Running bool      `json:"running"`
	Error   string    `json:"error,omitempty"` // why the newest attempt failed
}

// PastState is what is on disk for answers as of earlier events. Kept states survive the process; snapshots are made
// from them for requests.
type PastState struct {
	Snapshots     int   `json:"snapshots"`
	SnapshotBytes int64 `json:"snapshotBytes"` // of them, and of states passed when they were made
	States        int   `json:"states"`        // kept
	Bytes         int64 `json:"bytes"`         // of the kept states
	MaxBytes      int64 `json:"maxBytes"`      // 0: none are kept
	UpTo          int64 `json:"upTo"`          // seq of the newest kept state; 0: there is none
	WidestGap     int64 `json:"widestGap"`     // events between two kept states, at most
}

// ClientsState is the state of the clients of /ws.
type ClientsState struct {
	Connected  int   `json:"connected"`
	SlowCloses int64 `json:"slowCloses"` // since the start
}

// ConfigState says whether openclaw.json is valid.
type ConfigState struct {
	File  string `json:"file"`
	Valid bool   `json:"valid"`
}

// DatabaseState is the state of the database file.
type DatabaseState struct {
	File         string  `json:"file"`
	Bytes        int64   `json:"bytes"`
	WALBytes     int64   `json:"walBytes"`
	OldestReader float64 `json:"oldestReaderSeconds"`
	Queued       int     `json:"queuedEvents"`
}

// ChannelState is the summary of a channel for operators.
type ChannelState struct {
	OpenCollaborations int `json:"openCollaborations"` // open requests between agents
	Escalated          int `json:"escalated"`          // open requests escalated to a person
	Suspended          int `json:"suspended"`          // threads and channels suspended because of bot loops
	Undelivered        int `json:"undelivered"`        // failed posts, and posts whose delivery is unknown
	Bots               int `json:"bots"`               // enabled bots
	BotsReady          int `json:"botsReady"`          // connected bots
}

// OfBots are the bots of a channel.
func OfBots(bots []Bot, channel string) []Bot {
	return slices.DeleteFunc(slices.Clone(bots), func(b Bot) bool { return b.Channel != channel })
}

// Count counts the enabled and the connected bots.
func (c *ChannelState) Count(bots []Bot) {
	c.Bots, c.BotsReady = 0, 0
	for i := range bots {
		if bots[i].State != BotOff {
			c.Bots++
		}
		if bots[i].State == BotReady {
			c.BotsReady++
		}
	}
}
