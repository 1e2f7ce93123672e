// Package back writes a state directory that OpenClaw opens, from the log: sessions with their transcripts, and scheduled jobs with their
// runs. It has the form of OpenClaw 2026.2, which newer versions take over: 2026.9 with openclaw doctor --fix.
package back

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/pronto-lab/openclawd/coordination"
)

// Log is what is read.
type Log interface {
	View(ctx context.Context, read func(*sql.Tx) error) error
}

// Files are the stored files that messages name. Read returns one of at most that many bytes.
type Files interface {
	Read(id string, most int64) ([]byte, error)
}

// Options of Write. All but Files are required.
type Options struct {
	Log          Log
	Files        Files  // nil: there are none
	To           string // directory that does not exist or is empty
	DefaultAgent string // agent of sessions whose key names none
}

// Report says what was written. Blank counts messages without text here: redacted or archived ones. FilesLeft counts the files of messages
// that are no pictures, too large, or gone.
type Report struct {
	To          string `json:"to"`
	Sessions    int64  `json:"sessions"`
	Transcripts int64  `json:"transcripts"`
	Messages    int64  `json:"messages"`
	Blank       int64  `json:"blank"`
	Pictures    int64  `json:"pictures"`
	FilesLeft   int64  `json:"filesLeft"`
	Jobs        int64  `json:"jobs"`
	JobRuns     int64  `json:"jobRuns"`
}

// TargetError is the error of a directory that has something in it.
type TargetError struct{ Path string }

func (e *TargetError) Error() string {
	return "to: " + e.Path + " is not empty: nothing is overwritten"
}

// Code and Hint are for those who show the error.
func (e *TargetError) Code() string { return "target_not_empty" }
func (e *TargetError) Hint() string { return "name a new directory with --to" }

// AgentError is the error of a default agent that is no id of an agent.
type AgentError struct{ Agent string }

func (e *AgentError) Error() string { return fmt.Sprintf("agent: bad value %q", e.Agent) }

// Code and Hint are for those who show the error.
func (e *AgentError) Code() string { return "invalid_agent" }
func (e *AgentError) Hint() string { return "give the id of an agent, such as main" }

// Write writes the directory. After an error it is incomplete.
func Write(ctx context.Context, o Options) (*Report, error) {
	if agent := coordination.NormalizeAgentID(o.DefaultAgent); agent == "" || agent != o.DefaultAgent {
		return nil, &AgentError{Agent: o.DefaultAgent}
	}
	names, err := os.ReadDir(o.To)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("look into the target: %w", err)
	}
	if len(names) > 0 {
		return nil, &TargetError{Path: o.To}
	}
	w := &writer{Options: o, report: &Report{To: o.To}}
	if err := errors.Join(w.sessions(ctx), w.jobs(ctx)); err != nil {
		return nil, err
	}
	return w.report, nil
}

type writer struct {
	Options
	report *Report
}

// file writes a new file, which write fills, and syncs it.
func (w *writer) file(name string, write func(io.Writer) error) error {
	path := filepath.Join(w.To, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	out := bufio.NewWriterSize(f, 64<<10)
	if err := errors.Join(write(out), out.Flush(), f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// line writes a value as a line of JSON. Characters such as < stay as they are.
func line(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	return out.Encode(v)
}
