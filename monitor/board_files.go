package monitor

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
	"github.com/pronto-lab/openclawd/workspace"
)

// fileBoard reads the workspace files of agents, people and another gateway.
type fileBoard struct {
	ctx     context.Context
	opts    *Options
	reading *workspace.Reader // nil until the first read over many files
}

// end is called after the answer has been written.
func (b *fileBoard) end() {
	if b.reading != nil {
		b.reading.End()
	}
}

func (b *fileBoard) begin() (err error) {
	if b.reading == nil {
		b.reading, err = b.opts.Workspace.Begin(b.ctx)
	}
	return err
}

func (b *fileBoard) now() string { return b.opts.Now().UTC().Format(timestampLayout) }

func (b *fileBoard) agents() ([]string, error) { return b.opts.Workspace.Agents() }

func (b *fileBoard) has(agent string) (bool, error) { return b.opts.Workspace.HasAgent(agent) }

func (b *fileBoard) agent(id string) (*agentAnswer, error) {
	if err := b.begin(); err != nil {
		return nil, err
	}
	a := &agentAnswer{ID: id, WorkspaceDir: b.opts.Workspace.AgentDir(id), TaskCounts: map[string]int{}}
	tasks, err := b.reading.Tasks(id)
	if err != nil {
		return nil, err
	}
	a.TaskCount, a.Invalid = tasks.Files, tasks.Faults
	for i := range tasks.Tasks {
		a.TaskCounts[tasks.Tasks[i].Status]++
	}
	current, err := b.opts.Workspace.Current(id)
	if err != nil {
		return nil, err
	}
	if a.HasCurrentTask = current.State == taskfile.CurrentTask; a.HasCurrentTask {
		title, err := b.titleOf(id, &current)
		if err != nil {
			return nil, err
		}
		a.CurrentTask = &currentTask{ID: truncatedCopy(current.TaskID), Title: truncatedCopy(title)}
	}
	return a, nil
}

// truncatedCopy copies a text for a list of many agents, truncated, without keeping its file in memory.
func truncatedCopy(text string) string {
	const shown = 1_000
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "..."
	}
	return strings.Clone(text)
}

func (b *fileBoard) tasks(agent, status string) ([]boardTask, []workspace.Fault, error) {
	if err := b.begin(); err != nil {
		return nil, nil, err
	}
	read, err := b.reading.Tasks(agent)
	if err != nil {
		return nil, nil, err
	}
	now := b.now()
	list := []boardTask{}
	for _, t := range read.Tasks {
		if status == "" || t.Status == status {
			list = append(list, boardTask{Task: t.At(now)})
		}
	}
	return list, read.Faults, nil
}

func (b *fileBoard) task(agent, id string) (*boardTask, location, error) {
	task, ok, err := b.opts.Workspace.Task(agent, id)
	if err != nil {
		return nil, "", err
	}
	if ok {
		return &boardTask{Task: task.At(b.now())}, locatedActive, nil
	}
	entry, err := b.opts.Workspace.HistoryOf(agent, id)
	if err != nil || entry == nil {
		return nil, locatedNowhere, err
	}
	return &boardTask{Task: entry.Task()}, locatedHistory, nil
}

func (b *fileBoard) current(agent string) (*currentAnswer, error) {
	current, err := b.opts.Workspace.Current(agent)
	if err != nil {
		return nil, err
	}
	title, err := b.titleOf(agent, &current)
	if err != nil {
		return nil, err
	}
	a := &currentAnswer{AgentID: agent, HasTask: current.State == taskfile.CurrentTask, TaskSummary: orNull(title), TaskID: orNull(current.TaskID),
		State: current.State}
	if current.Exists {
		a.Content = &current.Text
	}
	return a, nil
}

// titleOf is the title of an agent's current task: the tracker's text, else the focused task's title, else
// CURRENT_TASK.md's, else the id.
func (b *fileBoard) titleOf(agent string, current *workspace.Current) (string, error) {
	if current.Current.Text != "" || current.TaskID == "" {
		return current.Current.Text, nil
	}
	task, ok, err := b.opts.Workspace.Task(agent, current.TaskID)
	switch {
	case err != nil:
		return "", err
	case ok && task.Description != taskfile.DefaultDescription:
		return task.Title(), nil
	}
	return cmp.Or(current.Description, current.TaskID), nil
}

func (b *fileBoard) history(agent, month string, limit int) (*historyAnswer, error) {
	history, err := b.opts.Workspace.History(agent, month)
	if err != nil {
		return nil, err
	}
	a := &historyAnswer{AgentID: agent, Months: append([]string{}, history.Months...), CurrentMonth: orNull(history.Month), Invalid: history.Faults}
	if a.HasHistory = history.Read != nil; a.HasHistory {
		a.History = history.Read.Last(limit)
	}
	return a, nil
}

func (b *fileBoard) team() (*teamStateAnswer, error) {
	state, faults, err := b.opts.Workspace.TeamState()
	if err != nil {
		return nil, err
	}
	a := &teamStateAnswer{Version: json.RawMessage("1"), Agents: json.RawMessage("{}"), Invalid: faults}
	if _, ok := coordination.NumberValue(state["version"]); ok {
		a.Version = state["version"]
	}
	if agents := state["agents"]; len(agents) > 0 && agents[0] == '{' {
		a.Agents = agents
	}
	ok := false
	if a.LastUpdatedMs, ok = coordination.NumberValue(state["lastUpdatedMs"]); !ok {
		updated, _ := coordination.StringValue(state["updatedAt"])
		a.LastUpdatedMs, _ = coordination.ParseTime(updated)
	}
	return a, nil
}
