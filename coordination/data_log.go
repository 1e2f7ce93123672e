package coordination

import (
	"cmp"
	"encoding/json"
)

// LogRedacted is the data of log.redacted, stored in the transaction that blanks the payloads. It holds nothing of their contents.
type LogRedacted struct {
	Context
	RedactionID string  `json:"redactionId"` // its stream is redaction/<id>
	Seqs        []int64 `json:"seqs"`        // ascending
	Reason      string  `json:"reason"`
	By          string  `json:"by,omitempty"` // unverified name
}

// LogForgotten is the data of log.forgotten, which completes a redaction.
type LogForgotten struct {
	Context
	RedactionID string           `json:"redactionId"`
	Projections []string         `json:"projections"`    // rebuilt
	Lines       int64            `json:"lines"`          // blanked in coordination logs
	Files       int64            `json:"files"`          // task files, rewritten
	Archives    []string         `json:"archives"`       // rewritten
	Kept        []RedactionTrace `json:"kept,omitempty"` // places not ours to change that still hold the text
}

// RedactionTrace is a place that may hold redacted text: a backup, a transcript of another program.
type RedactionTrace struct {
	Place string `json:"place"`
	Hint  string `json:"hint"`
}

// UnmarshalJSON implements json.Unmarshaler. Events written before release 0.1.0 call the hint mend.
func (r *RedactionTrace) UnmarshalJSON(data []byte) error {
	var stored struct {
		Place, Hint string
		Old         string `json:"mend"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return err
	}
	*r = RedactionTrace{Place: stored.Place, Hint: cmp.Or(stored.Hint, stored.Old)}
	return nil
}

// ArchiveStream is the stream of log.archived.
const ArchiveStream = "archive/payloads"

// LogArchived is the data of log.archived, stored in the transaction that blanks the archived payloads.
type LogArchived struct {
	Context
	First  int64  `json:"first"`
	Last   int64  `json:"last"`
	File   string `json:"file"` // file name in the archive directory
	SHA256 string `json:"sha256"`
	By     string `json:"by,omitempty"` // unverified name
}
