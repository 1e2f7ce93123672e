package config

import (
	"fmt"
)

// SettingError is an invalid value of a setting, wherever it was set. Commands exit with code 78 for it.
type SettingError struct {
	Setting  string // flag, environment variable or key of openclaw.json
	Value    string
	HintText string
	Err      error // may be nil
}

func (e *SettingError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s %q: %v", e.Setting, e.Value, e.Err)
	}
	return fmt.Sprintf("%s: bad value %q", e.Setting, e.Value)
}

func (e *SettingError) Unwrap() error { return e.Err }

// Code implements eventstore.Coded.
func (e *SettingError) Code() string { return "config" }

// Hint implements eventstore.Coded.
func (e *SettingError) Hint() string { return e.HintText }
