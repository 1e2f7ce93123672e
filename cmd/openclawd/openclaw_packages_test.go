//go:build clients

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pronto-lab/openclawd/tools/a2atest"
)

// openClaw is a package of OpenClaw as it is on npm, with a state directory that it writes itself.
type openClaw struct {
	version string
	dir     string
	gateway *exec.Cmd
	url     string
}

const openClawToken = "secret"

// command is OpenClaw's own program. Its client has a state directory too, so that it is one that the gateway knows.
func (o *openClaw) command(ctx context.Context, args ...string) *exec.Cmd {
	modules := filepath.Join(os.Getenv("MODULES"), "node_modules")
	cmd := exec.CommandContext(ctx, filepath.Join(modules, ".bin", "node"), append([]string{filepath.Join(modules, "openclaw-"+o.version, "openclaw.mjs")}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+o.dir, "OPENCLAW_STATE_DIR="+o.dir, "OPENCLAW_CONFIG_PATH="+filepath.Join(o.dir, "openclaw.json"),
		"OPENCLAW_SKIP_CHANNELS=1", "NO_COLOR=1", "PATH="+filepath.Join(modules, ".bin")+":"+os.Getenv("PATH"))
	return cmd
}

// configure writes what onboarding without a key would: a model, a token, and where agents work.
func (o *openClaw) configure(t *testing.T, model string) {
	t.Helper()
	mcp := ""
	if o.version != "2026.2.26" { // has none
		script, err := filepath.Abs("testdata/openclaw/mcp.mjs")
		if err != nil {
			t.Fatal(err)
		}
		mcp = fmt.Sprintf(`"mcp": {"servers": {"clock": {"command": "node", "args": [%q]}}},`, script)
	}
	search := ""
	if o.version > "2026.9" { // models would have to search for tools
		search = `"toolSearch": false, `
	}
	text := fmt.Sprintf(`{
  "gateway": {"mode": "local", "port": %d, "bind": "loopback", "auth": {"mode": "token", "token": %q}},
  "models": {"mode": "merge", "providers": {"fake": {"baseUrl": %q, "apiKey": "k", "api": "openai-completions", "models": [
    {"id": "m", "name": "M", "contextWindow": 128000, "maxTokens": 4096, "input": ["text"], "reasoning": false, "cost": {"input": 1, "output": 2, "cacheRead": 0, "cacheWrite": 0}}]}}},
  "agents": {"defaults": {"heartbeat": {"every": "0m"}, "model": {"primary": "fake/m"}, "workspace": %q}}, "browser": {"enabled": false}, %s
  "tools": {%s"exec": {"host": "gateway", "security": "full", "ask": "off"}}}`, freePort(t), openClawToken, model, filepath.Join(o.dir, "workspace"), mcp, search)
	if err := errors.Join(os.MkdirAll(filepath.Join(o.dir, "workspace"), 0o700), os.WriteFile(filepath.Join(o.dir, "openclaw.json"), []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// starts starts the gateway, and waits until it answers. On a busy machine 2026.9 may give up its migrations at start, and is started again.
func (o *openClaw) starts(t *testing.T) {
	t.Helper()
	for tries := 1; ; tries++ {
		fault := o.begins(t)
		if fault == nil {
			return
		}
		if tries == 3 {
			t.Fatal(fault)
		}
		t.Log(fault)
	}
}

// begins starts the gateway. It returns why it has ended before it answered, nil if it has not.
func (o *openClaw) begins(t *testing.T) error {
	t.Helper()
	var conf struct {
		Gateway struct{ Port int }
	}
	text, err := os.ReadFile(filepath.Join(o.dir, "openclaw.json"))
	if err = errors.Join(err, json.Unmarshal(text, &conf)); err != nil {
		t.Fatal(err)
	}
	o.url = fmt.Sprintf("ws://127.0.0.1:%d", conf.Gateway.Port)
	o.gateway = o.command(context.Background(), "gateway", "run")
	var said bytes.Buffer
	o.gateway.Stderr = &said
	out, err := o.gateway.StdoutPipe()
	if err == nil {
		err = o.gateway.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { o.stops() })
	ready := make(chan bool, 1)
	go func() {
		defer close(ready)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			t.Log(o.version + ": " + lines.Text())
			if regexp.MustCompile(`\] ready|skipping channel start`).MatchString(lines.Text()) {
				select {
				case ready <- true:
				default:
				}
			}
		}
	}()
	if <-ready {
		return nil
	}
	err = o.gateway.Wait()
	o.gateway = nil
	return fmt.Errorf("the gateway of %s ended: %v\n%s", o.version, err, &said)
}

// stops ends the gateway, and waits until its files are closed.
func (o *openClaw) stops() {
	if o.gateway != nil {
		_ = o.gateway.Process.Signal(os.Interrupt) // it may have ended
		_ = o.gateway.Wait()
		o.gateway = nil
	}
}

// calls calls a method of a gateway with OpenClaw's client, and returns what that prints. On a busy machine the client may give up before it is
// connected, and is asked again.
func (o *openClaw) calls(t *testing.T, url, token, method, params string, more ...string) string {
	t.Helper()
	for tries := 1; ; tries++ {
		cmd := o.command(t.Context(), append([]string{"gateway", "call", method, "--params", params, "--json", "--timeout", "300000", "--url", url, "--token", token}, more...)...)
		var said, faults bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &faults
		err := cmd.Run()
		if err == nil {
			return said.String()
		}
		if tries == 5 || !strings.Contains(said.String()+faults.String(), "timeout for connect") {
			t.Fatalf("%s %s: %v\n%s\n%s", method, params, err, &said, &faults)
		}
	}
}

func (o *openClaw) does(t *testing.T, method, params string, more ...string) {
	t.Helper()
	said := o.calls(t, o.url, openClawToken, method, params, more...)
	t.Logf("%s: %s %.120s", o.version, method, strings.Join(strings.Fields(said), " "))
}

// lives has the gateway do what teams do. The first call asks for all permissions: later a client would have to be approved for them.
func (o *openClaw) lives(t *testing.T) {
	t.Helper()
	o.does(t, "cron.add", `{"name":"daily","schedule":{"kind":"cron","expr":"0 9 * * *","tz":"UTC"},"sessionTarget":"isolated","wakeMode":"now",`+
		`"payload":{"kind":"agentTurn","message":"say good morning"},"delivery":{"mode":"none"}}`)
	o.does(t, "cron.add", `{"name":"main one","schedule":{"kind":"every","everyMs":86400000},"sessionTarget":"main","wakeMode":"next-heartbeat",`+
		`"payload":{"kind":"systemEvent","text":"look around"}}`)
	say := func(session, message string) {
		o.does(t, "agent", fmt.Sprintf(`{"sessionKey":"agent:main:%s","message":%q,"idempotencyKey":%q}`, session, message, session+message), "--expect-final")
	}
	say("three", "please spawn one helper")
	say("main", "hello, the word is amber")
	say("two", "please use exec now")
	o.does(t, "sessions.patch", `{"key":"agent:main:two","label":"the tools"}`)
	o.does(t, "sessions.reset", `{"key":"agent:main:two"}`)
	say("two", "after the reset")
	if o.version > "2026.9" {
		o.does(t, "sessions.compact", `{"key":"agent:main:main"}`)
	}
}

// hasLived checks that what is compared is there: a sub-agent, a call of a tool, and in 2026.9 a compaction.
func (o *openClaw) hasLived(t *testing.T, before seen) {
	t.Helper()
	text, err := json.Marshal(before)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"key":"agent:main:subagent:`, `"toolResult"`, `"totalTokens":15`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%s shows no %s", o.version, want)
		}
	}
	if o.version > "2026.9" && !strings.Contains(string(text), `"Compaction`) {
		t.Errorf("%s shows no compaction", o.version)
	}
}

