// Package exectools lets agents run commands in their workspaces, in a sandbox, with the arguments of OpenClaw's tools.
//
// It promises
//   - that no command runs before a probe has found that the sandbox holds for the agent's workspace, unless the configuration says off;
//   - that a process is reached only from the session that has started it;
//   - that output is bounded in memory, in answers and in the log;
//   - that no process outlives Close, or this program.
package exectools

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
	"github.com/pronto-lab/openclawd/sandbox"
	"github.com/pronto-lab/openclawd/tools"
)

// Options of New. All are required.
type Options struct {
	Workspace func(agentID string) string
	Protected func() []string // the program's own files and directories
	StateDir  string          // probes lay their bait here
	Getenv    func(string) string
	Now       func() time.Time
	Log       Log
}

// Log records what was found about sandboxes, and the output of commands.
type Log interface {
	Probed(ctx context.Context, agentID string, p coordination.SandboxProbed) error
	Output(ctx context.Context, agentID string, o coordination.ToolOutput) error
	// Recorded returns what the log has of a command, in order, and its agent; nothing if it has none.
	Recorded(ctx context.Context, processID string) (agentID string, list []coordination.ToolOutput, err error)
}

// Commands runs commands. It is safe for concurrent use.
type Commands struct {
	opts   Options
	life   context.Context
	end    context.CancelFunc
	ending sync.WaitGroup

	mu        sync.Mutex
	processes map[string]*process // by id
	proved    map[proof]*proven
	chosen    map[string]proof // by agent: what the last command was run in
}

// New returns Commands. Close ends what they have started.
func New(o Options) *Commands {
	c := &Commands{opts: o, processes: map[string]*process{}, proved: map[proof]*proven{}, chosen: map[string]proof{}}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// Close ends all commands and waits for that.
func (c *Commands) Close() {
	c.mu.Lock()
	c.end()
	c.mu.Unlock()
	c.ending.Wait()
}

// Tools returns exec and process.
func (c *Commands) Tools() []tools.Tool {
	changes := tools.Effect{Outside: true}
	return []tools.Tool{
		{Spec: tool.Spec{Name: tool.NameExec, Group: tool.GroupRuntime, Label: "exec",
			Description: "Run a shell command in the workspace, in a sandbox. A command that takes longer than yieldMs goes on in the background: see the tool process.",
			Schema: tools.Object("command", `"command":{"type":"string","minLength":1,"maxLength":65536}`,
				`"workdir":{"type":"string","maxLength":4096,"description":"Directory in the workspace to start in."}`,
				`"env":{"type":"object","maxProperties":64,"additionalProperties":{"type":"string","maxLength":8192}}`,
				`"yieldMs":{"type":"number","minimum":0,"description":"Milliseconds to wait for the end; 10000 if absent."}`,
				`"background":{"type":"boolean","description":"Do not wait."}`,
				`"timeout":{"type":"number","minimum":0,"description":"Seconds after which it is ended."}`,
				`"pty":{"type":"boolean","description":"Has no effect: there is no terminal."}`, `"elevated":{"type":"boolean"}`,
				`"host":{"type":"string"}`, `"security":{"type":"string"}`, `"ask":{"type":"string"}`, `"node":{"type":"string"}`)}, Effect: changes, Do: c.exec},
		{Spec: tool.Spec{Name: tool.NameProcess, Group: tool.GroupRuntime, Label: "process",
			Description: "Look at, write to and end commands that exec has left in the background.",
			Schema: tools.Object("action", `"action":{"type":"string","enum":["list","poll","log","write","submit","send-keys","paste","kill","clear","remove"]}`,
				`"sessionId":{"type":"string","maxLength":100,"description":"The command, for every action but list."}`,
				`"data":{"type":"string","description":"For write and submit."}`, `"text":{"type":"string","description":"For paste."}`, `"eof":{"type":"boolean","description":"Close the input after it."}`,
				`"offset":{"type":"integer","minimum":0,"description":"First line, for log."}`, `"limit":{"type":"integer","minimum":1,"maximum":5000,"description":"Lines, for log."}`,
				`"timeout":{"type":"number","minimum":0,"maximum":120000,"description":"Milliseconds to wait for the end, for poll."}`,
				`"literal":{"type":"string","description":"Text, for send-keys; it comes first."}`,
				`"hex":{"type":"array","maxItems":4096,"items":{"type":"string","pattern":"^(0[xX])?[0-9A-Fa-f]{2}$"},"description":"Bytes, for send-keys."}`,
				`"keys":{"type":"array","maxItems":1024,"items":{"type":"string","maxLength":32},"description":"Keys, for send-keys: Enter, Tab, Space, Escape, Backspace, C-d; last. There is no terminal."}`,
				`"bracketed":{"type":"boolean","description":"Has no effect: there is no terminal."}`)}, Effect: changes, Do: c.process},
	}
}

// proof is what a probe was about.
type proof struct {
	agent, home, kind string
	image             string // of a container
	network           bool
}

// proven is the result of a probe, which is made once, or again after probeAgain if nothing was found to hold.
type proven struct {
	once   sync.Once
	at     time.Time
	failed atomic.Bool // it has ended, and the sandbox does not hold
	report sandbox.Report
	err    error
}

// probeAgain is how long a sandbox that did not hold is not probed again: the operator may have installed what was missing.
const probeAgain = time.Minute

func (p *proven) failedBefore(at time.Time) bool { return p.failed.Load() && !p.at.After(at) }

// sandboxOf returns the sandbox of an agent: the first one that a probe has found to hold for its workspace.
func (c *Commands) sandboxOf(ctx context.Context, call *tools.Call, home string) (sandbox.Kind, error) {
	e := call.Config.Tools.Exec
	kinds := []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock}
	switch e.Sandbox {
	case config.SandboxAuto:
	case config.SandboxOff:
		_, err := c.choose(ctx, proof{agent: call.AgentID, home: home, kind: string(sandbox.Off), network: e.Network}) // so that nothing says that there is a sandbox
		return sandbox.Off, err
	default:
		kinds = []sandbox.Kind{sandbox.Kind(e.Sandbox)}
	}
	why := ""
	for _, kind := range kinds {
		key := proof{agent: call.AgentID, home: home, kind: string(kind), image: e.Image, network: e.Network}
		r, err := c.prove(ctx, key)
		if err == nil && r.Sandboxed {
			r, err = c.choose(ctx, key)
		}
		switch {
		case err != nil:
			return "", err
		case r.Sandboxed:
			return kind, nil
		case why != "":
			why += "; "
		}
		why += string(kind) + " " + failureOf(r)
	}
	return "", &tool.Error{Code: tool.CodeNoSandbox, Text: "no command was run, because no sandbox works here: " + why,
		Hint: "tell the operator to install bubblewrap, or Linux 6.12 with Landlock, or to configure a container; openclawd sandbox explain shows what was found"}
}

