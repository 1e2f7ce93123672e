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
	Workspace func(agentID string) string // the directory of an agent's files, usually by Directory; "", or a nil function, is none
	Now       func() time.Time            // its location determines the date; default: time.Now
	Logger    *slog.Logger                // default: slog.Default()
}

// Builder builds prompts. It may be used by many goroutines.
type Builder struct {
	o Options

	mu     sync.Mutex
	logged map[string]string // why a file is not included, by agent and name
}

// maxLogged bounds logged.
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

// Ask is the input of Build.
type Ask struct {
	Agent   string         // id
	Config  *config.Config // of the run; it defines the team
	Session coordination.SessionKey

	History []llm.Message // earlier messages, the oldest first; made from a transcript by History
	Message llm.Message   // to answer; without a role, the one at the end of History
	Tools   []tool.Spec   // available to the model
	Extra   string        // additional text of the system prompt

	Window int     // context window in tokens; 0 is config.DefaultContextTokens
	Answer int     // tokens of Window reserved for the answer; at most half of them
	Share  float64 // of the remaining tokens that may be used; 0 is all. Less helps if the model counts more tokens than estimated
}

// Prompt is what a model reads.
type Prompt struct {
	System   string
	Messages []llm.Message
	Tools    []llm.Tool // of the Ask, in the form for models
	Room     int        // tokens for messages, for Fit as the run continues
	Report   Report
}

// Report describes what a prompt includes and what it leaves out.
type Report struct {
	Workspace string `json:"workspaceDir,omitempty"`
	Files     []File `json:"files"`

	SystemTokens  int `json:"systemTokens"` // files included
	FileTokens    int `json:"fileTokens"`
	ToolTokens    int `json:"toolTokens"`
	MessageTokens int `json:"messageTokens"` // of history and message
	Room          int `json:"roomTokens"`    // available to messages
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

	s := &system{ask: &a, day: b.o.Now(), files: readFiles(r.Workspace, a.Session), skills: readSkills(&a, r.Workspace)}
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
	b.logSkipped(ctx, &a, r)
	return p, nil
}

// settle replaces missing and invalid values by defaults.
func (a *Ask) settle() {
	if a.Config == nil {
		a.Config = config.Default()
	}
	if a.Window <= 0 {
		a.Window = config.DefaultContextTokens
	}
	a.Answer = min(max(a.Answer, 0), a.Window/2)
	if !(a.Share > 0 && a.Share <= 1) { // NaN is neither
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

// logSkipped logs, once, which existing files are not included.
func (b *Builder) logSkipped(ctx context.Context, a *Ask, r *Report) {
	for _, f := range r.Files {
		if f.State != FileRefused && f.State != FileLeftOut || b.isLogged(a.Agent+"\x00"+f.Name, f.Reason) {
			continue
		}
		b.o.Logger.LogAttrs(ctx, slog.LevelWarn, "workspace file not included in the prompt", slog.String("agent", a.Agent),
			slog.String("workspace", r.Workspace), slog.String("file", f.Name), slog.String("why", f.Reason))
	}
}

// isLogged reports whether this was logged before, and remembers it. It forgets everything after maxLogged entries.
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