// answersOfModels is what the model of all tests says.
func answersOfModels(a a2atest.Asked) a2atest.Answer {
	last := lastSaid(a)
	uses := func(name string, args any) a2atest.Answer {
		if last.Role == "user" && slices.Contains(a.Offered, name) {
			return a2atest.Use(a2atest.Call{Name: name, Args: args})
		}
		return a2atest.Say("there is no " + name)
	}
	switch {
	case strings.Contains(last.Text, "use exec"):
		return uses("exec", map[string]any{"command": "echo tool-output"})
	case strings.Contains(last.Text, "spawn one"):
		return uses("sessions_spawn", map[string]any{"task": "say done"})
	}
	return a2atest.Say("the answer")
}

// lastSaid is the last message of a person, model or tool: 2026.9 says after it what else there is to know.
func lastSaid(a a2atest.Asked) (last a2atest.Message) {
	for _, m := range a.Messages {
		if !strings.HasPrefix(m.Text, "<<<BEGIN_OPENCLAW_INTERNAL_CONTEXT>>>") {
			last = m
		}
	}
	return last
}

// seen is what a client is shown: by method, and for histories with the session.
type seen map[string]any

// sees asks a gateway for all that a client shows.
func (o *openClaw) sees(t *testing.T, url, token string) seen {
	t.Helper()
	shown := seen{}
	ask := func(name, method, params string) any {
		var v any
		if err := json.Unmarshal([]byte(o.calls(t, url, token, method, params)), &v); err != nil {
			t.Fatalf("%s: %v", method, err)
		}
		shown[name] = v
		return v
	}
	list := ask("sessions.list", "sessions.list", `{}`)
	ofPeople(ask("cron.list", "cron.list", `{"includeDisabled":true}`))
	for usage := ask("usage.cost", "usage.cost", `{}`); !allCounted(usage); usage = ask("usage.cost", "usage.cost", `{}`) {
	}
	usage := ask("sessions.usage", "sessions.usage", `{}`)
	for !allCounted(usage) {
		usage = ask("sessions.usage", "sessions.usage", `{}`)
	}
	shown["sessions.usage"] = usedBySession(usage)
	for _, s := range list.(map[string]any)["sessions"].([]any) {
		key := s.(map[string]any)["key"].(string)
		ask("chat.history "+key, "chat.history", fmt.Sprintf(`{"sessionKey":%q,"limit":200}`, key))
	}
	return shown
}

