package exectools

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/tools"
)

// maxProcesses bounds the commands of one session, running or kept, and maxAll those of all sessions. One that has ended is kept for keptFor.
const (
	maxProcesses = 32
	maxAll       = 512
	keptFor      = 30 * time.Minute
)

// process is a command that was started.
type process struct {
	owner          *Commands
	id, agent, key string // key is the session's
	callID, title  string
	began          time.Time
	running        *sandbox.Process
	in             io.WriteCloser
	out            *written
	left           chan chan struct{} // takes what is closed when the log has it that the command goes on in the background
	done           chan struct{}      // closed when it has ended and its output is recorded
	end            time.Time          // when it has ended: to be read after done
	tool.Caller                       // who started it
}

// start starts a command, which ends at its timeout or with c.
func (c *Commands) start(call *tools.Call, callID, title string, timeout time.Duration, command *sandbox.Command) (*process, error) {
	p := &process{owner: c, id: strings.ToLower(rand.Text()[:12]), agent: call.AgentID, key: call.SessionKey, callID: callID, title: title, began: c.opts.Now(),
		out: newOutput(), left: make(chan chan struct{}), done: make(chan struct{}), Caller: call.Caller}
	if err := c.admit(p); err != nil {
		return nil, err
	}
	ctx, stop := c.life, context.CancelFunc(func() {})
	if timeout > 0 {
		ctx, stop = context.WithTimeout(c.life, timeout)
	}
	read, in, err := os.Pipe()
	if err == nil {
		p.in, command.Stdin, command.Output = in, read, p.out
		p.running, err = sandbox.Start(ctx, command)
		_ = read.Close()
	}
	if err != nil {
		stop()
		if in != nil {
			_ = in.Close()
		}
		c.forget(p)
		c.ending.Done()
		if errors.Is(err, sandbox.ErrUnsupported) {
			return nil, &tool.Error{Code: tool.CodeNoSandbox, Text: err.Error(), Hint: "tell the operator to run openclawd on Linux"}
		}
		return nil, notStarted(err)
	}
	go func() {
		defer c.ending.Done()
		defer stop()
		p.record()
		_ = p.in.Close()
		p.end = c.opts.Now()
		close(p.done)
	}()
	return p, nil
}

// admit enters a process, unless the session has too many.
func (c *Commands) admit(p *process) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.life.Err() != nil {
		return errClosing
	}
	var oldest, oldestOfAll *process
	n := 0
	for id, other := range c.processes {
		if other.hasEnded() {
			if c.opts.Now().Sub(other.end) >= keptFor {
				delete(c.processes, id)
				continue
			}
			if oldestOfAll == nil || other.end.Before(oldestOfAll.end) {
				oldestOfAll = other
			}
		}
		if other.agent != p.agent || other.key != p.key {
			continue
		}
		if n++; other.hasEnded() && (oldest == nil || other.began.Before(oldest.began)) {
			oldest = other
		}
	}
	switch {
	case n >= maxProcesses && oldest == nil:
		return &tool.Error{Code: tool.CodeUnavailable, Text: fmt.Sprintf("%d commands of this session are running", n), Hint: "end some with process, action kill"}
	case n >= maxProcesses:
		delete(c.processes, oldest.id)
	case len(c.processes) >= maxAll && oldestOfAll == nil:
		return &tool.Error{Code: tool.CodeUnavailable, Text: fmt.Sprintf("%d commands of all sessions are running", maxAll), Hint: "wait until some have ended"}
	case len(c.processes) >= maxAll:
		delete(c.processes, oldestOfAll.id)
	}
	c.processes[p.id] = p
	c.ending.Add(1)
	return nil
}

func (c *Commands) forget(p *process) {
	c.mu.Lock()
	delete(c.processes, p.id)
	c.mu.Unlock()
}

func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// recordEvery is how often new output is recorded.
const recordEvery = time.Second

// record writes the output to the log until the command has ended. A log that refuses it does not end the command.
func (p *process) record() {
	tick := time.NewTicker(recordEvery)
	defer tick.Stop()
	for {
		select {
		case <-p.running.Done():
			p.append(true, true)
			return
		case recorded := <-p.left:
			p.append(false, true)
			close(recorded)
		case <-tick.C:
			p.append(false, false)
		}
	}
}

// leave records that the command goes on in the background, so that a kill does not hide that it was there.
func (p *process) leave() {
	recorded := make(chan struct{})
	select {
	case p.left <- recorded:
		<-recorded
	case <-p.done:
	}
}

