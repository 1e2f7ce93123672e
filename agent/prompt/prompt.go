package prompt

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// Options of New.
type Options struct {
	Workspace func(agentID string) string // the directory of an agent's files; "" for none. nil: there are none. Directory is the usual one
	Now       func() time.Time            // its location says which day it is; default: time.Now
	Logger    *slog.Logger                // default: slog.Default()
}

// Builder builds prompts. It may be used by many goroutines.
type Builder struct {
	o Options

	mu     sync.Mutex
	logged map[string]string // why a file is not told, by agent and name
}

// maxLogged bounds what is remembered of the log.
const maxLogged = 1_000

// New makes a Builder.
func New(o Options) *Builder {
	if o.Workspace == nil {
		o.Workspace = func(string) string { return "" }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return &Builder{o: o, logged: map[string]string{}}
}

// Ask is what a prompt is wanted for.
type Ask struct {
	Agent   string         // its id
	Config  *config.Config // that the run keeps to: it says who is in the team
	Session coordination.SessionKey

	History []llm.Message // what was said before, the oldest first; History makes it of a transcript
	Message llm.Message   // that is answered. Without a role there is none: History ends with it
	Tools   []tool.Spec   // that the model may call
	Extra   string        // for the system prompt

	Window int     // tokens that the model can read and write; 0 is config.DefaultContextTokens
	Answer int     // of them that are kept free; at most half of Window are
	Share  float64 // of what is left that messages may take; 0 is all. Less helps where a model's count turned out to be higher
}

// Prompt is what a model is told.
type Prompt struct {
	System   string
	Messages []llm.Message
	Tools    []llm.Tool // of the Ask, as models are told of them
	Room     int        // tokens that messages may take: Fit keeps to it when a run has gone on
	Report   Report
}

// Report says what a prompt holds, and what it does not.
type Report struct {
	Workspace string `json:"workspaceDir,omitempty"`
	Files     []File `json:"files"`

	SystemTokens  int `json:"systemTokens"` // files included
	FileTokens    int `json:"fileTokens"`
	ToolTokens    int `json:"toolTokens"`
	MessageTokens int `json:"messageTokens"` // the history's and the message's
	Room          int `json:"roomTokens"`    // that messages might have taken
	Window        int `json:"windowTokens"`
	Answer        int `json:"answerTokens"`

	Told      int `json:"messages"`
	LeftOut   int `json:"messagesLeftOut"`
	Shortened int `json:"messagesShortened"`
}

// Build builds a prompt. Its errors are *Error, or ctx's.
func (b *Builder) Build(ctx context.Context, a Ask) (Prompt, error) {
	if err := ctx.Err(); err != nil {
		return Prompt{}, err
	}
	a.settle()
	p := Prompt{Tools: toolsOf(a.Tools)}
	r := &p.Report
	r.Window, r.Answer, r.Workspace = a.Window, a.Answer, b.o.Workspace(a.Agent)
	r.ToolTokens = (&llm.Request{Tools: p.Tools}).EstimateTokens()
	left := a.Window - a.Answer - r.ToolTokens

	s := &system{ask: &a, day: b.o.Now(), files: readFiles(r.Workspace, a.Session)}
	p.System = s.within(int(a.Share * float64(left) * mostForFiles))
	r.Files, r.FileTokens, r.SystemTokens = s.told, s.fileTokens, llm.EstimateTokens(p.System)
	r.Room = int(a.Share * float64(left-r.SystemTokens))
	if r.Room < leastRoom {
		return Prompt{}, &Error{Agent: a.Agent, Window: a.Window, Answer: a.Answer, System: r.SystemTokens, Tools: r.ToolTokens}
	}

	messages := a.History
	if a.Message.Role != "" {
		messages = append(messages[:len(messages):len(messages)], a.Message)
	}
	fitted := Fit(messages, r.Room)
	p.Messages, p.Room = fitted.Messages, r.Room
	r.Told, r.LeftOut, r.Shortened, r.MessageTokens = len(fitted.Messages), fitted.LeftOut, fitted.Shortened, fitted.Tokens
	b.tell(ctx, &a, r)
	return p, nil
}

// settle puts defaults where nothing is said, and sense where none is made.
func (a *Ask) settle() {
	if a.Config == nil {
		a.Config = config.Default()
	}
	if a.Window <= 0 {
		a.Window = config.DefaultContextTokens
	}
	a.Answer = min(max(a.Answer, 0), a.Window/2)
	if !(a.Share > 0 && a.Share <= 1) { // neither is what is no number
		a.Share = 1
	}
}

func toolsOf(specs []tool.Spec) []llm.Tool {
	var tools []llm.Tool
	for i := range specs {
		tools = append(tools, llm.Tool{Name: specs[i].Name, Description: specs[i].Description, Schema: specs[i].Schema})
	}
	return tools
}

// tell logs, once, which files are there and are not told.
func (b *Builder) tell(ctx context.Context, a *Ask, r *Report) {
	for _, f := range r.Files {
		if f.State != FileRefused && f.State != FileLeftOut || b.isLogged(a.Agent+"\x00"+f.Name, f.Reason) {
			continue
		}
		b.o.Logger.LogAttrs(ctx, slog.LevelWarn, "a file of a workspace is not told to the model", slog.String("agent", a.Agent),
			slog.String("workspace", r.Workspace), slog.String("file", f.Name), slog.String("why", f.Reason))
	}
}

// isLogged reports whether this was logged before, as far as that is remembered.
func (b *Builder) isLogged(file, reason string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.logged[file] == reason {
		return true
	}
	if len(b.logged) >= maxLogged {
		clear(b.logged)
	}
	b.logged[file] = reason
	return false
}
