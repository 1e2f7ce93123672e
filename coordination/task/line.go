package task

import (
	"regexp"
	"strconv"
	"strings"
)

// LineCode is what a decision wrote into the progress of a task.
type LineCode string

const (
	LineStarted        LineCode = "started"
	LineAwaitsApproval LineCode = "awaits_approval"
	LineApproved       LineCode = "approved"
	LineRejected       LineCode = "rejected"
	LineBacklogAdded   LineCode = "backlog_added"
	LineBacklogPicked  LineCode = "backlog_picked"
	LineBlocked        LineCode = "blocked"
	LineResumed        LineCode = "resumed"
	LineReassigned     LineCode = "reassigned" // the task was cancelled, and another agent has a copy
	LineCancelled      LineCode = "cancelled"
	LineForced         LineCode = "forced"     // completed with steps left
	LineStopGuard      LineCode = "stop_guard" // completion refused because of the steps left
	LineCompleted      LineCode = "completed"
	LineUnblockAsked   LineCode = "unblock_asked"       // another agent was asked to unblock the task
	LineUnblockFailed  LineCode = "unblock_failed"      // that request was not delivered
	LineUnblockInVain  LineCode = "unblock_in_vain"     // it was asked for as often as allowed
	LineNotReached     LineCode = "unblock_not_reached" // none of those who could unblock it was
	LineNoHelper       LineCode = "unblock_no_helper"   // no agent may be asked
	LineReturned       LineCode = "returned"            // to the backlog, for lack of progress
	LineInterrupted    LineCode = "interrupted"         // for lack of progress, after some returns
	LineStepsDefined   LineCode = "steps_defined"
	LineStepsReordered LineCode = "steps_reordered"
	LineStepAdded      LineCode = "step_added"
	LineStepCompleted  LineCode = "step_completed"
	LineStepSkipped    LineCode = "step_skipped"
	LineStepStarted    LineCode = "step_started"
)

// Line is a line of progress, for readers in other languages than that of the line. Without Code an agent or a person wrote it.
type Line struct {
	Text   string   `json:"text"` // as stored
	Code   LineCode `json:"code,omitempty"`
	By     string   `json:"by,omitempty"` // who decided
	To     string   `json:"to,omitempty"` // the agent that the task was given to
	TaskID string   `json:"taskId,omitempty"`
	Reason string   `json:"reason,omitempty"`
	Step   string   `json:"step,omitempty"`  // its text
	Steps  []string `json:"steps,omitempty"` // ids of those left
	Count  int      `json:"count,omitempty"` // of steps, requests or times
	Hours  int      `json:"hours,omitempty"` // without progress
}

// lineForms are the lines that decisions write, and those of OpenClaw; the first that matches counts.
var lineForms = []struct {
	code LineCode
	form *regexp.Regexp
}{
	{LineStarted, regexp.MustCompile(`^Task started$`)},
	{LineAwaitsApproval, regexp.MustCompile(`^Task created - awaiting approval$`)},
	{LineApproved, regexp.MustCompile(`^Task approved by (?P<by>.+)$`)},
	{LineRejected, regexp.MustCompile(`^` + rejectedBy + `(?P<by>[^\n]+?)(?:: (?P<reason>(?s:.+)))?$`)},
	{LineBacklogAdded, regexp.MustCompile(`^Added to backlog(?: by (?P<by>.+))?$`)},
	{LineBacklogPicked, regexp.MustCompile(`^Picked from backlog$`)},
	{LineBlocked, regexp.MustCompile(`^\[BLOCKED\] (?P<reason>(?s:.+))$`)},
	{LineResumed, regexp.MustCompile(`^Task resumed(?: by (?P<by>[^\n]+?))?(?:: (?P<reason>(?s:.+)))?$`)},
	{LineReassigned, regexp.MustCompile(`^Task cancelled: Reassigned by (?P<by>.+) to (?P<to>\S+) as (?P<task>\S+)$`)},
	{LineCancelled, regexp.MustCompile(`^Task cancelled(?:: (?P<reason>(?s:.+)))?$`)},
	{LineForced, regexp.MustCompile(`^\[FORCE COMPLETE\] Steps left: (?P<steps>.+)$`)},
	{LineStopGuard, regexp.MustCompile(`^\[STOP GUARD\] Completion refused: (?P<count>[0-9]{1,9}) steps? left$`)},
	{LineCompleted, regexp.MustCompile(`^Task completed(?:: (?P<reason>(?s:.+)))?$`)},
	{LineUnblockAsked, regexp.MustCompile(`^\[UNBLOCK\] request (?P<count>[0-9]{1,9}) of [0-9]+ to (?P<to>\S+)$`)},
	{LineUnblockFailed, regexp.MustCompile(`^\[UNBLOCK\] request to (?P<to>\S+) not delivered \((?P<count>[0-9]{1,9}) of [0-9]+\)$`)},
	{LineUnblockInVain, regexp.MustCompile(`^\[UNBLOCK\] help was asked for (?:(?P<once>once)|(?P<count>[0-9]{1,9}) times), and it was not unblocked$`)},
	{LineNotReached, regexp.MustCompile(`^\[UNBLOCK\] those who could help could not be reached$`)},
	{LineNoHelper, regexp.MustCompile(`^\[UNBLOCK\] no agent may be asked for help$`)},
	{LineReturned, regexp.MustCompile(`^Moved to backlog: no activity for (?P<hours>[0-9]{1,9}) h$`)},
	{LineInterrupted, regexp.MustCompile(`^Interrupted: no activity for (?P<hours>[0-9]{1,9}) h, for the (?P<count>[0-9]{1,9})(?:st|nd|rd|th) time$`)},
	{LineStepsDefined, regexp.MustCompile(`^Steps defined: (?P<count>[0-9]{1,9})$`)},
	{LineStepsReordered, regexp.MustCompile(`^Steps reordered$`)},
	{LineStepAdded, regexp.MustCompile(`^\[s[0-9]+\] Added: (?P<step>(?s:.+))$`)},
	{LineStepCompleted, regexp.MustCompile(`^\[s[0-9]+\] Completed: (?P<step>(?s:.+))$`)},
	{LineStepSkipped, regexp.MustCompile(`^\[s[0-9]+\] Skipped: (?P<step>(?s:.+))$`)},
	{LineStepStarted, regexp.MustCompile(`^\[s[0-9]+\] Started: (?P<step>(?s:.+))$`)},
}

// ReadLine reads a line of progress. An agent that writes such a line itself is taken at its word.
func ReadLine(text string) Line {
	l := Line{Text: text}
	for i := range lineForms {
		parts := lineForms[i].form.FindStringSubmatch(text)
		if parts == nil {
			continue
		}
		l.Code = lineForms[i].code
		for n, name := range lineForms[i].form.SubexpNames() {
			l.set(name, parts[n])
		}
		break
	}
	return l
}

func (l *Line) set(name, part string) {
	switch name {
	case "by":
		l.By = part
	case "to":
		l.To = part
	case "task":
		l.TaskID = part
	case "reason":
		l.Reason = part
	case "step":
		l.Step = part
	case "steps":
		l.Steps = strings.Split(part, ", ")
	case "once":
		if part != "" {
			l.Count = 1
		}
	case "hours":
		l.Hours, _ = strconv.Atoi(part) // digits only
	case "count":
		if part == "" {
			return
		}
		l.Count, _ = strconv.Atoi(part) // digits only
	}
}
