package prompt_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/pronto-lab/openclawd/agent/llm"
	"github.com/pronto-lab/openclawd/agent/prompt"
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/tool"
)

// team is a configuration with a state directory of its own.
type team struct {
	*config.Config
	dir string
	log bytes.Buffer
}

func newTeam(t testing.TB, text string) *team {
	t.Helper()
	b := &team{dir: t.TempDir()}
	write(t, b.dir, "openclaw.json", text)
	var findings config.Findings
	b.Config, findings = config.Load(filepath.Join(b.dir, "openclaw.json"), func(string) string { return "" })
	if findings.Err() != nil {
		t.Fatal(findings)
	}
	return b
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// builder builds at a time in the evening that is the next day elsewhere.
func (b *team) builder() *prompt.Builder {
	return prompt.New(prompt.Options{
		Workspace: func(id string) string { return prompt.Directory(b.Config, b.dir, "/home/none", id) },
		Now:       func() time.Time { return time.Date(2026, 3, 1, 23, 59, 0, 0, time.FixedZone("KST", 9*3600)) },
		Logger:    slog.New(slog.NewTextHandler(&b.log, nil)),
	})
}

func (b *team) build(t testing.TB, a prompt.Ask) prompt.Prompt {
	t.Helper()
	a.Config = b.Config
	p, err := b.builder().Build(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Report.SystemTokens + p.Report.ToolTokens + tokensOf(p.Messages); n > p.Report.Window-p.Report.Answer {
		t.Fatalf("the prompt has %d tokens: %+v", n, p.Report)
	}
	return p
}

func key(t testing.TB, s string) coordination.SessionKey {
	t.Helper()
	k, err := coordination.ParseSessionKey(s)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

const anEden = `{agents: {list: [{id: 'eden', name: 'Eden', identity: {emoji: '🌿', theme: 'calm'}, default: true}, {id: 'seum', name: 'Seum'},
	{id: 'explorer', utility: true}]}}`

// Seed 004, 5.3: full context in threads, without HEARTBEAT; three files in sessions of agents with each other.
func TestFilesAreThoseOfTheKindOfSession(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	names := []string{"AGENTS", "SOUL", "TOOLS", "IDENTITY", "USER", "HEARTBEAT", "CURRENT_TASK", "MEMORY", "BOOTSTRAP", "README"}
	for _, name := range names {
		write(t, b.dir, "workspace-eden/"+name+".md", "this is "+strings.ToLower(name))
	}
	for session, want := range map[string]string{
		"agent:eden:main":                             "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT CURRENT_TASK MEMORY",
		"agent:eden:discord:direct:1":                 "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT CURRENT_TASK MEMORY",
		"agent:eden:discord:channel:123":              "AGENTS SOUL TOOLS IDENTITY USER CURRENT_TASK MEMORY",
		"agent:eden:discord:channel:123:thread:4":     "AGENTS SOUL TOOLS IDENTITY USER CURRENT_TASK MEMORY",
		"agent:eden:telegram:group:5":                 "AGENTS SOUL TOOLS IDENTITY USER CURRENT_TASK MEMORY",
		"agent:eden:a2a:0f8fad5b-d9cb-469f-a165-7086": "AGENTS TOOLS IDENTITY",
		"agent:eden:subagent:1":                       "AGENTS SOUL TOOLS IDENTITY USER",
		"agent:eden:cron:daily:run:1":                 "AGENTS SOUL TOOLS IDENTITY USER",
		"agent:eden:openai-user:me":                   "AGENTS SOUL TOOLS IDENTITY USER CURRENT_TASK MEMORY",
		"global":                                      "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT CURRENT_TASK MEMORY",
		"cron:daily":                                  "AGENTS SOUL TOOLS IDENTITY USER",
		"hook:github":                                 "AGENTS SOUL TOOLS IDENTITY USER",
		"agent:eden:hook:github":                      "AGENTS SOUL TOOLS IDENTITY USER",
		"node-1":                                      "AGENTS SOUL TOOLS IDENTITY USER HEARTBEAT CURRENT_TASK MEMORY",
	} {
		p := b.build(t, prompt.Ask{Agent: "eden", Session: key(t, session), Message: user("hi")})
		var told []string
		for _, name := range names {
			if strings.Contains(p.System, "## "+name+".md\n\nthis is "+strings.ToLower(name)) {
				told = append(told, name)
			}
		}
		if got := strings.Join(told, " "); got != want || len(p.Report.Files) != len(told) {
			t.Errorf("%s: the prompt includes %s, want %s", session, got, want)
		}
	}
}

func TestPromptNamesAgentAndSession(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	write(t, b.dir, "workspace-eden/SOUL.md", "Be kind.\n")
	specs := []tool.Spec{{Name: "agents_list", Description: "lists agents"}, {Name: "session_status"}}
	p := b.build(t, prompt.Ask{Agent: "EDEN", Session: key(t, "agent:eden:discord:channel:123"), Message: user("hi"), Tools: specs, Extra: " Answer in Korean. "})
	const want = "You are Eden 🌿, the agent with the id `eden`. You are like this: calm.\n\n# This session\n\n" +
		"Its key is `agent:eden:discord:channel:123`, its kind is channel. Here several people and agents may write and read along by discord. " +
		"In it you may call these tools: agents_list, session_status.\n\n# Your team\n\nThe other agents, by their ids:\n\n- `seum`: Seum\n" +
		"- `explorer` (works for other agents only)\n\n# Silence\n\nIf a message needs no answer, answer NO_REPLY and nothing else: it is shown to no one. " +
		"Never put it into an answer.\n\n# Your workspace\n\nThese are files of your workspace as they are now. They are what you have been given, and what you have noted.\n\n" +
		"## SOUL.md\n\nBe kind.\n\n\n# For this message\n\nAnswer in Korean.\n\n# Today\n\nIt is Sunday, 2026-03-01."
	if diff := cmp.Diff(want, p.System); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]llm.Tool{{Name: "agents_list", Description: "lists agents"}, {Name: "session_status"}}, p.Tools); diff != "" {
		t.Error(diff)
	}
	stranger := b.build(t, prompt.Ask{Agent: "stranger", Session: key(t, "agent:stranger:main"), Message: user("hi")})
	if !strings.HasPrefix(stranger.System, "You are stranger, the agent with the id `stranger`.") || !strings.Contains(stranger.System, "you have no tools") {
		t.Error(stranger.System)
	}
}

// An unusable file is no error, and is logged once.
func TestReportSaysWhatBecameOfEachFile(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	write(t, b.dir, "secret.md", "outside")
	write(t, b.dir, "workspace-eden/AGENTS.md", strings.Repeat("가", 20_000))
	write(t, b.dir, "workspace-eden/TOOLS.md", strings.Repeat("h", 14_000)+strings.Repeat("m", 2_001)+strings.Repeat("t", 4_000))
	write(t, b.dir, "workspace-eden/IDENTITY.md", "a\xffb")
	write(t, b.dir, "workspace-eden/USER.md", "a\x00b")
	write(t, b.dir, "workspace-eden/HEARTBEAT.md", " \n")
	write(t, b.dir, "workspace-eden/CURRENT_TASK.md/x", "")
	if err := os.Symlink("../secret.md", filepath.Join(b.dir, "workspace-eden/SOUL.md")); err != nil {
		t.Fatal(err)
	}
	builder := b.builder()
	ask := prompt.Ask{Agent: "eden", Config: b.Config, Session: key(t, "agent:eden:main"), Message: user("hi")}
	p, err := builder.Build(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if again, err := builder.Build(t.Context(), ask); err != nil || !cmp.Equal(p, again) {
				t.Errorf("built concurrently: %+v, %v", again, err)
			}
		})
	}
	all.Wait()
	var got []string
	for _, f := range p.Report.Files {
		got = append(got, fmt.Sprintf("%s %s %d %d %q", f.Name, f.State, f.Bytes, f.Chars, f.Reason))
	}
	mark := "\n\n[... TOOLS.md is cut here: read it for the rest of its 20001 bytes ...]\n\n"
	want := []string{`AGENTS.md told 60000 20000 ""`, fmt.Sprintf(`TOOLS.md cut 20001 %d ""`, 18_000+len(mark)),
		`IDENTITY.md told 3 3 "contains invalid UTF-8; replaced by U+FFFD"`, `SOUL.md refused 0 0 "a symbolic link is not followed"`,
		`USER.md refused 3 0 "it is no text: it holds NUL bytes"`, `HEARTBEAT.md empty 2 0 ""`, `MEMORY.md missing 0 0 ""`,
		`CURRENT_TASK.md refused 0 0 "it is not a regular file"`}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(p.System, strings.Repeat("h", 14_000)+mark+strings.Repeat("t", 4_000)) || strings.Contains(p.System, "outside") || !utf8.ValidString(p.System) {
		t.Error("the prompt does not include the files as reported")
	}
	if n := strings.Count(b.log.String(), "not included"); n != 3 {
		t.Errorf("%d lines in the log: %s", n, b.log.String())
	}
	if p.Report.FileTokens > p.Report.SystemTokens || p.Report.SystemTokens != llm.EstimateTokens(p.System) || p.Report.Workspace != filepath.Join(b.dir, "workspace-eden") {
		t.Errorf("%+v", p.Report)
	}
	if text, err := json.Marshal(p.Report); err != nil || !strings.Contains(string(text), `"files":[{"name":"AGENTS.md","state":"told"`) {
		t.Errorf("%s, %v", text, err)
	}
}

