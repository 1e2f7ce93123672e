package settings

import (
	"fmt"
)

// Error says that a setting has a value that it cannot have, wherever it was set. Commands end with exit code 78 for it.
type Error struct {
	Setting string // flag, environment variable or key of openclaw.json
	Value   string
	Mend    string
	Err     error // may be nil
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s %q: %v", e.Setting, e.Value, e.Err)
	}
	return fmt.Sprintf("%s: bad value %q", e.Setting, e.Value)
}

func (e *Error) Unwrap() error { return e.Err }

// Code implements eventstore.Coded.
func (e *Error) Code() string { return "config" }

// Hint implements eventstore.Coded.
func (e *Error) Hint() string { return e.Mend }
