package workspace

import "fmt"

// Reasons for which a file is not read or written.
const (
	ReasonName    = "the name is not allowed"
	ReasonLink    = "a symbolic link is not followed"
	ReasonSpecial = "it is not a regular file"
	ReasonFolder  = "it is not a directory"
	ReasonSize    = "the file is too large"
	ReasonMoved   = "it was replaced while it was being opened"
	ReasonMany    = "there are too many entries; the rest is left out"
	ReasonText    = "it is no text: it holds NUL bytes"
	ReasonJSON    = "it is not a JSON object"
	ReasonFull    = "it was not read: the files before it fill the answer"
	ReasonOurs    = "it is reserved for the server"
)

// RefusedError is returned for an existing file that is not read or written.
type RefusedError struct {
	Path   string // relative to the state directory
	Reason string // one of the reasons above
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Path, e.Reason) }

// Fault is a file that was left out of an answer.
type Fault struct {
	File  string `json:"file"`  // relative to the state directory
	Error string `json:"error"` // why
}
