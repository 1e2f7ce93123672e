// Package snapshot defines the types that report how a snapshot of the tables as of an event is being built.
package snapshot

import "errors"

// ErrBusy means that too many snapshots are waiting to be built.
var ErrBusy = errors.New("too many snapshots are waiting to be built")

// Progress is the progress of a snapshot being built.
type Progress struct {
	Done   int64 `json:"done"`   // events applied
	Total  int64 `json:"total"`  // total events
	Before int   `json:"before"` // snapshots queued before it
}
