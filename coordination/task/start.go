package task

import (
	"fmt"

	"github.com/pronto-lab/openclawd/coordination"
)

// StartAsk starts a task.
type StartAsk struct {
	Asked
	TaskID, WorkSessionID    string // of the new task
	Description, Background  string
	Priority, Source         string // "" or unknown is medium; "" is self
	RequiresApproval, Simple bool
	Steps                    []NewStep
	Open                     int // tasks of the agent that are not over
}

// Start decides on task.started. The first pending step becomes in_progress, unless approval is needed or another step is already.
func Start(a StartAsk) ([]Event, error) {
	if a.Open >= MaxOpen {
		return nil, full(a.By)
	}
	description, err := needed("description", a.Description, MaxText, sayWork)
	if err != nil {
		return nil, err
	}
	background, err := text("context", a.Background, MaxText)
	if err != nil {
		return nil, err
	}
	source, err := name("source", a.Source)
	if err != nil {
		return nil, err
	}
	if source == "" {
		source = "self"
	}
	steps, err := newSteps(nil, a.Steps)
	if err != nil {
		return nil, err
	}
	progress := "Task started"
	if a.RequiresApproval {
		steps.halt()
		progress = "Task created - awaiting approval"
	} else {
		steps.advance()
	}
	return []Event{{coordination.TypeTaskStarted, a.By, coordination.TaskStarted{
		Context:  coordination.Context{TaskID: a.TaskID, WorkSessionID: a.WorkSessionID, EventRole: coordination.RoleOrchestration},
		Priority: priority(a.Priority), RequiresApproval: a.RequiresApproval, Description: description, Title: title(description),
		Background: background, Source: source, Simple: a.Simple, Steps: steps, SessionKey: a.SessionKey, Progress: progress,
	}}}, nil
}

// sayWork is the hint for a blank description.
const sayWork = "say in description what is to be done, in a sentence or more"

func full(agent string) *Refusal {
	return &Refusal{Reason: CodeFull, Text: fmt.Sprintf("%s has %d tasks that are not over and can have no more", coordination.Quoted(agent), MaxOpen),
		HintText: "complete or cancel tasks first"}
}
