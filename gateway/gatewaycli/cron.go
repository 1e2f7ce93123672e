package gatewaycli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/internal/output"
)

// someID is an id in examples.
const someID = "5f0c9d52-6d8a-4b7e-9d53-2f8f0a1c7e44"

// CronCommands lists the subcommands of cron.
func CronCommands() []Command {
	one := func(use, short, method string, patch any, said string) Command {
		return Command{use, short, 1, nil, strings.Replace(use, "ID", someID, 1), func(ctx context.Context, call Caller, args []string, _ *pflag.FlagSet, _ time.Time) (json.RawMessage, string, error) {
			params := map[string]any{"id": args[0]}
			if patch != nil {
				params["patch"] = patch
			}
			answer, err := call(ctx, method, params)
			if said == "" {
				return answer, "", err
			}
			return answer, fmt.Sprintf(said, output.Printable(args[0])), err
		}}
	}
	return []Command{
		{"list", "List scheduled jobs, the next one first", 0, listFlags, "list --all --agent eden", askList},
		{"add", "Add a job", 0, jobFlags, `add --cron "0 9 * * 1-5" --tz Asia/Seoul --message "Write the report"`, askAdd},
		{"edit ID", "Change what is given of a job", 1, jobFlags, "edit " + someID + " --every 2h", askEdit},
		one("show ID", "Show a job as JSON", "cron.get", nil, ""),
		{"run ID", "Run a job now", 1, runFlags, "run " + someID, askRun},
		{"runs [ID]", "List runs that are over, newest first", -1, runsFlags, "runs " + someID + " --status error --json", askRuns},
		one("rm ID", "Remove a job", "cron.remove", nil, "removed %s"),
		one("enable ID", "Enable a job; its due time is computed from now", "cron.update", map[string]any{"enabled": true}, "enabled %s"),
		one("disable ID", "Disable a job; it is kept", "cron.update", map[string]any{"enabled": false}, "disabled %s"),
		{"status", "Show whether jobs are started, and when the next one is due", 0, nil, "status", askStatus},
	}
}

func jobFlags(f *pflag.FlagSet) {
	f.String("name", "", "what the job is called: `TEXT`")
	f.String("description", "", "what it is for: `TEXT`")
	f.String("agent", "", "`ID` of the agent; by default the default agent")
	f.String("at", "", "once at a `TIME` such as 2026-12-24T18:00+09:00, or after a duration such as 20m")
	f.String("every", "", "each `DURATION` such as 10m or 1h")
	f.String("cron", "", "at the times of a cron `EXPRESSION` of 5 to 7 fields")
	f.String("tz", "", "time `ZONE` of the expression, e.g. Asia/Seoul; by default the server's")
	f.String("message", "", "run an own session with this `TEXT`")
	f.String("system-event", "", "tell the agent's main session this `TEXT`")
	f.String("session-key", "", "`KEY` of another session for --system-event")
	f.String("model", "", "model of --message, provider/`ID`")
	f.String("thinking", "", "thinking `LEVEL` of --message")
	f.Int64("timeout-seconds", 0, "time limit of --message, `N` seconds")
	f.Bool("announce", false, "post the answer of --message in a channel")
	f.String("channel", "", "`CHANNEL` for --announce: last, discord, telegram, slack")
	f.String("to", "", "`PLACE` in the channel, e.g. channel:123")
	f.String("account", "", "`ID` of the account that posts")
	f.String("missed", "", "`RULE` for times that were missed: skip, last, all")
	f.Int("max-runs", 0, "end the job after `N` runs; 0: never")
	f.StringArray("check", nil, "program and arguments, each with --check `WORD`: exit status 0: run, 1: there is nothing to do")
	f.String("check-tool", "", "`NAME` of an MCP server's tool, server__tool, instead of --check")
	f.String("check-arguments", "", "`JSON` object that --check-tool is called with")
	f.String("check-nothing", "", "a result of --check-tool with this `TEXT` in it says that there is nothing to do")
	f.Bool("keep-after-run", false, "keep a job of --at after its run")
	f.Bool("disabled", false, "add it disabled")
}