// All files together are bounded too, and more so in a small window.
func TestFilesAreBoundedTogether(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	names := prompt.FilesOf(coordination.KeyMain)
	for _, name := range names {
		write(t, b.dir, "workspace-eden/"+name, strings.Repeat("x", 20_000))
	}
	ask := prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Message: user("hi")}
	p := b.build(t, ask)
	chars := 0
	for _, f := range p.Report.Files {
		chars += f.Chars
	}
	if last := p.Report.Files[len(names)-1]; chars > prompt.MaxAllFiles || chars < prompt.MaxAllFiles*8/10 || last.State != prompt.FileCut || last.Name != prompt.TaskFile {
		t.Errorf("%d characters: %+v", chars, p.Report.Files)
	}
	for _, window := range []int{100_000, 20_000, 8_000, 4_000, 2_000, 1_000} {
		ask.Window, ask.Answer = window, window/4
		p := b.build(t, ask)
		if p.Report.SystemTokens > max(window*3/8, 250) || p.Messages[0].Text != "hi" {
			t.Errorf("window %d: %+v", window, p.Report)
		}
	}
	ask.Window, ask.Share = 20_000, 0.5
	if p := b.build(t, ask); p.Report.SystemTokens > 5_000 || p.Room > 7_500 {
		t.Errorf("%+v", p.Report)
	}
	ask.Window = 200
	ask.Config = b.Config
	_, err := b.builder().Build(t.Context(), ask)
	var none *prompt.Error
	if !errors.As(err, &none) || none.Window != 200 || none.Agent != "eden" || none.Hint() == "" || none.Code() != "prompt" {
		t.Errorf("got %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.builder().Build(ended, ask); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestFiftyMegabytesAreNotRead(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	write(t, b.dir, "workspace-eden/MEMORY.md", "")
	f, err := os.OpenFile(filepath.Join(b.dir, "workspace-eden/MEMORY.md"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const size = 50 << 20
	for at, text := range map[int64]string{0: strings.Repeat("h", 70_000), size - 30_000: strings.Repeat("t", 30_000)} {
		if _, err := f.WriteAt([]byte(text), at); err != nil {
			t.Fatal(err)
		}
	}
	p := b.build(t, prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Message: user("hi")})
	told := p.Report.Files[6]
	if told.Name != "MEMORY.md" || told.State != prompt.FileCut || told.Bytes != size || !strings.Contains(p.System, "ttt\n\n# Today") || told.Chars > prompt.MaxFile {
		t.Errorf("%+v", told) // the part between is NULs, and the file would be refused if they were read
	}
}

// For any Ask, the prompt fits, is paired, ends with the message, and is the same every time.
func TestBuildKeepsItsPromises(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	for _, name := range prompt.FilesOf(coordination.KeyMain) {
		write(t, b.dir, "workspace-eden/"+name, strings.Repeat("이것은 파일 ", 900))
	}
	builder := b.builder()
	main := key(t, "agent:eden:main")
	rapid.Check(t, func(t *rapid.T) {
		a := prompt.Ask{Agent: "eden", Config: b.Config, Session: main, History: drawn(t), Message: user("newest"),
			Window: rapid.IntRange(300, 30_000).Draw(t, "window"), Answer: rapid.IntRange(-1, 20_000).Draw(t, "answer"), Share: rapid.Float64Range(-0.1, 1.2).Draw(t, "share"),
			Tools: make([]tool.Spec, rapid.IntRange(0, 20).Draw(t, "tools"))}
		p, err := builder.Build(context.Background(), a)
		var none *prompt.Error
		if errors.As(err, &none) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		whole := llm.Request{System: p.System, Messages: p.Messages, Tools: p.Tools}
		if n := whole.EstimateTokens(); n > p.Report.Window-p.Report.Answer || n != p.Report.SystemTokens+p.Report.ToolTokens+p.Report.MessageTokens {
			t.Fatalf("%d tokens: %+v", n, p.Report)
		}
		if p.Messages[len(p.Messages)-1].Text != "newest" || p.Report.Told != len(p.Messages) || p.Report.Told+p.Report.LeftOut != len(llm.Paired(a.History))+1 {
			t.Fatalf("%+v", p.Report)
		}
		if diff := cmp.Diff(llm.Paired(p.Messages), p.Messages); diff != "" {
			t.Fatal(diff)
		}
		again, err := builder.Build(context.Background(), a)
		if diff := cmp.Diff(p, again); diff != "" || err != nil {
			t.Fatalf("%v %s", err, diff)
		}
	})
}

func TestDirectoryOfAnAgent(t *testing.T) {
	t.Parallel()
	b := newTeam(t, `{agents: {defaults: {workspace: '~/team'}, list: [{id: 'main', default: true}, {id: 'own', workspace: 'x/../y'}, {id: 'home', workspace: '~'},
		{id: 'far', workspace: '/srv/./far'}, {id: 'usual', workspace: '~/.openclaw/workspace-x'}, {id: 'other', workspace: '~/.openclaw2'}]}}`)
	home := t.TempDir()
	for agent, want := range map[string]string{"main": home + "/team", "MAIN": home + "/team", "own": b.dir + "/y", "home": home, "far": "/srv/far",
		"usual": b.dir + "/workspace-x", "other": home + "/.openclaw2", "eden": b.dir + "/workspace-eden",
		"": "", "../x": "", "a/b": ""} {
		if got := prompt.Directory(b.Config, b.dir, home, agent); got != filepath.FromSlash(want) {
			t.Errorf("%q works in %s, want %s", agent, got, want)
		}
	}
	write(t, home, "team/eden/AGENTS.md", "")
	if got := prompt.Directory(b.Config, b.dir, home, "eden"); got != filepath.Join(home, "team", "eden") {
		t.Error(got)
	}
	write(t, b.dir, "workspace-eden/AGENTS.md", "")
	if got := prompt.Directory(b.Config, b.dir, home, "eden"); got != filepath.Join(b.dir, "workspace-eden") {
		t.Error(got)
	}
	plain := newTeam(t, `{}`)
	if got := prompt.Directory(plain.Config, plain.dir, home, "main"); got != filepath.Join(plain.dir, "workspace-main") {
		t.Error(got)
	}
	write(t, plain.dir, "workspace/AGENTS.md", "")
	if got := prompt.Directory(plain.Config, plain.dir, home, "main"); got != filepath.Join(plain.dir, "workspace") {
		t.Error(got)
	}
	if got := prompt.Directory(plain.Config, plain.dir, home, "eden"); got != filepath.Join(plain.dir, "workspace-eden") {
		t.Error(got)
	}
	write(t, plain.dir, "workspace-main/AGENTS.md", "")
	if got := prompt.Directory(plain.Config, plain.dir, home, "main"); got != filepath.Join(plain.dir, "workspace-main") {
		t.Error(got)
	}
}

// BenchmarkBuild measures the cost of a prompt with eight files and a hundred messages.
func BenchmarkBuild(b *testing.B) {
	team := newTeam(b, anEden)
	for _, name := range prompt.FilesOf(coordination.KeyMain) {
		write(b, team.dir, "workspace-eden/"+name, strings.Repeat("이것은 파일 a file\n", 100))
	}
	ask := prompt.Ask{Agent: "eden", Config: team.Config, Session: key(b, "agent:eden:main"), Message: user("hi")}
	for range 50 {
		ask.History = append(ask.History, user(strings.Repeat("a question ", 20)), answer(strings.Repeat("an answer ", 20)))
	}
	builder := team.builder()
	for b.Loop() {
		if _, err := builder.Build(context.Background(), ask); err != nil {
			b.Fatal(err)
		}
	}
}

// Tools whose calls wait for people are named, if there are any.
func TestToolsThatAskAreNamed(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	specs := []tool.Spec{{Name: "plain", Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "exec", Asks: true, Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "write", Asks: true, Schema: json.RawMessage(`{"type":"object"}`)}}
	with := b.build(t, prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Tools: specs}).System
	if !strings.Contains(with, "# Calls that people approve\n\n") || !strings.Contains(with, "approved them: exec, write.") {
		t.Errorf("the prompt is\n%s", with)
	}
	if without := b.build(t, prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Tools: specs[:1]}).System; strings.Contains(without, "people approve") {
		t.Errorf("the prompt is\n%s\nwant nothing about approvals", without)
	}
}

