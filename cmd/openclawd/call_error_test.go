package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
	"github.com/pronto-lab/openclawd/gateway/protocol"
)

// A script can tell from the exit code whether to ask again, to fix a setting, or to give up; and people are told what to do.
func TestCallsThatFailSayWhatToDo(t *testing.T) {
	t.Parallel()
	refused := func(e *protocol.Error) error {
		return dialError("ws://x", fmt.Errorf("dial: %w", &client.RefusedError{Reason: e}))
	}
	asked := func(e *protocol.Error, unlisted bool) error {
		return errors.Join(&callError{reason: e, unlisted: unlisted}, nil)
	}
	for name, c := range map[string]struct {
		err        error
		exit       int
		code, hint string
	}{
		"a wrong token": {refused(&protocol.Error{Code: protocol.CodeInvalidRequest, Message: "x", Details: map[string]string{"code": "AUTH_TOKEN_MISMATCH"}}),
			exitConfig, "INVALID_REQUEST", "openclawd token prints"},
		"not paired": {refused(&protocol.Error{Code: protocol.CodeNotPaired, Message: "x"}), exitConfig, "NOT_PAIRED", "openclawd token prints"},
		"another protocol": {refused(&protocol.Error{Code: protocol.CodeInvalidRequest, Message: "x", Details: map[string]any{"expectedProtocol": 5}}),
			exitFailed, "INVALID_REQUEST", ""},
		"too many wrong tokens": {refused(&protocol.Error{Code: protocol.CodeInvalidRequest, Message: "x", Retryable: true, RetryAfter: 90_000}),
			exitAgain, "INVALID_REQUEST", "try again in 1m30s"},
		"busy":           {asked(&protocol.Error{Code: protocol.CodeUnavailable, Message: "x", Retryable: true}, false), exitAgain, "UNAVAILABLE", "try again later"},
		"not possible":   {asked(&protocol.Error{Code: protocol.CodeUnavailable, Message: "x"}, false), exitFailed, "UNAVAILABLE", ""},
		"unknown":        {asked(&protocol.Error{Code: protocol.CodeInvalidRequest, Message: "x"}, true), exitFailed, "INVALID_REQUEST", "call --list"},
		"a wrong field":  {asked(&protocol.Error{Code: protocol.CodeInvalidRequest, Message: "x", Details: map[string]string{"field": "key", "hint": "add it"}}, false), exitFailed, "INVALID_REQUEST", "key: add it"},
		"not in time":    {dialError("ws://x", fmt.Errorf("connect: %w", &lateError{time.Second})), exitAgain, "timeout", "--timeout"},
		"cut off":        {&lostError{&client.ClosedError{Code: 1012}}, exitAgain, "connection_lost", "when the gateway is back"},
		"interrupted":    {dialError("ws://x", context.Canceled), exitAgain, "interrupted", "run the command again"},
		"no server":      {dialError("ws://x", errors.New("connection refused")), exitFailed, "no_gateway", "openclawd serve starts one"},
		"something else": {dialError("ws://x", &client.UpgradeError{URL: "ws://x", Status: 404}), exitFailed, "no_gateway", "check what listens there"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := exitCode(c.err); got != c.exit {
				t.Errorf("exit code %d, want %d", got, c.exit)
			}
			var said, told bytes.Buffer
			(&process{stderr: &said, args: []string{"--json"}}).report(c.err)
			(&process{stderr: &told}).report(c.err)
			if !strings.Contains(said.String(), fmt.Sprintf(`"code":%q`, c.code)) || !strings.Contains(told.String(), c.hint) {
				t.Errorf("%s%s", said.String(), told.String())
			}
			if c.hint == "" && strings.Contains(told.String(), "token prints") {
				t.Errorf("%s", told.String())
			}
		})
	}
}
