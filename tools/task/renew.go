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

// Renewed is the new work session of a task that is gone on with, "" if it stays in its own: that is not archived. now is in ms since
// 1970.
func (d *Desk) Renewed(tx eventstore.Tx, t *task.Task, now int64) (string, error) {
	if t.WorkSessionID == "" {
		return "", nil
	}
	if archived, err := isArchived(tx, t.WorkSessionID, t.ActiveAt, now); !archived || err != nil {
		return "", err
	}
	return d.newWorkSession(), nil
}

// Joins is the work session that a task joins which there is, but without one: that of what was done for it last unless it is archived, else a
// new one. "" is for all others. now is in ms since 1970.
func (d *Desk) Joins(tx eventstore.Tx, t *task.Task, now int64) (string, error) {
	if t.Status == "" || t.WorkSessionID != "" {
		return "", nil
	}
	last, err := conversation.WorkSessionOfTask(tx, t.ID)
	if err != nil {
		return "", err
	}
	if last != "" {
		if archived, err := isArchived(tx, last, t.ActiveAt, now); !archived || err != nil {
			return last, err
		}
	}
	return d.newWorkSession(), nil
}

// isArchived reports whether nothing has happened in a work session for so long that it is at an end. Where it is not known, activeMs is when
// something did, ms since 1970.
func isArchived(tx eventstore.Tx, workSession string, activeMs, now int64) (bool, error) {
	last, known, err := conversation.LastActivity(tx, workSession)
	if !known {
		last = activeMs
	}
	return now-last > coordination.ArchiveAfterMs, err
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