// ofPeople leaves the jobs that people have made in a list of scheduled jobs. OpenClaw makes others by itself, and again wherever they are missing.
func ofPeople(list any) {
	m := list.(map[string]any)
	jobs, _ := m["jobs"].([]any)
	m["jobs"] = slices.DeleteFunc(jobs, func(job any) bool { return job.(map[string]any)["declarationKey"] != nil })
}

// allCounted reports whether an answer has counted all usage; 2026.9 counts beside its answers. Days without usage are left out.
func allCounted(usage any) bool {
	m := usage.(map[string]any)
	days, _ := m["daily"].([]any)
	m["daily"] = slices.DeleteFunc(days, func(day any) bool { return day.(map[string]any)["totalTokens"] == 0.0 })
	status, _ := m["cacheStatus"].(map[string]any)
	return status["status"] != "refreshing"
}

// usedBySession leaves of sessions.usage the tokens and costs of each session, its models, and all of them. OpenClaw tells more of the same:
// by day, channel and creator, latencies, and names of tools.
func usedBySession(answer any) any {
	m := answer.(map[string]any)
	all, _ := m["sessions"].([]any)
	list := []any{}
	for _, one := range all {
		session := one.(map[string]any)
		usage, _ := session["usage"].(map[string]any)
		kept := map[string]any{"modelUsage": usage["modelUsage"]}
		for name := range m["totals"].(map[string]any) {
			kept[name] = usage[name]
		}
		list = append(list, map[string]any{"key": session["key"], "usage": kept})
	}
	return map[string]any{"sessions": list, "totals": m["totals"]}
}

