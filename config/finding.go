package config

import (
	"fmt"
	"slices"
)

// Severity says whether a configuration with a finding is usable.
type Severity string

const (
	// Error means that the configuration is unusable because its meaning is unknown.
	Error Severity = "error"
	// Warning means that it is usable, but perhaps not as intended.
	Warning Severity = "warning"
)

// Codes of findings. Programs may rely on them.
const (
	CodeFile         = "file"          // the file cannot be read
	CodeSize         = "size"          // a file is too large, or there are too many
	CodeEncoding     = "encoding"      // not UTF-8
	CodeSyntax       = "syntax"        // not JSON5
	CodeDepth        = "depth"         // nested too deeply
	CodeDuplicateKey = "duplicate_key" // a key is repeated in one object; the last one counts
	CodeInclude      = "include"       // an $include cannot be followed
	CodeEscape       = "include_escape"
	CodeCycle        = "include_cycle"
	CodeEnvironment  = "environment"     // a variable is not set
	CodeBigNumber    = "big_number"      // an integer that other programs cannot represent
	CodeUnknownKey   = "unknown_key"     // unknown key
	CodeType         = "type"            // wrong type
	CodeValue        = "value"           // a value that is not allowed
	CodeNoID         = "agent_no_id"     // an agent without an id, which would be ignored
	CodeDropped      = "agent_dropped"   // an agent in a place where it would be ignored
	CodeDuplicateID  = "agent_twice"     // two agents with one id
	CodeManyAgents   = "too_many_agents" // too many agents; none of them is read
	CodeUnknownAgent = "unknown_agent"   // a setting names an agent that is not configured
	CodeNoAccount    = "unknown_account" // a setting names a Discord account that is not configured
	CodeToken        = "discord_token"   // does not look like a Discord bot token
	CodeScript       = "script"          // a script of the scripted provider is unreadable or invalid
	CodeModel        = "model"           // a setting names an unavailable model
	CodeUnbound      = "unbound_secret"  // a secret that only another program can resolve
)

// Finding is a fault or oddity of a configuration. It contains no secret.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	File     string   `json:"file"`
	Line     int      `json:"line"`   // from 1; 0 if it is about the whole file
	Column   int      `json:"column"` // from 1, in characters; 0 if it is about the whole file
	Path     string   `json:"path"`   // agents.list[3].id; "" if about no setting
	Value    string   `json:"value"`  // as found, secrets masked; may be ""
	Message  string   `json:"message"`
	Hint     string   `json:"hint"`
}

// Where is the place in the form file:line:column.
func (f *Finding) Where() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// String formats the finding as one line.
func (f *Finding) String() string {
	subject := ""
	if f.Path != "" {
		subject = f.Path + ": "
	}
	return fmt.Sprintf("%s: %s%s (%s)", f.Where(), subject, f.Message, f.Hint)
}

// Findings are sorted by file and place.
type Findings []Finding

// Count is the number of findings of one severity.
func (f Findings) Count(s Severity) (n int) {
	for i := range f {
		if f[i].Severity == s {
			n++
		}
	}
	return n
}

// Err is nil if the configuration is usable, else a *FindingsError.
func (f Findings) Err() error {
	errs := slices.DeleteFunc(slices.Clone(f), func(one Finding) bool { return one.Severity != Error })
	if len(errs) == 0 {
		return nil
	}
	return &FindingsError{errs}
}

// FindingsError says why a configuration is unusable: all of its Findings are of severity Error.
type FindingsError struct{ Findings Findings }

func (e *FindingsError) Error() string {
	const shown = 10
	s := ""
	for i := range e.Findings {
		if i == shown {
			return fmt.Sprintf("%s; and %d more", s, len(e.Findings)-shown)
		}
		if i > 0 {
			s += "; "
		}
		s += e.Findings[i].String()
	}
	return s
}
func (e *FindingsError) Code() string { return "config" }
func (e *FindingsError) Hint() string {
	return "openclawd config check lists everything that has to be fixed"
}
