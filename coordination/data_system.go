package coordination

import "encoding/json"

// Session is the data of session.created, session.reset and session.deleted. SessionID names the transcript: a reset starts a new one
// and keeps the old.
type Session struct {
	Context
	SessionKey        string `json:"sessionKey"`
	ParentSessionKey  string `json:"parentSessionKey,omitempty"` // spawning session
	SessionID         string `json:"sessionId,omitempty"`
	PreviousSessionID string `json:"previousSessionId,omitempty"` // of session.reset
	Reason            string `json:"reason,omitempty"`            // of session.reset: new, reset
	By                string `json:"by,omitempty"`                // requesting client
	TranscriptKept    bool   `json:"transcriptKept,omitempty"`    // of session.deleted: keep it in the list of old sessions
}

// SessionPatched is the data of session.patched. Set holds new values by their sessions.patch names; Unset lists cleared ones.
type SessionPatched struct {
	Context
	SessionKey string          `json:"sessionKey"`
	SessionID  string          `json:"sessionId"`
	Set        json.RawMessage `json:"set,omitempty"` // an object
	Unset      []string        `json:"unset,omitempty"`
	By         string          `json:"by,omitempty"`
}

// SessionMessage is the data of session.message: one message of a transcript.
type SessionMessage struct {
	Context
	SessionKey string `json:"sessionKey"`
	SessionID  string `json:"sessionId,omitempty"` // "" for the session's own
	MessageID  string `json:"messageId,omitempty"`
	RunID      string `json:"runId,omitempty"`
	Author     string `json:"author"` // user, assistant, tool, system
	Text       string `json:"text"`
	Provenance string `json:"provenance,omitempty"` // external_user, inter_session, internal_system
	FromAgent  string `json:"fromAgent,omitempty"`
	Internal   bool   `json:"internal,omitempty"` // of an exchange between agents, hidden in the session's chat

	// Content is the message as blocks ({type: text|thinking|toolCall|image, ...}), where it is more than Text.
	Content    json.RawMessage `json:"content,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"` // of tool messages
	ToolName   string          `json:"toolName,omitempty"`
	IsError    bool            `json:"isError,omitempty"`

	Label      string        `json:"label,omitempty"` // of an injected message
	By         string        `json:"by,omitempty"`    // injecting client
	API        string        `json:"api,omitempty"`   // of assistant messages, as the next four
	Provider   string        `json:"provider,omitempty"`
	Model      string        `json:"model,omitempty"`
	StopReason string        `json:"stopReason,omitempty"` // stop, toolUse, error, aborted, length
	Error      string        `json:"errorMessage,omitempty"`
	Usage      *SessionUsage `json:"usage,omitempty"`

	// Channel, To, Account and ThreadID are the origin or the target of the message.
	Channel  string `json:"channel,omitempty"`
	To       string `json:"to,omitempty"`
	Account  string `json:"accountId,omitempty"`
	ThreadID string `json:"threadId,omitempty"`
}

// SessionUsage counts the tokens of one model answer. What follows Total is known of answers that were taken over from other programs.
type SessionUsage struct {
	Input      int64      `json:"input"` // those of the cache included
	Output     int64      `json:"output"`
	Total      int64      `json:"total"`
	CacheRead  int64      `json:"cacheRead,omitempty"`
	CacheWrite int64      `json:"cacheWrite,omitempty"`
	Cost       *UsageCost `json:"cost,omitempty"` // nil: unknown
}

// UsageCost is what an answer has cost, in the currency of the prices.
type UsageCost struct {
	Input      float64 `json:"input"`
	Output     float64 `json:"output"`
	CacheRead  float64 `json:"cacheRead"`
	CacheWrite float64 `json:"cacheWrite"`
	Total      float64 `json:"total"`
}

// KindUtility is the ConfigAgent.Kind of agents that work only for other agents.
const KindUtility = "utility"

// ConfigAgent is an agent as configured.
type ConfigAgent struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	Kind    string `json:"kind,omitempty"`
	Utility bool   `json:"utility,omitempty"`
}

// ConfigApplied is the data of config.applied. Mentions maps Discord user ids to display names.
type ConfigApplied struct {
	Context
	Hash     string            `json:"hash"`
	Source   string            `json:"source"`
	Agents   []ConfigAgent     `json:"agents"`
	Mentions map[string]string `json:"mentions,omitempty"`
	// Settings is the whole configuration with secrets as ***, since version 2. If it is too long it is absent, and SettingsBytes has
	// its length.
	Settings      json.RawMessage `json:"settings,omitempty"`
	SettingsBytes int             `json:"settingsBytes,omitempty"`
}

// ConfigPatched is the data of config.patched. Hashes are SHA-256 of the file, in hex. Changed lists the changed and removed settings as
// dotted paths, without values.
type ConfigPatched struct {
	Context
	Method     string   `json:"method"` // config.patch, config.set, config.apply
	Source     string   `json:"source"` // the file's name
	HashBefore string   `json:"hashBefore,omitempty"`
	HashAfter  string   `json:"hashAfter"`
	Changed    []string `json:"changed"`
	Note       string   `json:"note,omitempty"`
	SessionKey string   `json:"sessionKey,omitempty"`
	By         string   `json:"by,omitempty"`
}