// Guides of tools are included word for word where the tools are offered, and only there.
func TestGuidesOfTools(t *testing.T) {
	t.Parallel()
	b := newTeam(t, anEden)
	guide := "## Asking\n\n- `ask`: 물어보세요\n"
	specs := []tool.Spec{{Name: "ask", Guide: guide, Schema: json.RawMessage(`{"type":"object"}`)}, {Name: "plain", Schema: json.RawMessage(`{"type":"object"}`)},
		{Name: "tell", Guide: "## Telling", Schema: json.RawMessage(`{"type":"object"}`)}}
	with := b.build(t, prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Tools: specs}).System
	if want := "\n\n# Your tools\n\n" + strings.TrimSpace(guide) + "\n\n## Telling\n\n# "; strings.Count(with, want) != 1 {
		t.Errorf("the prompt is\n%s\nwant it to contain once\n%s", with, want)
	}
	if without := b.build(t, prompt.Ask{Agent: "eden", Session: key(t, "agent:eden:main"), Tools: specs[1:2]}).System; strings.Contains(without, "Your tools") {
		t.Errorf("the prompt is\n%s\nwant no guides", without)
	}
}

// Tools that need a task, or an approved plan, are named as far as the session has them, and only where that is so.
func TestGuardedToolsAreNamed(t *testing.T) {
	t.Parallel()
	const guards = `{agents: {list: [{id: 'eden'}, {id: 'quick', kind: 'utility'}]}, tools: {taskEnforcer: {enabled: true, tools: ['Write', 'exec', 'x']}, planGate: {enabled: true, tools: ['s__put']}}}`
	var specs []tool.Spec
	for _, name := range []string{"exec", "read", "s__put", "write"} {
		specs = append(specs, tool.Spec{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
	}
	const task, plan = " You may call these only while this session has a task in progress: exec, write.", " You may call these only with an approved plan that asks for them: s__put."
	for _, c := range []struct {
		config, agent, session string
		task, plan             int
	}{
		{guards, "eden", "agent:eden:main", 1, 1},
		{guards, "eden", "agent:eden:subagent:1", 0, 1},
		{guards, "quick", "agent:quick:main", 0, 1},
		{strings.ReplaceAll(guards, "true", "false"), "eden", "agent:eden:main", 0, 0},
	} {
		text := newTeam(t, c.config).build(t, prompt.Ask{Agent: c.agent, Session: key(t, c.session), Tools: specs}).System
		if strings.Count(text, task) != c.task || strings.Count(text, plan) != c.plan {
			t.Errorf("%+v: the prompt is\n%s", c, text)
		}
	}
}
