package scheduler

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/worker"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/schedule"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/internal/subprocess"
	"github.com/pronto-lab/openclawd/projections/schedules"
	"github.com/pronto-lab/openclawd/projections/workqueue"
	"github.com/pronto-lab/openclawd/sandbox"
)

// Work kind and pool of checks.
const (
	CheckKind = "cron.check"
	CheckPool = "cron.check"
)

const (
	usualCheck = time.Minute
	maxFound   = 8 << 10 // bytes of a check's output that the agent is told
	nothing    = 1       // exit status: there is nothing to do
)

// checkPayload is the payload of the work.
type checkPayload struct {
	JobID      string `json:"jobId"`
	RunID      string `json:"runId"`
	AgentID    string `json:"agentId,omitempty"`
	SessionKey string `json:"sessionKey,omitempty"`
	coordination.CronCheck
}

// checkResult is the result of a check.
type checkResult struct {
	Nothing bool   `json:"nothing,omitempty"`
	Found   string `json:"found,omitempty"`
}

// queueCheck queues what decides whether there is anything to do.
func (b *beginning) queueCheck(row *schedules.Row) error {
	j := &row.Job
	if !b.o.Config().Cron.Checks {
		return b.finish(row, coordination.CronRunFinished{Status: schedule.Error, DeliveryStatus: schedule.NotRequested, Error: errChecksOff.Error()})
	}
	payload, err := json.Marshal(checkPayload{j.ID, row.RunID, j.AgentID, b.session(j).String(), *j.Check})
	if err != nil {
		return fmt.Errorf("write the check of a job: %w", err)
	}
	what := coordination.WorkScheduled{Context: seenBy, EffectID: row.RunID, Kind: CheckKind, Key: "cron/" + j.ID, Pool: CheckPool, Owner: j.AgentID, Payload: payload}
	a := eventstore.StreamAppend{Stream: coordination.WorkStream(row.RunID), Expect: eventstore.NoStream()}
	err = a.Add(eventstore.NewEvent{Type: coordination.TypeWorkScheduled, AgentID: j.AgentID, Actor: eventstore.ActorSchedule}, what, b.now.UnixMilli())
	b.appends = append(b.appends, a)
	return err
}

// Checks returns the handler of checks. A command is run again after a crash, so it must only look; a tool only if it says that it may be.
func (x *Service) Checks() worker.Handler {
	return worker.Task(worker.Policy{MaxAttempts: 2, Timeout: schedule.MaxCheck*time.Second + time.Minute, Then: x.checked}, x.runCheck)
}

var errChecksOff = errors.New("the job has a check, and checks are off: set cron.triggers.enabled to true")

// runCheck asks a command or a tool.
func (x *Service) runCheck(ctx context.Context, _ workqueue.Item, what *coordination.WorkScheduled) (json.RawMessage, error) {
	p, err := payloadOf(what.Payload)
	if err != nil {
		return nil, worker.Permanent(err)
	}
	conf := x.o.Config()
	if !conf.Cron.Checks { // switched off since it was queued
		return nil, worker.Permanent(errChecksOff)
	}
	ctx, stop := context.WithTimeout(ctx, cmp.Or(time.Duration(p.TimeoutSeconds)*time.Second, usualCheck))
	defer stop()
	agent := cmp.Or(p.AgentID, conf.DefaultAgentID())
	ask := x.askCommand
	if p.Tool != "" {
		ask = x.askTool
	}
	result, err := ask(ctx, conf, agent, &p)
	switch {
	case context.Cause(ctx) == worker.ErrDrained:
		return nil, context.Cause(ctx)
	case err != nil:
		return nil, worker.Permanent(fmt.Errorf("the check failed: %w", err))
	}
	return json.Marshal(result)
}

// askCommand runs the command in the sandbox of the agent's own commands; without one, if the configuration says that there is none.
func (x *Service) askCommand(ctx context.Context, conf *config.Config, agent string, p *checkPayload) (result checkResult, err error) {
	out, failed := &bounded{most: maxFound}, &bounded{most: maxError}
	exit, ended := 0, ""
	switch {
	case conf.Tools.Exec.Sandbox == config.SandboxOff:
		exit, err = x.runPlain(ctx, conf, agent, p.Command, out, failed)
	case x.o.Commands == nil:
		err = errNoCommands
	default:
		exit, ended, err = x.o.Commands.Run(ctx, conf, agent, p.Command, out, failed)
	}
	switch {
	case err == nil && ctx.Err() != nil:
		err = ctx.Err()
	case err == nil && ended != "":
		err = fmt.Errorf("it was ended: %s", ended)
	case err == nil && exit == nothing:
		return checkResult{Nothing: true}, nil
	case err == nil && exit == 0:
		return checkResult{Found: clean(out.String(), maxFound)}, nil
	case err == nil:
		err = fmt.Errorf("exit status %d", exit)
	}
	return checkResult{}, fmt.Errorf("%w: %s", err, clean(failed.String(), maxError))
}

