package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
	"github.com/pronto-lab/openclawd/cmd/openclawd/proof"
	"github.com/pronto-lab/openclawd/cmd/openclawd/settings"
	"github.com/pronto-lab/openclawd/eventstore"
)

// Exit codes. 75 and 78 are EX_TEMPFAIL and EX_CONFIG of sysexits.h: a supervisor may try again after the one, never after the other.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitAgain  = 75 // locked by another, busy, or interrupted: the same command may succeed later
	exitConfig = 78
	exitBroken = 130 // stopped from the keyboard, as shells count it
)

func exitCode(err error) int {
	var (
		usage  *usageError
		config *settings.Error
		locked *eventstore.LockedError
		held   *eventstore.BusyError
		late   *lateError
		lost   *lostError
		called *callError
		busy   *busyError
		broken *interruptedError
	)
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &broken):
		return exitBroken
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &called):
		return called.exit()
	case errors.As(err, &locked), errors.As(err, &held), errors.As(err, &late), errors.As(err, &lost), errors.As(err, &busy),
		errors.Is(err, context.Canceled), isPending(err):
		return exitAgain
	case errors.As(err, &config):
		return exitConfig
	}
	return exitFailed
}

// isPending reports whether something cannot be proved before a redaction is finished.
func isPending(err error) bool {
	_, pending := errors.AsType[*proof.PendingError](err)
	return pending
}

// report tells the user what went wrong and what to do about it.
func (p *process) report(err error) {
	failure := struct {
		Error string `json:"error"`
		Code  string `json:"code"`
		Hint  string `json:"hint"`

		Details any `json:"details,omitempty"`
	}{err.Error(), "failed", "", nil}
	var coded eventstore.Coded
	switch {
	case errors.As(err, &coded):
		failure.Code, failure.Hint = coded.Code(), coded.Hint()
	case errors.Is(err, context.Canceled):
		failure.Code, failure.Hint = "interrupted", "what was finished is stored; the command can simply be run again"
	case errors.Is(err, eventstore.ErrNotFound):
		failure.Code, failure.Hint = "not_found", "openclawd events query lists what is there"
	}
	var called *callError
	if errors.As(err, &called) {
		failure.Details = called.Details()
	}
	if p.wantsJSON() {
		_ = output.JSONLine(p.stderr, failure) // texts, and what has been JSON before, always marshal
		return
	}
	if called != nil {
		failure.Error += " (" + failure.Code + ")"
	}
	fmt.Fprintf(p.stderr, "error: %s\n", failure.Error)
	if failure.Details != nil {
		fmt.Fprint(p.stderr, "details: ")
		_ = output.JSONLine(p.stderr, failure.Details)
	}
	if failure.Hint != "" {
		fmt.Fprintf(p.stderr, "hint: %s\n", failure.Hint)
	}
}

// usageError says that the command line itself makes no sense.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) Code() string  { return "usage" }
func (e *usageError) Hint() string  { return "see " + e.command + " --help" }

// flagError tells a flag that does not exist from one whose value is bad.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return &settings.Error{Setting: "--" + bad.GetFlag().Name, Value: bad.GetValue(),
			Mend: fmt.Sprintf("give a value of type %s; see %s --help", bad.GetFlag().Value.Type(), cmd.CommandPath())}
	}
	return &usageError{command: cmd.CommandPath(), err: err}
}
