package config

import (
	"fmt"
	"slices"
)

// Severity says whether a configuration can be used in spite of a finding.
type Severity string

const (
	// Error means that the configuration cannot be used: nobody can know what was meant.
	Error Severity = "error"
	// Warning means that it can be used, but perhaps not as meant.
	Warning Severity = "warning"
)

// The codes of findings. Programs may rely on them.
const (
	CodeFile         = "file"          // the file cannot be read
	CodeSize         = "size"          // a file is too large, or there are too many
	CodeEncoding     = "encoding"      // not UTF-8
	CodeSyntax       = "syntax"        // not JSON5
	CodeDepth        = "depth"         // nested too deeply
	CodeDuplicateKey = "duplicate_key" // a key stands twice in one object; the last one counts
	CodeInclude      = "include"       // an $include cannot be followed
	CodeEscape       = "include_escape"
	CodeCycle        = "include_cycle"
	CodeEnvironment  = "environment"     // a variable is not set
	CodeBigNumber    = "big_number"      // a whole number that other programs cannot hold
	CodeUnknownKey   = "unknown_key"     // nobody reads this key
	CodeType         = "type"            // a value of another kind was expected
	CodeValue        = "value"           // of the right kind, but not a value that the setting can have
	CodeNoID         = "agent_no_id"     // an agent without an id, which would be left out
	CodeDropped      = "agent_dropped"   // an agent at a place where it would be left out
	CodeDuplicateID  = "agent_twice"     // two agents have one id
	CodeManyAgents   = "too_many_agents" // more agents than a configuration may have; none of them is read
	CodeUnknownAgent = "unknown_agent"   // a setting names an agent that is not configured
	CodeNoAccount    = "unknown_account" // a setting names an account of Discord that is not configured
	CodeToken        = "discord_token"   // does not look like a Discord bot token
	CodeScript       = "script"          // a script of the scripted provider cannot be read, or cannot be used
	CodeModel        = "model"           // a setting names a model that cannot be asked
	CodeUnbound      = "unbound_secret"  // a secret that only another program can resolve
)

// Finding is something that is wrong, or odd, in a configuration. None of its texts holds a secret.
type Finding struct {
	Severity Severity `json:"severity"`
	Code     string   `json:"code"`
	File     string   `json:"file"`
	Line     int      `json:"line"`   // from 1; 0 if it is about the whole file
	Column   int      `json:"column"` // from 1, in characters; 0 if it is about the whole file
	Path     string   `json:"path"`   // agents.list[3].id; "" if it is about no setting
	Value    string   `json:"value"`  // as found, secrets masked; may be ""
	Message  string   `json:"message"`
	Mend     string   `json:"mend"`
}

// Where is the place as compilers write it: file:line:column.
func (f *Finding) Where() string {
	if f.Line == 0 {
		return f.File
	}
	return fmt.Sprintf("%s:%d:%d", f.File, f.Line, f.Column)
}

// String is the finding on one line.
func (f *Finding) String() string {
	subject := ""
	if f.Path != "" {
		subject = f.Path + ": "
	}
	return fmt.Sprintf("%s: %s%s (%s)", f.Where(), subject, f.Message, f.Mend)
}

// Findings are in the order of the files' names and of the places in them.
type Findings []Finding

// Count is how many there are of one severity.
func (f Findings) Count(s Severity) (n int) {
	for i := range f {
		if f[i].Severity == s {
			n++
		}
	}
	return n
}

// Err is nil if the configuration can be used, else a *FindingsError.
func (f Findings) Err() error {
	errs := slices.DeleteFunc(slices.Clone(f), func(one Finding) bool { return one.Severity != Error })
	if len(errs) == 0 {
		return nil
	}
	return &FindingsError{errs}
}

// FindingsError says that a configuration cannot be used, and why: all of its Findings are of severity Error.
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
	return "openclawd config check lists everything that is to be mended"
}