// ConfigAppliedVersion is the version of the shape of ConfigApplied.
const ConfigAppliedVersion = 2

// ImportRejected is the data of import.rejected. Text is the beginning of the line, Bytes the length of the whole line.
type ImportRejected struct {
	Context
	File   string `json:"file"`
	Line   int64  `json:"line"`
	Reason string `json:"reason"`
	Text   string `json:"text"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// ImportCompleted is the data of import.completed.
type ImportCompleted struct {
	Context
	File     string `json:"file"`
	Bytes    int64  `json:"bytes"`
	Lines    int64  `json:"lines"`
	Accepted int64  `json:"accepted"`
	Rejected int64  `json:"rejected"`
}

// ImportMigrating is the data of import.migrating, stored once a migration has added something.
type ImportMigrating struct {
	Context
	MigrationID string   `json:"migrationId"` // of the directory: its stream is migration/<id>
	Program     string   `json:"program"`     // openclaw
	From        string   `json:"from"`        // directory
	Only        []string `json:"only,omitempty"`
}

// ImportMigrated is the data of import.migrated. A migration that has added nothing, and reports what the last one did, stores none.
type ImportMigrated struct {
	ImportMigrating
	Era       string           `json:"era"`
	Complete  bool             `json:"complete"` // nothing is left
	Counts    []MigrationCount `json:"counts"`
	Left      []MigrationLeft  `json:"left"`      // the first 1,000
	LeftTotal int64            `json:"leftTotal"` // without notes
	Reasons   map[string]int64 `json:"reasons"`   // how many of each reason, notes included
}

// MigrationCount is how much of a part was found and what became of it.
type MigrationCount struct {
	Part    string `json:"part"`
	Found   int64  `json:"found"`
	New     int64  `json:"new"`     // added to the log; of a plan: that would be looked up
	Already int64  `json:"already"` // in the log since an earlier run
	Left    int64  `json:"left"`    // not taken over
}

// MigrationLeft is something that was not taken over, or a note, which loses nothing.
type MigrationLeft struct {
	Place  string `json:"place"` // file below the directory, with :line or #key
	Reason string `json:"reason"`
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
	Note   bool   `json:"note,omitempty"`
}

// Projection is the data of the projection types.
type Projection struct {
	Context
	Name    string `json:"name"`
	Version int    `json:"version,omitempty"`
	Seq     int64  `json:"seq"`
	EventID string `json:"eventId,omitempty"`
	Error   string `json:"error,omitempty"`
}

// WorkSessionCategory is the data of the work_session types. Category is "" when it was cleared.
type WorkSessionCategory struct {
	Context
	Category  Category `json:"category,omitempty"`
	UpdatedBy string   `json:"updatedBy,omitempty"`
	UpdatedAt string   `json:"updatedAt,omitempty"`
}

// FileChanged is the data of file.changed. Path is relative to the state directory.
type FileChanged struct {
	Context
	Path   string `json:"path"`
	Change string `json:"change"` // add, change, unlink
	Bytes  int64  `json:"bytes,omitempty"`
	SHA256 string `json:"sha256,omitempty"`
	// Text is the new content of a task file, CURRENT_TASK.md or month of history from the byte Offset on; before it the file is as in
	// its previous event. nil: not recorded.
	Text   *string `json:"text,omitempty"`
	Offset int64   `json:"offset,omitempty"`
}

// FileImported is the data of file.imported: a task file older than the log. Path is workspace-<agent>/ and the name in the agent's
// workspace, wherever that is.
type FileImported struct {
	Context
	Path   string `json:"path"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	Text   string `json:"text"`
}

// FileWritten is the data of file.written: a task file is about to be written or removed. Path is as in FileImported.
type FileWritten struct {
	Context
	Path     string `json:"path"`
	SHA256   string `json:"sha256"`             // new hash; "" removes it
	Previous string `json:"previous,omitempty"` // hash found before; "" for no file
	Through  int64  `json:"through,omitempty"`  // of a month: seq of the end of its last task
}

// FileConflict is the data of file.conflict: a task file changed outside of openclawd. That version was kept, and the file is rewritten.
type FileConflict struct {
	Context
	Path     string `json:"path"`
	Kept     string `json:"kept,omitempty"`   // its new name in the same directory; "": it was removed
	SHA256   string `json:"sha256,omitempty"` // of the kept version
	Expected string `json:"expected,omitempty"`
}

// Gateway is the data of the gateway types.
type Gateway struct {
	Context
	Address  string         `json:"address,omitempty"`
	Version  string         `json:"version,omitempty"`
	UptimeMs int64          `json:"uptimeMs,omitempty"`
	Lanes    map[string]int `json:"lanes,omitempty"`
	Reason   string         `json:"reason,omitempty"`
}