// difference is one between two answers. Its values are for people.
type difference struct{ text, before, after string }

// differences lists how two answers differ, by place.
func differences(before, after seen) (list []difference) {
	add := func(text string, a, b any) {
		text = strings.Replace(random.ReplaceAllString(text, "<id>"), "chat.history.sessionInfo.", "sessions.list.sessions[].", 1)
		if !slices.ContainsFunc(list, func(d difference) bool { return d.text == text }) {
			list = append(list, difference{text, fmt.Sprintf("%.300v", a), fmt.Sprintf("%.300v", b)})
		}
	}
	var walk func(place string, a, b any)
	members := func(place string, a, b map[string]any) {
		for name, x := range a {
			if y, ok := b[name]; ok {
				walk(place+shortened(name), x, y)
			} else {
				add(place+name+" is of the first alone", x, nil)
			}
		}
		for name, y := range b {
			if _, ok := a[name]; !ok {
				add(place+name+" is of the second alone", nil, y)
			}
		}
	}
	walk = func(place string, a, b any) {
		if strings.HasSuffix(place, ".content") {
			a, b = blocksOf(a), blocksOf(b)
		}
		switch x := a.(type) {
		case map[string]any:
			if y, ok := b.(map[string]any); ok {
				members(place+".", x, y)
				return
			}
		case []any:
			if y, ok := b.([]any); ok {
				members(place, named(x), named(y))
				return
			}
		}
		if !isSame(a, b) {
			add(place+" differs", a, b)
		}
	}
	members("", before, after)
	slices.SortFunc(list, func(a, b difference) int { return strings.Compare(a.text, b.text) })
	return list
}

// isSame compares two values. Sums of costs are as exact as their last digits.
func isSame(a, b any) bool {
	x, is := a.(float64)
	y, are := b.(float64)
	return is && are && math.Abs(x-y) < 1e-9 || fmt.Sprint(a) == fmt.Sprint(b)
}

// blocksOf is the content of a message in the longer of its two forms.
func blocksOf(content any) any {
	if text, ok := content.(string); ok {
		return []any{map[string]any{"type": "text", "text": text}}
	}
	return content
}

// shortened is the name of what is compared, without its place in a list or the session.
func shortened(name string) string {
	if strings.HasPrefix(name, "[") {
		return "[]"
	}
	method, _, _ := strings.Cut(name, " ")
	return method
}

// named gives elements of a list the names by which they are found in the other list. A message is found by who said what.
func named(list []any) map[string]any {
	byName := map[string]any{}
	for i, one := range list {
		name := fmt.Sprint(i)
		if m, ok := one.(map[string]any); ok {
			for _, field := range []string{"key", "name", "date"} {
				if text, ok := m[field].(string); ok {
					name = text
				}
			}
			if role, ok := m["role"]; ok {
				name = fmt.Sprintf("%v %.40q", role, said(m["content"]))
			}
		}
		for n := 2; byName["["+name+"]"] != nil; n++ {
			name = fmt.Sprintf("%s %d", name, n)
		}
		byName["["+name+"]"] = one
	}
	return byName
}

// said is the text of a message's content.
func said(content any) string {
	text, _ := content.(string)
	blocks, _ := content.([]any)
	for _, b := range blocks {
		if m, ok := b.(map[string]any); ok {
			part, _ := m["text"].(string)
			text += part
		}
	}
	return text
}