// paramsOf are the members of a job that the flags give.
func paramsOf(f *pflag.FlagSet, now time.Time) (map[string]any, error) {
	p := map[string]any{}
	for flag, member := range map[string]string{"name": "name", "description": "description", "agent": "agentId", "session-key": "sessionKey", "missed": "missed"} {
		if f.Changed(flag) {
			p[member], _ = f.GetString(flag)
		}
	}
	if f.Changed("max-runs") {
		p["maxRuns"], _ = f.GetInt("max-runs")
	}
	if err := checkOf(p, f); err != nil {
		return nil, err
	}
	if f.Changed("keep-after-run") {
		keep, _ := f.GetBool("keep-after-run")
		p["deleteAfterRun"] = !keep
	}
	if f.Changed("disabled") {
		off, _ := f.GetBool("disabled")
		p["enabled"] = !off
	}
	if err := scheduleOf(p, f, now); err != nil {
		return nil, err
	}
	return p, payloadOf(p, f)
}

func checkOf(p map[string]any, f *pflag.FlagSet) error {
	check := map[string]any{}
	if words, _ := f.GetStringArray("check"); len(words) > 0 {
		check["command"] = words
	}
	for flag, member := range map[string]string{"check-tool": "tool", "check-nothing": "nothing"} {
		if f.Changed(flag) {
			check[member], _ = f.GetString(flag)
		}
	}
	if text, _ := f.GetString("check-arguments"); text != "" {
		if !json.Valid([]byte(text)) {
			return fmt.Errorf("--check-arguments: %q is no JSON: give an object such as {\"folder\": \"inbox\"}", coordination.Head(text, 80))
		}
		check["arguments"] = json.RawMessage(text)
	}
	if len(check) > 0 {
		p["check"] = check
	}
	return nil
}

func scheduleOf(p map[string]any, f *pflag.FlagSet, now time.Time) error {
	at, _ := f.GetString("at")
	every, _ := f.GetString("every")
	cron, _ := f.GetString("cron")
	zone, _ := f.GetString("tz")
	switch given := len(filled(at, every, cron)); {
	case given > 1:
		return errors.New("give one of --at, --every and --cron")
	case zone != "" && cron == "":
		return errors.New("--tz belongs to --cron")
	case at != "":
		if d, err := time.ParseDuration(strings.TrimPrefix(at, "+")); err == nil {
			at = now.Add(d).UTC().Format(time.RFC3339)
		}
		p["schedule"] = map[string]any{"kind": "at", "at": at}
	case every != "":
		d, err := time.ParseDuration(every)
		if err != nil {
			return fmt.Errorf("--every: %q is no duration: give one such as 10m or 24h", every)
		}
		p["schedule"] = map[string]any{"kind": "every", "everyMs": d.Milliseconds()}
	case cron != "":
		s := map[string]any{"kind": "cron", "expr": cron}
		if zone != "" {
			s["tz"] = zone
		}
		p["schedule"] = s
	}
	return nil
}

func filled(texts ...string) (given []string) {
	for _, t := range texts {
		if t != "" {
			given = append(given, t)
		}
	}
	return given
}

func payloadOf(p map[string]any, f *pflag.FlagSet) error {
	event, _ := f.GetString("system-event")
	payload := map[string]any{}
	for _, flag := range [...]string{"message", "model", "thinking"} {
		if f.Changed(flag) {
			payload[flag], _ = f.GetString(flag)
		}
	}
	if f.Changed("timeout-seconds") {
		payload["timeoutSeconds"], _ = f.GetInt64("timeout-seconds")
	}
	switch {
	case event != "" && len(payload) > 0:
		return errors.New("--system-event is for the main session; --message, --model, --thinking and --timeout-seconds for an own one: give one kind")
	case event != "":
		p["payload"], p["sessionTarget"] = map[string]any{"kind": "systemEvent", "text": event}, "main"
	case len(payload) > 0:
		payload["kind"] = "agentTurn"
		p["payload"], p["sessionTarget"] = payload, "isolated"
	}
	delivery := map[string]any{}
	if f.Changed("announce") {
		delivery["mode"] = "none"
		if on, _ := f.GetBool("announce"); on {
			delivery["mode"] = "announce"
		}
	}
	for flag, member := range map[string]string{"channel": "channel", "to": "to", "account": "accountId"} {
		if f.Changed(flag) {
			delivery[member], _ = f.GetString(flag)
		}
	}
	if len(delivery) > 0 {
		p["delivery"] = delivery
	}
	return nil
}

