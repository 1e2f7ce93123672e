package workspace

import (
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// Names of files and directories in a workspace.
const (
	tasksName      = "tasks"
	historyName    = "task-history"
	plansName      = "plans"
	ownName        = ".openclaw" // holds plans too
	currentName    = "CURRENT_TASK.md"
	milestonesName = "MILESTONES.md"
)

// TeamStateName is the name of the team's state file in the state directory.
const TeamStateName = "team-state.json"

// ErrNoAgent is returned for an agent that has no workspace, or whose id is not valid.
var ErrNoAgent = errors.New("workspace: no such agent")

// AgentDir is where an agent's workspace is.
func (d *Dir) AgentDir(id string) string { return filepath.Join(d.path, prefix+id) }

// Agents lists the agents that have a workspace, by id.
func (d *Dir) Agents() (ids []string, err error) {
	err = d.in(nil, func(f *folder) error {
		ids, err = f.agents()
		return err
	})
	if isMissing(err) {
		return nil, nil
	}
	return ids, err
}

func (f *folder) agents() (ids []string, err error) {
	names, _, err := f.list(func(e fs.DirEntry) bool {
		id, ok := strings.CutPrefix(e.Name(), prefix)
		return ok && e.IsDir() && isAgent(id)
	})
	for _, name := range names {
		ids = append(ids, strings.TrimPrefix(name, prefix))
	}
	slices.Sort(ids)
	return ids, err
}

// agent opens directories of an agent's workspace. If there is no workspace it returns ErrNoAgent; if it lacks
// these directories, use is not called.
func (d *Dir) agent(id string, names []string, use func(*folder) error) error {
	if !isAgent(id) {
		return ErrNoAgent
	}
	err := d.in([]string{prefix + id}, func(f *folder) error {
		below, err := f.down(names...)
		if err != nil {
			if isMissing(err) {
				return nil
			}
			return &insideError{err}
		}
		if below != f {
			defer below.close()
		}
		if err := use(below); err != nil {
			return &insideError{err}
		}
		return nil
	})
	var inside *insideError
	var refused *RefusedError
	switch {
	case errors.As(err, &inside):
		return inside.error
	case isMissing(err), errors.As(err, &refused):
		return ErrNoAgent
	}
	return err
}

// insideError marks an error that does not say whether there is a workspace.
type insideError struct{ error }

// HasAgent reports whether an agent has a workspace.
func (d *Dir) HasAgent(id string) (bool, error) {
	err := d.agent(id, nil, func(*folder) error { return nil })
	if errors.Is(err, ErrNoAgent) {
		return false, nil
	}
	return err == nil, err
}

// Tasks are the open tasks of an agent.
type Tasks struct {
	Tasks  []*taskfile.Task // by file name; their times may be missing. They are shared and must not be changed
	Files  int              // number of task files, including those that hold no task or exceeded the limit
	Faults []Fault
}

// parseTask parses a task file; nil if it holds no task.
func parseTask(name string) func(string) *taskfile.Task {
	return func(text string) *taskfile.Task {
		task, ok := taskfile.Parse(strings.TrimSuffix(name, ".md"), text)
		if !ok {
			return nil
		}
		return &task
	}
}

// isTaskFile reports whether a name is the name of a task file.
func isTaskFile(name string) bool {
	id, ok := strings.CutSuffix(name, ".md")
	return ok && IsTaskID(id)
}

// Tasks reads all open tasks of an agent, sorted by name.
func (r *Reader) Tasks(agent string) (*Tasks, error) {
	t := &Tasks{}
	err := r.dir.agent(agent, []string{tasksName}, func(f *folder) error {
		names, more, err := f.list(func(e fs.DirEntry) bool { return isTaskFile(e.Name()) && !e.IsDir() })
		if err != nil {
			return err
		}
		if more {
			t.Faults = append(t.Faults, Fault{File: f.path, Error: ReasonMany})
		}
		for _, name := range names {
			task, err := parsedWithin(r, f, name, parseTask(name))
			if isMissing(err) {
				continue
			}
			if err != nil {
				t.Faults = append(t.Faults, faultOf(f.at(name), err))
			}
			if err == nil || isFull(err) {
				t.Files++
			}
			if task != nil {
				t.Tasks = append(t.Tasks, task)
			}
		}
		return nil
	})
	return t, r.dir.recordRefusal(err, &t.Faults, prefix+agent+"/"+tasksName)
}

// Task reads one open task. ok is false if there is none with that id, or the id is not valid.
func (d *Dir) Task(agent, id string) (task taskfile.Task, ok bool, err error) {
	err = d.agent(agent, []string{tasksName}, func(f *folder) error {
		if !IsTaskID(id) {
			return nil
		}
		found, err := parsed(d, f, id+".md", parseTask(id+".md"))
		if ok = found != nil; ok {
			task = *found
		}
		return err
	})
	return task, ok, d.recordRefusal(err, nil, "")
}

// Current is an agent's CURRENT_TASK.md.
type Current struct {
	taskfile.Current
	Text   string // the whole file
	Exists bool
}

// Current reads an agent's CURRENT_TASK.md.
func (d *Dir) Current(agent string) (c Current, err error) {
	c.State = taskfile.CurrentNone
	err = d.agent(agent, nil, func(f *folder) error {
		found, err := parsed(d, f, currentName, func(text string) Current {
			return Current{taskfile.ParseCurrent(text), text, true}
		})
		if err == nil {
			c = found
		}
		return err
	})
	return c, d.recordRefusal(err, nil, "")
}

// recordRefusal turns missing and refused files into no error; if fault is not nil, a refusal is recorded there.
func (d *Dir) recordRefusal(err error, faults *[]Fault, file string) error {
	var refused *RefusedError
	switch {
	case isMissing(err):
		return nil
	case errors.As(err, &refused):
		if faults != nil {
			*faults = append(*faults, faultOf(path.Clean(file), err))
		}
		return nil
	}
	return err
}
