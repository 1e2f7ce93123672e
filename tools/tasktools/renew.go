package tasktools

import (
	"strings"
	"unicode"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/task"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/projections/conversations"
)

const workSessionPrefix = "ws_"

// newWorkSession returns the name of a new work session.
func (s *Service) newWorkSession() string { return workSessionPrefix + s.o.NewID() }

// Renewed returns a new work session for a task that continues, "" if its own is not archived. now is in ms since 1970.
func (s *Service) Renewed(tx eventstore.Tx, t *task.Task, now int64) (string, error) {
	if t.WorkSessionID == "" {
		return "", nil
	}
	if archived, err := isArchived(tx, t.WorkSessionID, t.ActiveAt, now); !archived || err != nil {
		return "", err
	}
	return s.newWorkSession(), nil
}

// Joins returns the work session for an existing task that has none: that of its last activity unless it is archived, else a new one. ""
// is for all other tasks. now is in ms since 1970.
func (s *Service) Joins(tx eventstore.Tx, t *task.Task, now int64) (string, error) {
	if t.Status == "" || t.WorkSessionID != "" {
		return "", nil
	}
	last, err := conversations.WorkSessionOfTask(tx, t.ID)
	if err != nil {
		return "", err
	}
	if last != "" {
		if archived, err := isArchived(tx, last, t.ActiveAt, now); !archived || err != nil {
			return last, err
		}
	}
	return s.newWorkSession(), nil
}

// isArchived reports whether a work session has been inactive for so long that it is archived. If it is not known, activeMs is the time
// of its last activity, in ms since 1970.
func isArchived(tx eventstore.Tx, workSession string, activeMs, now int64) (bool, error) {
	last, known, err := conversations.LastActivity(tx, workSession)
	if !known {
		last = activeMs
	}
	return now-last > coordination.ArchiveAfterMs, err
}

const maxWorkSession = 128

// workSession returns the work session of a new task: the requested one, else a new one.
func (s *Service) workSession(asked string) (string, error) {
	asked = coordination.TrimJS(asked)
	switch {
	case asked == "":
		return s.newWorkSession(), nil
	case len(asked) > maxWorkSession, strings.ContainsFunc(asked, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return "", &task.Refusal{Reason: task.CodeInvalid, Field: "workSessionId", Text: "this is not a valid work session id",
			HintText: "give one such as the workSessionId of another task, or none"}
	}
	return coordination.Mask(asked), nil
}
