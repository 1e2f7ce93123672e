// Package openclaw reads state directories of OpenClaw: those of 2026.2, which are files, and those of 2026.9, which are SQLite databases.
// It never writes to them, and follows no link that leads out of them. What it cannot read it passes to a function, with place and reason.
package openclaw

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// Era is a form of state directories.
type Era string

// Eras.
const (
	EraFiles    Era = "files"    // sessions.json and JSON lines, up to 2026.5
	EraDatabase Era = "database" // SQLite, since 2026.6
)

// Reasons of problems.
const (
	ReasonUnreadable   = "unreadable"    // the file system refuses it
	ReasonLinkOut      = "link_out"      // a link leads out of the directory
	ReasonInvalid      = "invalid"       // it is not what its name says
	ReasonTorn         = "torn_line"     // the last line is incomplete
	ReasonTooLong      = "line_too_long" // longer than an event may be
	ReasonInvalidKey   = "invalid_key"   // not a session key
	ReasonNoTranscript = "no_transcript" // a session names a transcript that is not there
	ReasonTooLarge     = "too_large"     // a file that is read at once is too large
	ReasonBusy         = "busy"          // a database changes faster than it can be copied
	ReasonSchema       = "unknown_schema"
	ReasonUnsupported  = "unsupported" // there is nothing of the kind here
)

// Problem is something that is not read.
type Problem struct {
	Place  string `json:"place"`  // file below the directory, with :line or #key
	Reason string `json:"reason"` // one of the reasons
	Detail string `json:"detail"`
	Hint   string `json:"hint,omitempty"`
}

// Options of Open. Problem and OpenDatabase are required.
type Options struct {
	Problem      func(Problem)
	OpenDatabase func(path string) (*sql.DB, error) // opens a copy of a SQLite file
	Scratch      string                             // directory for such copies, of one Source at a time; "": the system's
}

// Source is a state directory.
type Source struct {
	Path   string
	Era    Era
	Agents []string // directories of agents, sorted

	root   *os.Root
	opts   Options
	copies []*copied
	shared shared
}

// maxFile bounds a file that is read at once, in bytes.
const maxFile = 256 << 20