// append records what is new; always also if that is nothing.
func (p *process) append(ended, always bool) {
	text, from, dropped := p.out.unrecorded(ended)
	if text == "" && dropped == 0 && !always {
		return
	}
	o := coordination.ToolOutput{Context: coordination.Context{EventRole: coordination.RoleObservability, WorkSessionID: p.WorkSessionID, TaskID: p.TaskID, ConversationID: p.ConversationID},
		CallID: p.callID, ProcessID: p.id, SessionKey: p.SessionKey, RunID: p.RunID, AtMs: p.owner.opts.Now().UnixMilli(), From: from,
		Text: coordination.Mask(text), Dropped: dropped, Ended: ended}
	if ended {
		result, err := p.running.Result()
		if o.Exit, o.Reason = result.Exit, result.Reason; err != nil {
			o.Reason = err.Error()
		}
	}
	ctx, stop := context.WithTimeout(context.Background(), 10*time.Second)
	defer stop()
	_ = p.owner.opts.Log.Output(ctx, p.agent, o) // it logs why it failed
}

type processArguments struct {
	Action, SessionID, Data, Text, Literal string
	Hex, Keys                              []string
	Eof                                    bool
	Offset, Limit                          int
	Timeout                                float64
}

func (c *Commands) process(ctx context.Context, call *tools.Call) (tool.Output, error) {
	args, err := tools.Decode[processArguments](call)
	if err != nil {
		return tool.Output{}, err
	}
	if args.Action == "list" {
		return c.list(call)
	}
	if err := args.check(); err != nil {
		return tool.Output{}, err
	}
	p, err := c.of(call, args.SessionID)
	if isGone(err) {
		return c.gone(ctx, call, &args, err)
	}
	if err != nil {
		return tool.Output{}, err
	}
	switch args.Action {
	case "poll":
		return p.poll(ctx, time.Duration(args.Timeout)*time.Millisecond)
	case "log":
		return tool.Output{Text: p.out.lines(args.Offset, cmp.Or(args.Limit, 200))}, nil
	case "write", "submit", actionKeys, "paste":
		text, eof, err := args.input()
		if err != nil {
			return tool.Output{}, err
		}
		return p.write(ctx, text, eof)
	case "kill", "remove":
		p.running.Kill(sandbox.EndedByCaller)
		<-p.done
	}
	if args.Action != "kill" {
		if !p.hasEnded() {
			return tool.Output{}, &tool.Error{Code: tool.CodeUnderWay, Text: "the command is still running", Hint: "kill it first"}
		}
		c.forget(p)
		return tool.Output{Text: "removed " + p.id}, nil
	}
	return p.ended()
}

// of returns a process of the caller's session.
func (c *Commands) of(call *tools.Call, id string) (*process, error) {
	c.mu.Lock()
	p := c.processes[id]
	c.mu.Unlock()
	if p == nil || p.agent != call.AgentID || p.key != call.SessionKey {
		return nil, &tool.Error{Code: tool.CodeNoProcess, Field: "/sessionId", Text: fmt.Sprintf("this session has no command %.100q", id),
			Hint: "process with action list shows the commands of this session"}
	}
	return p, nil
}

func (c *Commands) list(call *tools.Call) (tool.Output, error) {
	c.mu.Lock()
	var all []*process
	for _, p := range c.processes {
		if p.agent == call.AgentID && p.key == call.SessionKey {
			all = append(all, p)
		}
	}
	c.mu.Unlock()
	if len(all) == 0 {
		return tool.Output{Text: "no commands"}, nil
	}
	slices.SortFunc(all, func(a, b *process) int { return a.began.Compare(b.began) })
	var lines []string
	for _, p := range all {
		state := "running"
		if p.hasEnded() {
			result, _ := p.running.Result()
			state = fmt.Sprintf("ended with %d", result.Exit)
		}
		title, _, _ := strings.Cut(p.title, "\n")
		lines = append(lines, fmt.Sprintf("%s %s %s: %.200s", p.id, state, p.began.UTC().Format(time.RFC3339), title))
	}
	return tool.Output{Text: strings.Join(lines, "\n")}, nil
}

// poll returns the output since the last look, and waits for the end for a time.
func (p *process) poll(ctx context.Context, wait time.Duration) (tool.Output, error) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-p.done:
		return p.ended()
	case <-ctx.Done():
		return tool.Output{}, ctx.Err()
	case <-timer.C:
	}
	if p.hasEnded() {
		return p.ended()
	}
	text := p.out.unseen()
	return tool.Output{Text: text + "\n[the command is still running]"}, nil
}

// maxWritten bounds how long a command may take to read what is written to it.
const maxWritten = 5 * time.Second

func (p *process) write(ctx context.Context, data string, eof bool) (tool.Output, error) {
	if p.hasEnded() {
		return tool.Output{}, &tool.Error{Code: tool.CodeNoProcess, Text: "the command has ended", Hint: "poll it for its output"}
	}
	if file, is := p.in.(*os.File); is {
		_ = file.SetWriteDeadline(time.Now().Add(maxWritten)) // pipes have deadlines
	}
	if _, err := io.WriteString(p.in, data); err != nil {
		return tool.Output{Text: "the command does not read its input, or not all of it. poll it", IsError: true}, nil // some may be written
	}
	if eof {
		_ = p.in.Close()
	}
	return tool.Output{Text: fmt.Sprintf("wrote %d bytes", len(data))}, ctx.Err()
}