// random is what differs from run to run: ids and dates.
var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\d{4}-\d{2}-\d{2}`)

// compares reports differences that testdata/openclaw/differences.txt does not give a reason for. SEEN names a directory that keeps both answers.
func (o *openClaw) compares(t *testing.T, stage string, before, after seen) {
	t.Helper()
	if d := os.Getenv("SEEN"); d != "" {
		x, _ := json.Marshal(before)
		y, _ := json.Marshal(after)
		_ = os.WriteFile(filepath.Join(d, o.version+"."+stage+".before.json"), x, 0o600)
		_ = os.WriteFile(filepath.Join(d, o.version+"."+stage+".after.json"), y, 0o600)
	}
	reasons, err := os.ReadFile("testdata/openclaw/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range differences(before, after) {
		if line := stage + " " + d.text + "\n"; !strings.Contains(string(reasons), "\n"+line) && !strings.Contains(string(reasons), "\n"+o.version+" "+line) {
			t.Errorf("%s: %s %s: %s, %s", o.version, stage, d.text, d.before, d.after)
		}
	}
}

// hashed is the hash of each file of a directory.
func hashed(t *testing.T, dir string) map[string][32]byte {
	t.Helper()
	hashes := map[string][32]byte{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		hashes[path] = sha256.Sum256(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return hashes
}

// Directories that packages of OpenClaw have written are taken over; their client is shown by us what it was shown before, and again by OpenClaw
// that opens what goes back, but for the differences that are known. See make clients-openclaw.
func TestOpenClawMovesInAndBack(t *testing.T) {
	for _, version := range []string{"2026.2.26", "2026.5.12", "2026.9.6"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			model := a2atest.NewModel(t, answersOfModels)
			o := &openClaw{version: version, dir: t.TempDir()}
			o.configure(t, model.URL)
			o.starts(t)
			o.lives(t)
			before := o.sees(t, o.url, openClawToken)
			o.hasLived(t, before)
			o.stops()
			if d := os.Getenv("SEEN"); d != "" {
				if err := os.CopyFS(filepath.Join(d, version+".state"), os.DirFS(o.dir)); err != nil {
					t.Log(err)
				}
			}

			m := &team{dir: t.TempDir()}
			hashes := hashed(t, o.dir)
			if said := m.does(t, "config", "import", filepath.Join(o.dir, "openclaw.json")); said.code != exitOK {
				t.Fatalf("%+v", said)
			}
			first := m.does(t, "migrate", "openclaw", "--from", o.dir, "--json")
			t.Logf("%s: %s", version, first.stdout)
			var report struct {
				Counts []struct {
					Part string
					New  int
				}
			}
			again := m.does(t, "migrate", "openclaw", "--from", o.dir, "--json")
			if err := json.Unmarshal([]byte(again.stdout), &report); err != nil {
				t.Fatalf("%v: %+v", err, again)
			}
			for _, count := range report.Counts {
				if count.New > 0 {
					t.Errorf("a second migration adds %d of %s", count.New, count.Part)
				}
			}
			if after := hashed(t, o.dir); !equalHashes(hashes, after) {
				t.Error("the migration has changed the directory")
			}
			m.start(t)
			o.compares(t, "here", before, o.sees(t, m.gateway, openClawToken))
			m.end(os.Interrupt)

			back := &openClaw{version: version, dir: filepath.Join(t.TempDir(), "again")}
			if said := m.does(t, "migrate", "back", "--to", back.dir); said.code != exitOK {
				t.Fatalf("%+v", said)
			}
			back.configure(t, model.URL)
			if version > "2026.6" {
				if out, err := back.command(t.Context(), "doctor", "--fix", "--non-interactive").CombinedOutput(); err != nil {
					t.Fatalf("doctor: %v\n%s", err, out)
				}
			}
			back.starts(t)
			o.compares(t, "back", before, back.sees(t, back.url, openClawToken))
			back.stops()

			o.starts(t)
			o.compares(t, "again", before, o.sees(t, o.url, openClawToken))
		})
	}
}

func equalHashes(a, b map[string][32]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for path, hash := range a {
		if b[path] != hash {
			return false
		}
	}
	return true
}