func failureOf(r *sandbox.Report) string {
	if r.Error != "" {
		return "cannot be used (" + r.Error + ")"
	}
	text := "does not hold ("
	for i, check := range r.Open() {
		if i > 0 {
			text += ", "
		}
		text += check
	}
	return text + ")"
}

// choose probes what an agent's commands are run in from now on, once more if it was something else before: the last probe in the log is
// about what is in use.
func (c *Commands) choose(ctx context.Context, key proof) (*sandbox.Report, error) {
	c.mu.Lock()
	if last, known := c.chosen[key.agent]; known && last != key {
		delete(c.proved, key)
	}
	c.chosen[key.agent] = key
	c.mu.Unlock()
	return c.prove(ctx, key)
}

// prove probes a sandbox once and records the result. A probe that could not be recorded is made again.
func (c *Commands) prove(ctx context.Context, key proof) (*sandbox.Report, error) {
	c.mu.Lock()
	p := c.proved[key]
	if p == nil || p.failedBefore(c.opts.Now().Add(-probeAgain)) {
		p = &proven{at: c.opts.Now()}
		c.proved[key] = p
	}
	c.mu.Unlock()
	p.once.Do(func() {
		command := &sandbox.Command{Kind: sandbox.Kind(key.kind), Home: key.home, Network: key.network, Image: key.image, Env: c.environment(key.home, nil, nil)}
		at := c.opts.Now().UnixMilli()
		p.report = sandbox.Probe(context.WithoutCancel(ctx), command, c.opts.StateDir, c.opts.Protected())
		found := coordination.SandboxProbed{Context: coordination.Context{EventRole: coordination.RoleObservability}, Kind: key.kind, Network: key.network, Workspace: key.home,
			Sandboxed: p.report.Sandboxed, Error: p.report.Error, ProbedAtMs: at, TookMs: p.report.TookMs}
		for _, f := range p.report.Findings {
			found.Findings = append(found.Findings, coordination.SandboxFinding(f))
		}
		p.err = c.opts.Log.Probed(context.WithoutCancel(ctx), key.agent, found)
		p.failed.Store(!p.report.Sandboxed && key.kind != string(sandbox.Off))
	})
	if p.err != nil {
		c.mu.Lock()
		delete(c.proved, key)
		c.mu.Unlock()
	}
	return &p.report, p.err
}