// Open opens a state directory. Its error is one of the file system, or says that there is nothing of OpenClaw in it.
func Open(dir string, o Options) (*Source, error) {
	if o.Scratch != "" {
		if err := removeStale(o.Scratch); err != nil {
			return nil, fmt.Errorf("remove copies of an earlier migration: %w", err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open state directory of OpenClaw: %w", err)
	}
	s := &Source{Path: dir, Era: EraFiles, root: root, opts: o}
	refused := false
	for _, name := range s.names("agents") {
		switch info, err := root.Stat(path.Join("agents", name)); {
		case err != nil:
			s.unreadable(path.Join("agents", name), err)
			refused = true
		case info.IsDir():
			s.Agents = append(s.Agents, name)
		}
	}
	if s.known(statePath) || slices.ContainsFunc(s.Agents, func(agent string) bool { return s.known(agentPath(agent)) }) {
		s.Era = EraDatabase
	}
	if len(s.Agents) == 0 && !refused && s.Era == EraFiles && !s.known(configName) && !s.known(cronPath) {
		_ = root.Close()
		return nil, &EmptyError{Path: dir}
	}
	return s, nil
}

const configName = "openclaw.json"

// EmptyError is the error of a directory without anything of OpenClaw.
type EmptyError struct{ Path string }

func (e *EmptyError) Error() string {
	return "there is no state of OpenClaw in " + e.Path + ": no agents, no cron jobs and no openclaw.json"
}

// Code and Hint are for those who show the error.
func (e *EmptyError) Code() string { return "no_openclaw_state" }
func (e *EmptyError) Hint() string {
	return "name the directory with --from; OpenClaw's own is usually ~/.openclaw"
}

// Close removes the copies that were made.
func (s *Source) Close() error {
	var errs []error
	for _, c := range s.copies {
		errs = append(errs, c.close())
	}
	return errors.Join(append(errs, s.root.Close())...)
}

// known reports whether there is anything of that name, also if it cannot be opened: a link out, for example.
func (s *Source) known(name string) bool {
	_, err := s.root.Lstat(name)
	return !errors.Is(err, fs.ErrNotExist)
}

// names lists a directory, sorted. A missing one is empty.
func (s *Source) names(dir string) []string {
	f, err := s.root.Open(dir)
	if err != nil {
		if s.known(dir) {
			s.unreadable(dir, err)
		}
		return nil
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		s.unreadable(dir, err)
	}
	slices.Sort(names)
	return names
}

func (s *Source) problem(place, reason, detail, hint string) {
	s.opts.Problem(Problem{Place: place, Reason: reason, Detail: detail, Hint: hint})
}

// unreadable reports a file that cannot be opened or read.
func (s *Source) unreadable(name string, err error) {
	if info, at := s.root.Lstat(name); at == nil && info.Mode()&fs.ModeSymlink != 0 {
		s.problem(name, ReasonLinkOut, "a symbolic link leads out of the state directory: "+cause(err), "copy its target to its place")
		return
	}
	s.problem(name, ReasonUnreadable, cause(err), "")
}

const notRegular = "it is not a regular file"

// cause is an error without the path, which the place has.
func cause(err error) string {
	if at, is := errors.AsType[*fs.PathError](err); is {
		return at.Err.Error()
	}
	return err.Error()
}

// Open opens a regular file of the directory. A missing one, and one that cannot be opened, which is reported, is nil.
func (s *Source) Open(name string) *os.File {
	f, err := s.root.Open(name)
	if err != nil {
		if s.known(name) {
			s.unreadable(name, err)
		}
		return nil
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		s.problem(name, ReasonInvalid, notRegular, "")
		_ = f.Close()
		return nil
	}
	return f
}

// ReadJSON reads a file of JSON into v, and reports whether it could. A missing file is none, without a report.
func (s *Source) ReadJSON(name string, v any) bool {
	f := s.Open(name)
	if f == nil {
		return false
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	switch {
	case err != nil:
		s.unreadable(name, err)
		return false
	case len(text) > maxFile:
		s.problem(name, ReasonTooLarge, fmt.Sprintf("it has more than %d bytes", maxFile), "")
		return false
	}
	if err := json.Unmarshal(text, v); err != nil {
		s.problem(name, ReasonInvalid, "it is not the JSON that is expected: "+err.Error(), restoreHint)
		return false
	}
	return true
}

// eachMember visits the members of a file that is a JSON object, one at a time, and reports whether these were all. A missing file has none.
func (s *Source) eachMember(name string, visit func(key string, value json.RawMessage) error) (all bool, err error) {
	f := s.Open(name)
	if f == nil {
		return !s.known(name), nil
	}
	defer f.Close()
	in := json.NewDecoder(f)
	token, err := in.Token()
	if err == nil && token != json.Delim('{') {
		err = errors.New("it is not an object")
	}
	for err == nil && in.More() {
		var value json.RawMessage
		if token, err = in.Token(); err == nil {
			err = in.Decode(&value)
		}
		if err == nil {
			if err := visit(fmt.Sprint(token), value); err != nil {
				return false, err
			}
		}
	}
	if err == nil {
		_, err = in.Token()
	}
	if err != nil {
		s.problem(name, ReasonInvalid, "it cannot be read to its end as JSON: "+err.Error(), restoreHint)
		return false, nil
	}
	return true, nil
}

// HasFiles reports whether a directory has regular files, in itself or below. What cannot be looked into is reported.
func (s *Source) HasFiles(dir string) (has bool) {
	if !s.known(dir) {
		return false
	}
	err := fs.WalkDir(s.root.FS(), dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			has, err = true, fs.SkipAll
		}
		return err
	})
	if err != nil {
		s.unreadable(dir, err)
	}
	return has
}

// restoreHint helps with files that a killed program has cut.
const restoreHint = "OpenClaw keeps copies beside it (*.bak): put one in its place in a copy of the directory"

// Size is the size of all transcripts and coordination logs, in bytes, for a progress bar.
func (s *Source) Size(ctx context.Context) (bytes int64) {
	for _, name := range s.names("logs") {
		if info, err := s.root.Stat(path.Join("logs", name)); err == nil && strings.HasPrefix(name, "coordination-events") {
			bytes += info.Size()
		}
	}
	for _, agent := range s.Agents {
		dir := path.Join("agents", agent, "sessions")
		for _, name := range s.names(dir) {
			if info, err := s.root.Stat(path.Join(dir, name)); err == nil && strings.Contains(name, ".jsonl") {
				bytes += info.Size()
			}
		}
		if info, err := s.root.Stat(agentPath(agent)); err == nil {
			bytes += info.Size()
		}
		if ctx.Err() != nil {
			break
		}
	}
	return bytes
}
