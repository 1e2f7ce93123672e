package gatewaycli_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/gateway/gatewaycli"
)

var now = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// ask runs a command line, and returns the call that it makes and what it prints.
func ask(line []string, answer string) (call, text string, err error) {
	for _, c := range gatewaycli.CronCommands() {
		if name, _, _ := strings.Cut(c.Use, " "); name != line[0] {
			continue
		}
		flags := pflag.NewFlagSet(line[0], pflag.ContinueOnError)
		if c.Flags != nil {
			c.Flags(flags)
		}
		if err := flags.Parse(line[1:]); err != nil {
			return "", "", err
		}
		_, text, err = c.Ask(context.Background(), func(_ context.Context, method string, params any) (json.RawMessage, error) {
			said, err := json.Marshal(params)
			call = method + " " + string(said)
			return json.RawMessage(answer), err
		}, flags.Args(), flags, now)
		return call, text, err
	}
	return "", "", errors.New("no such command")
}

func TestCommandLines(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"list":                             `cron.list {"includeDisabled":false,"limit":50}`,
		"add|--every|10m|--message|look":   `cron.add {"name":"look","payload":{"kind":"agentTurn","message":"look"},"schedule":{"everyMs":600000,"kind":"every"},"sessionTarget":"isolated"}`,
		"add|--at|20m|--system-event|tea":  `cron.add {"name":"tea","payload":{"kind":"systemEvent","text":"tea"},"schedule":{"at":"2026-11-28T12:20:00Z","kind":"at"},"sessionTarget":"main"}`,
		"edit|j|--cron|0 9 * * *|--tz|UTC": `cron.update {"id":"j","patch":{"schedule":{"expr":"0 9 * * *","kind":"cron","tz":"UTC"}}}`,
		"run|j|--due":                      `cron.run {"id":"j","mode":"due"}`,
		"runs|j|--status|error":            `cron.runs {"id":"j","limit":50,"status":"error"}`,
		"rm|j":                             `cron.remove {"id":"j"}`,
		"edit|j|--check-tool|m__u|--check-arguments|{}|--check-nothing|no": `cron.update {"id":"j","patch":{"check":{"arguments":{},"nothing":"no","tool":"m__u"}}}`,
		"disable|j": `cron.update {"id":"j","patch":{"enabled":false}}`,
	} {
		if call, _, err := ask(strings.Split(line, "|"), "{}"); err != nil || call != want {
			t.Errorf("%s: %v\n got %s\nwant %s", line, err, call, want)
		}
	}
	for _, line := range []string{"add", "add|--every|10m", "add|--every|x|--message|m", "add|--every|1m|--at|2m|--message|m", "add|--tz|UTC|--every|1m|--message|m", "edit|j",
		"add|--every|1m|--message|m|--system-event|e", "edit|j|--check-tool|m__u|--check-arguments|{"} {
		if call, _, err := ask(strings.Split(line, "|"), "{}"); err == nil {
			t.Errorf("%s: asked %s", line, call)
		}
	}
	_, text, err := ask([]string{"list"}, `{"jobs":[{"id":"j","name":"look","enabled":true,"schedule":{"kind":"every","everyMs":60000},"state":{"nextRunAtMs":1795867260000}}],"total":1}`)
	if err != nil || !strings.Contains(text, "every 1m0s") || !strings.Contains(text, "(in 60 s)") || !strings.Contains(text, "1 job") {
		t.Errorf("%v\n%s", err, text)
	}
}
