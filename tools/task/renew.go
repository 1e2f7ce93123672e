package task

import (
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversation"
)

// workSessionPrefix begins the names of work sessions.
const workSessionPrefix = "ws_"

// newWorkSession is a work session that nothing belongs to.
func (d *Desk) newWorkSession() string { return workSessionPrefix + d.o.NewID() }

// renewed is the new work session of a task that is gone on with, "" if it stays in its own: that is not archived.
func (d *Desk) renewed(tx eventstore.Tx, t *task.Task, now int64) (string, error) {
	if t.WorkSessionID == "" {
		return d.newWorkSession(), nil
	}
	last, known, err := conversation.LastActivity(tx, t.WorkSessionID)
	if err != nil {
		return "", err
	}
	if !known {
		last = t.ActiveAt
	}
	if now-last <= coordination.ArchiveAfterMs {
		return "", nil
	}
	return d.newWorkSession(), nil
}

// maxWorkSession is how many bytes the name of a work session has at most.
const maxWorkSession = 128

// workSession is the work session of a new task: the one that is asked for, else a new one.
func (d *Desk) workSession(asked string) (string, error) {
	asked = coordination.TrimJS(asked)
	switch {
	case asked == "":
		return d.newWorkSession(), nil
	case len(asked) > maxWorkSession, strings.ContainsFunc(asked, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return "", &task.Refusal{Reason: task.CodeInvalid, Field: "workSessionId", Text: "this is no id of a work session",
			Mend: "give one such as the workSessionId of another task, or none"}
	}
	return coordination.Mask(asked), nil
}