func askAdd(ctx context.Context, call Caller, _ []string, f *pflag.FlagSet, now time.Time) (json.RawMessage, string, error) {
	p, err := paramsOf(f, now)
	switch {
	case err != nil:
		return nil, "", err
	case p["schedule"] == nil:
		return nil, "", errors.New("say when: give --at, --every or --cron")
	case p["payload"] == nil:
		return nil, "", errors.New("say what: give --message or --system-event")
	}
	if p["name"] == nil {
		p["name"] = nameOf(p["payload"].(map[string]any))
	}
	return changed(ctx, call, "cron.add", p, "added", now)
}

// nameOf is the name of a job without one: the beginning of what it says.
func nameOf(payload map[string]any) string {
	text, _ := payload["message"].(string)
	if text == "" {
		text, _ = payload["text"].(string)
	}
	return coordination.Head(strings.Join(strings.Fields(text), " "), 40)
}

func askEdit(ctx context.Context, call Caller, args []string, f *pflag.FlagSet, now time.Time) (json.RawMessage, string, error) {
	p, err := paramsOf(f, now)
	if err == nil && len(p) == 0 {
		err = errors.New("nothing is to be changed: give what, e.g. --name TEXT")
	}
	if err != nil {
		return nil, "", err
	}
	return changed(ctx, call, "cron.update", map[string]any{"id": args[0], "patch": p}, "changed", now)
}

func changed(ctx context.Context, call Caller, method string, params any, did string, now time.Time) (json.RawMessage, string, error) {
	answer, err := call(ctx, method, params)
	var j job
	if err == nil {
		err = json.Unmarshal(answer, &j)
	}
	next := "it is not due"
	if j.State.NextRunAt > 0 {
		next = "next run " + when(j.State.NextRunAt, now)
	}
	return answer, fmt.Sprintf("%s %s %s: %s", did, output.Printable(j.ID), output.Printable(j.Name), next), err
}

func runFlags(f *pflag.FlagSet) { f.Bool("due", false, "only if it is due") }

func askRun(ctx context.Context, call Caller, args []string, f *pflag.FlagSet, _ time.Time) (json.RawMessage, string, error) {
	mode := "force"
	if due, _ := f.GetBool("due"); due {
		mode = "due"
	}
	answer, err := call(ctx, "cron.run", map[string]any{"id": args[0], "mode": mode})
	var ran struct{ RunID, Reason string }
	if err == nil {
		err = json.Unmarshal(answer, &ran)
	}
	if ran.RunID == "" {
		return answer, "not run: " + output.Printable(ran.Reason), err
	}
	return answer, "started: " + output.Printable(ran.RunID) + "; its end: openclawd cron runs " + output.Printable(args[0]), err
}

func askStatus(ctx context.Context, call Caller, _ []string, _ *pflag.FlagSet, now time.Time) (json.RawMessage, string, error) {
	answer, err := call(ctx, "cron.status", struct{}{})
	var s struct {
		Enabled    bool
		Jobs       int64
		NextWakeAt int64 `json:"nextWakeAtMs"`
	}
	if err == nil {
		err = json.Unmarshal(answer, &s)
	}
	text := output.Count(s.Jobs, "job")
	switch {
	case !s.Enabled:
		text += "; none is started: cron.enabled is false, or no agents run here"
	case s.NextWakeAt > 0:
		text += "; the next is due " + when(s.NextWakeAt, now)
	}
	return answer, text, err
}

// when is a time for people.
func when(ms int64, now time.Time) string {
	if ms == 0 {
		return ""
	}
	at := time.UnixMilli(ms)
	d := at.Sub(now).Round(time.Second)
	if d < 0 {
		return at.Format(time.DateTime) + " (" + shortly(-d) + " ago)"
	}
	return at.Format(time.DateTime) + " (in " + shortly(d) + ")"
}

func shortly(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return strconv.Itoa(int(d.Hours()/24)) + " d"
	case d >= 2*time.Hour:
		return strconv.Itoa(int(d.Hours())) + " h"
	case d >= 2*time.Minute:
		return strconv.Itoa(int(d.Minutes())) + " min"
	}
	return strconv.Itoa(int(d.Seconds())) + " s"
}

func table(head []string, rows [][]string, note string) (string, error) {
	var b bytes.Buffer
	if err := output.Table(&b, head, rows); err != nil {
		return "", err
	}
	return b.String() + note, nil
}
