package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/shared"
	"github.com/pronto-lab/openclawd/gateway/talkerror"
	"github.com/pronto-lab/openclawd/internal/output"
	"github.com/pronto-lab/openclawd/maintenance/verify"
)

// Exit codes. 75 and 78 are EX_TEMPFAIL and EX_CONFIG of sysexits.h: a supervisor may retry after 75, never after 78.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
	exitAgain  = 75 // locked by another process, busy, or interrupted: the same command may succeed later
	exitConfig = 78
	exitBroken = 130 // stopped with Ctrl-C, the shells' convention
)

func exitCode(err error) int {
	var (
		usage  *usageError
		config *config.SettingError
		locked *eventstore.LockedError
		held   *eventstore.BusyError
		late   *lateError
		lost   *lostError
		called *callError
		busy   *busyError
		broken *talkerror.Interrupted
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
	case errors.As(err, &config), shared.Fatal(err) != nil:
		return exitConfig
	}
	return exitFailed
}

// isPending reports whether verification has to wait for an unfinished redaction.
func isPending(err error) bool {
	_, pending := errors.AsType[*verify.PendingError](err)
	return pending
}

// report prints an error and its hint.
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
		failure.Code, failure.Hint = "interrupted", "finished work is stored; run the command again"
	case errors.Is(err, eventstore.ErrNotFound):
		failure.Code, failure.Hint = "not_found", "openclawd events query lists the events"
	}
	var called *callError
	if errors.As(err, &called) {
		failure.Details = called.Details()
	}
	if p.wantsJSON() {
		_ = output.JSONLine(p.stderr, failure) // strings, and what was decoded from JSON, always marshal
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

// codedError has a stable code, and a hint unless that is "". err is what it wraps, or nil.
type codedError struct {
	text, code, hint string
	err              error
}

func (e *codedError) Error() string { return e.text }
func (e *codedError) Code() string  { return e.code }
func (e *codedError) Hint() string  { return e.hint }
func (e *codedError) Unwrap() error { return e.err }

// unknown reports that there is no such thing.
func unknown(thing, name, code, hint string) error {
	return &codedError{text: fmt.Sprintf("unknown %s %q", thing, name), code: code, hint: hint}
}

// usageError reports an invalid command line.
type usageError struct {
	command string
	err     error
}

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }
func (e *usageError) Code() string  { return "usage" }
func (e *usageError) Hint() string  { return "see " + e.command + " --help" }

// flagError distinguishes an unknown flag from an invalid value.
func flagError(cmd *cobra.Command, err error) error {
	var bad *pflag.InvalidValueError
	if errors.As(err, &bad) {
		return &config.SettingError{Setting: "--" + bad.GetFlag().Name, Value: bad.GetValue(),
			HintText: fmt.Sprintf("give a value of type %s; see %s --help", bad.GetFlag().Value.Type(), cmd.CommandPath())}
	}
	return &usageError{command: cmd.CommandPath(), err: err}
}
