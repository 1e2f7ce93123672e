package server

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// focusChars is how many characters are read of CURRENT_TASK.md and of a task file: what matters stands at the beginning.
const focusChars = 20_000

// currentTask is the task that an agent has in focus, as its CURRENT_TASK.md says, and the work session that the task's file names. A task
// without a file is none: it is over. What cannot be read is told at debug level, and makes no difference.
func (p *Program) currentTask(agentID string) (taskID, workSessionID string) {
	dir := p.workspaceOf(agentID)
	if dir == "" {
		return "", ""
	}
	text, err := beginningOf(dir, prompt.TaskFile)
	current := taskfile.ParseCurrent(text)
	if err == nil && current.State == taskfile.CurrentTask && workspace.IsTaskID(current.TaskID) {
		text, err = beginningOf(filepath.Join(dir, "tasks"), current.TaskID+".md")
		if task, is := taskfile.Parse(current.TaskID, text); err == nil && is {
			return task.ID, task.WorkSessionID
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.opts.Logger.Debug("what an agent has in focus cannot be read", "component", "agents", "agent", agentID, "err", err)
	}
	return "", ""
}

// beginningOf is the beginning of a file that lies in a directory, or all of it.
func beginningOf(dir, name string) (string, error) {
	e := workspace.New(dir, workspace.Options{}).Excerpts([]string{name}, focusChars, focusChars, 0)[0]
	if e.Err != nil {
		return "", fmt.Errorf("read %s: %w", name, e.Err)
	}
	return e.Head, nil
}