// askTool calls the tool of an MCP server as the job's agent, so the agent's policy decides and the call is recorded like any other. A
// repetition after a crash is the same call.
func (x *Service) askTool(ctx context.Context, _ *config.Config, agent string, p *checkPayload) (checkResult, error) {
	if x.o.Tools == nil || x.o.Tools() == nil {
		return checkResult{}, errNoTools
	}
	arguments := p.Arguments
	if len(arguments) == 0 {
		arguments = json.RawMessage("{}")
	}
	out, err := x.o.Tools().Call(ctx, tool.Caller{Entry: tool.ByJob, AgentID: agent, SessionKey: p.SessionKey, CallID: p.RunID, By: "job " + p.JobID}, p.Tool, arguments)
	switch refused := (*tool.Error)(nil); {
	case errors.As(err, &refused):
		return checkResult{}, fmt.Errorf("%s: %s: %s", p.Tool, refused.Text, refused.Hint)
	case err != nil:
		return checkResult{}, fmt.Errorf("%s: %w", p.Tool, err)
	case out.IsError:
		return checkResult{}, fmt.Errorf("%s: %s", p.Tool, clean(out.Text, maxError))
	case saysNothing(out.Text, p.Nothing):
		return checkResult{Nothing: true}, nil
	}
	return checkResult{Found: clean(out.Text, maxFound)}, nil
}

// saysNothing reports whether a result means that there is nothing to do: it has no value in it, or a text that the job names.
func saysNothing(result, nothing string) bool {
	switch strings.TrimSpace(result) {
	case "", "false", "null", "0", `""`, "[]", "{}":
		return true
	}
	return nothing != "" && strings.Contains(result, nothing)
}

var errNoTools = errors.New("no tools are called here")

var errNoCommands = errors.New("no commands are run here")

// runPlain runs a command without a sandbox, in a process group that ends with it.
func (x *Service) runPlain(ctx context.Context, conf *config.Config, agent string, argv []string, out, failed io.Writer) (exit int, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir = x.o.Workspace(agent)
	cmd.Env = subprocess.List(subprocess.Environment(cmd.Dir, conf.Tools.Exec.Env, os.Getenv))
	cmd.WaitDelay = 5 * time.Second
	subprocess.OwnGroup(cmd)
	cmd.Stdout, cmd.Stderr = out, failed
	guard, err := sandbox.NewGuard(cmd)
	if err != nil {
		return 0, err
	}
	defer guard.Release()
	cmd.Cancel = func() error {
		guard.Release()
		return nil
	}
	if err = guard.Start(); err == nil {
		err = cmd.Wait()
		_ = subprocess.KillGroup(cmd) // what it has left behind, if anything
	}
	if exited := (*exec.ExitError)(nil); errors.As(err, &exited) && exited.Exited() {
		return exited.ExitCode(), nil
	}
	return 0, err
}

// checked returns what follows from a check: the agent's run, or the end of the job's run.
func (x *Service) checked(tx eventstore.Tx, end worker.Ended, now time.Time) ([]eventstore.StreamAppend, error) {
	row, found, err := schedules.Load(tx, schedule.JobOf(end.EffectID))
	if err != nil || !found || row.RunID != end.EffectID {
		return nil, err
	}
	b := beginning{Service: x, tx: tx, now: now, sessions: map[string]bool{}}
	var result checkResult
	if end.Error == "" {
		if err := json.Unmarshal(end.Result, &result); err != nil {
			return nil, fmt.Errorf("read the result of a check: %w", err)
		}
	}
	switch {
	case end.Error != "":
		err = b.finish(&row, coordination.CronRunFinished{Status: schedule.Error, Error: end.Error, DeliveryStatus: schedule.NotRequested})
	case result.Nothing:
		err = b.finish(&row, coordination.CronRunFinished{Status: schedule.Skipped, Error: "there is nothing to do", DeliveryStatus: schedule.NotRequested})
	default:
		err = b.start(&row, wake{found: result.Found})
	}
	return b.appends, err
}

// bounded keeps the beginning of what is written.
type bounded struct {
	bytes.Buffer
	most int
}

// Write never fails: what is too much is dropped.
func (b *bounded) Write(p []byte) (int, error) {
	if room := b.most - b.Len(); room > 0 {
		_, _ = b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}
