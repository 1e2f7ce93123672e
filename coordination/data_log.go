package coordination

// LogRedacted is the data of log.redacted, which is stored in the transaction that blanks the payloads. It says nothing of what they held.
type LogRedacted struct {
	Context
	RedactionID string  `json:"redactionId"` // its stream is redaction/<id>
	Seqs        []int64 `json:"seqs"`        // ascending
	Reason      string  `json:"reason"`
	By          string  `json:"by,omitempty"` // a name that nobody has proved
}

// LogForgotten is the data of log.forgotten: it ends a redaction.
type LogForgotten struct {
	Context
	RedactionID string           `json:"redactionId"`
	Projections []string         `json:"projections"`    // that were made anew
	Lines       int64            `json:"lines"`          // blanked in the files of coordination logs
	Files       int64            `json:"files"`          // of tasks, written anew
	Archives    []string         `json:"archives"`       // written anew
	Kept        []RedactionTrace `json:"kept,omitempty"` // what holds the text still, and is not ours to change
}

// RedactionTrace is a place that may hold what was redacted: a backup, a transcript of another program.
type RedactionTrace struct {
	Place string `json:"place"`
	Mend  string `json:"mend"`
}

// ArchiveStream is the stream of what was archived.
const ArchiveStream = "archive/payloads"

// LogArchived is the data of log.archived, which is stored in the transaction that blanks the payloads that the archive holds.
type LogArchived struct {
	Context
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
	File   string `json:"file"` // name in the directory of archives
	SHA256 string `json:"sha256"`
	By     string `json:"by,omitempty"` // a name that nobody has proved
}
