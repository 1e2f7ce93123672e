package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
)

// fault is a row of the table "Faults" of the handbook: what a command says when something has happened to the database.
type fault struct {
	name, command, exit, code, message, hint string
}

// faultsOfTheHandbook reads the table.
func faultsOfTheHandbook(t *testing.T) map[string]fault {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", "troubleshoot.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(text), "\n## Faults\n")
	section, _, _ = strings.Cut(section, "\n## ")
	if !found {
		t.Fatal("docs/operations/troubleshoot.md has no section Faults")
	}
	faults := map[string]fault{}
	for _, row := range regexp.MustCompile(`(?m)^\| (.+) \|$`).FindAllStringSubmatch(section, -1) {
		cells := strings.Split(row[1], " | ")
		for i := range cells {
			cells[i] = strings.Trim(strings.TrimSpace(cells[i]), "`")
		}
		if len(cells) != 6 {
			t.Fatalf("%q has %d cells, want 6", row[0], len(cells))
		}
		if cells[0] != "what has happened" {
			faults[cells[0]] = fault{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]}
		}
	}
	return faults
}

// matches reports whether a program has said what the handbook promises: DB stands for the database, ... for anything.
func matches(promised, db, got string) bool {
	pattern := strings.ReplaceAll(regexp.QuoteMeta(promised), `\.\.\.`, `.*`)
	pattern = strings.ReplaceAll(pattern, "DB", regexp.QuoteMeta(db))
	return regexp.MustCompile(`^(?s:` + pattern + `)$`).MatchString(got)
}

// scene is a database of a state directory to which something is to happen.
type scene struct {
	t             *testing.T
	dir, db, file string // file is a log to import
}

func newScene(t *testing.T) *scene {
	t.Helper()
	dir := t.TempDir()
	if resolved, err := filepath.EvalSymlinks(dir); err == nil {
		dir = resolved
	}
	p := &scene{t: t, dir: dir, db: filepath.Join(dir, database.Name), file: filepath.Join(dir, "lines.ndjson")}
	var lines bytes.Buffer
	for i := range 3000 {
		_ = json.NewEncoder(&lines).Encode(map[string]any{"type": "a2a.send", "agentId": "eden", "ts": 1771588800000 + i,
			"data": map[string]any{"fromAgent": "eden", "toAgent": "seum", "message": strings.Repeat("말", 600)}})
	}
	if err := os.WriteFile(p.file, lines.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// ends is how a command has ended.
type ends struct {
	exit           int
	stdout, stderr string
}

func (p *scene) ended(cmd *exec.Cmd) ends {
	p.t.Helper()
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = time.Minute
	_ = cmd.Run() // its exit code says it
	return ends{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

func (p *scene) run(args ...string) ends { return p.ended(program(p.t, args...)) }

// must runs a command that has to succeed.
func (p *scene) must(args ...string) ends {
	p.t.Helper()
	e := p.run(args...)
	if e.exit != exitOK {
		p.t.Fatalf("openclawd %s: exit code %d: %s", strings.Join(args, " "), e.exit, e.stderr)
	}
	return e
}

// serving is the command line of a server of the scene that finds a port of its own.
func (p *scene) serving(more ...string) []string {
	return append([]string{"serve", "--follow", "--api", "127.0.0.1:0", "--state-dir", p.dir, "--db", p.db}, more...)
}

// serve runs a server until it answers, and then until what was started here ends it.
func (p *scene) serve(more ...string) (server *exec.Cmd, end func(syscall.Signal) int) {
	p.t.Helper()
	return p.serveAt(make(chan string, 1), more...)
}

// serveAt is serve that tells where.
func (p *scene) serveAt(api chan<- string, more ...string) (server *exec.Cmd, end func(syscall.Signal) int) {
	p.t.Helper()
	return p.serveBy(program(p.t, p.serving(more...)...), api)
}

// serveBy is serveAt for a command that runs the server.
func (p *scene) serveBy(server *exec.Cmd, api chan<- string) (_ *exec.Cmd, end func(syscall.Signal) int) {
	p.t.Helper()
	var stderr bytes.Buffer
	server.Stderr = &stderr
	out, err := server.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		p.t.Fatal(err)
	}
	over := false
	end = func(signal syscall.Signal) int {
		if !over {
			over = true
			_ = server.Process.Signal(signal)
			_ = server.Wait()
		}
		return server.ProcessState.ExitCode()
	}
	p.t.Cleanup(func() { end(syscall.SIGKILL) })
	lines := bufio.NewScanner(out)
	lines.Scan()
	url, ok := strings.CutPrefix(lines.Text(), "listening on ")
	if !ok {
		end(syscall.SIGKILL)
		p.t.Fatalf("serve has not started: %s", stderr.String())
	}
	api <- url
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return server, end
}

// logs puts the lines where a server imports them before it answers.
func (p *scene) logs() {
	p.t.Helper()
	if err := os.MkdirAll(filepath.Join(p.dir, "logs"), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.Rename(p.file, filepath.Join(p.dir, "logs", "coordination-events.ndjson")); err != nil {
		p.t.Fatal(err)
	}
	p.file = filepath.Join(p.dir, "logs", "coordination-events.ndjson")
}

// promises compares what a command with --json has said with the row.
func (p *scene) promises(f fault, e ends) {
	p.t.Helper()
	var told struct{ Error, Code, Hint string }
	if err := json.Unmarshal([]byte(e.stderr), &told); err != nil {
		p.t.Fatalf("it says %q, want an error in JSON", e.stderr)
	}
	p.saysSo(f, e.exit, told.Error, told.Hint)
	if told.Code != f.code {
		p.t.Errorf("code %q, the handbook promises %q", told.Code, f.code)
	}
}

// promisesInWords is promises for a command that knows no --json.
func (p *scene) promisesInWords(f fault, e ends) {
	p.t.Helper()
	told := regexp.MustCompile(`(?m)^error: (.*)\nhint: (.*)$`).FindStringSubmatch(e.stderr)
	if told == nil {
		p.t.Fatalf("it says %q, want an error and a hint", e.stderr)
	}
	p.saysSo(f, e.exit, told[1], told[2])
}

func (p *scene) saysSo(f fault, exit int, message, hint string) {
	p.t.Helper()
	if strconv.Itoa(exit) != f.exit {
		p.t.Errorf("exit code %d, the handbook promises %s", exit, f.exit)
	}
	if !matches(f.message, p.db, message) {
		p.t.Errorf("message %q, the handbook promises %q", message, f.message)
	}
	if !matches(f.hint, p.db, hint) {
		p.t.Errorf("hint %q, the handbook promises %q", hint, f.hint)
	}
}

// Every row of the handbook's table of faults is what the real program does.
//
// Promise: faults
func TestFaultsAreHandledAsDocumented(t *testing.T) {
	t.Parallel()
	happen := map[string]func(*scene, fault){
		"the volume is full":                    onAFullVolume,
		"files may not grow (ulimit -f)":        withLimitedFiles,
		"a page of the file is damaged":         withADamagedPage,
		"the file was cut off":                  cutOff,
		"the WAL was removed after a kill":      withoutItsWAL,
		"the clock was set back by a day":       withAClockSetBack,
		"another server has the same file open": besideAnother,

		"the lock file was removed beside a server":        withoutItsLockFile,
		"the file has another name, a hard link":           withAnotherName,
		"the file was removed while a server had it open":  lostToAServer(func(p *scene) error { return os.Remove(p.db) }, true),
		"the file was replaced while a server had it open": lostToAServer(replaced, true),
		"the file was cut off while a server had it open":  lostToAServer(func(p *scene) error { return os.Truncate(p.db, 0) }, false),
		"the device does not give all of the file":         withAFailingDevice,
		"another process holds the write lock":             besideAWriter,
		"another program has inserted an event":            withAForeignEvent,
	}
	promised := faultsOfTheHandbook(t)
	for _, name := range slices.Sorted(maps.Keys(promised)) {
		if happen[name] == nil {
			t.Errorf("the handbook promises something where %s; nothing tries it", name)
		}
	}
	for name, try := range happen {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, ok := promised[name]
			if !ok {
				t.Fatalf("the handbook has no row for %q", name)
			}
			try(newScene(t), f)
		})
	}
}

// onAFullVolume uses a small volume of its own where the system lets it make one; where it does not, the limit of files is all there is.
func onAFullVolume(p *scene, f fault) {
	volume := filepath.Join(p.dir, "volume")
	if err := os.Mkdir(volume, 0o700); err != nil {
		p.t.Fatal(err)
	}
	p.db = filepath.Join(volume, database.Name)
	cmd := program(p.t, "import", "--json", "--db", p.db, p.file)
	args := []string{"-c", `mount -t tmpfs -o size=2m none "$0" && exec "$@"`, volume}
	if exec.Command("unshare", "-Urm", "sh", "-c", `mount -t tmpfs -o size=2m none "$0"`, volume).Run() != nil {
		p.t.Log("this system allows no volume to be made: the limit of files stands for its end")
		args = []string{"-c", `ulimit -f 4000 && exec "$@"`, volume}
		cmd = p.shell(cmd, "sh", args...)
	} else {
		cmd = p.shell(cmd, "unshare", append([]string{"-Urm", "sh"}, args...)...)
	}
	p.promises(f, p.ended(cmd))
}

// shell has a command of the program run by way of another one, which gets it as its last arguments.
func (p *scene) shell(cmd *exec.Cmd, name string, before ...string) *exec.Cmd {
	p.t.Helper()
	link := filepath.Join(p.t.TempDir(), "openclawd") // by its name it knows that it is the program
	if err := os.Symlink(cmd.Path, link); err != nil {
		p.t.Fatal(err)
	}
	by := exec.Command(name, append(before, append([]string{link}, cmd.Args[1:]...)...)...)
	by.Env = cmd.Env
	return by
}

func withLimitedFiles(p *scene, f fault) {
	cmd := program(p.t, "import", "--json", "--db", p.db, p.file)
	p.promises(f, p.ended(p.shell(cmd, "sh", "-c", `ulimit -f 4000 && exec "$@"`, "sh")))
	// Nothing is lost by it: what was stored is sound, and without the limit the rest follows.
	p.must("verify", "--db", p.db)
	if e := p.must("import", "--db", p.db, p.file, "--json"); !strings.Contains(e.stdout, `"new"`) {
		p.t.Errorf("import again: %s", e.stdout)
	}
	if e := p.must("verify", "--json", "--db", p.db); !strings.Contains(e.stdout, `"events": 3000`) {
		p.t.Errorf("verify says %s, want 3,000 events", e.stdout)
	}
}

func withADamagedPage(p *scene, f fault) {
	p.must("import", "--db", p.db, p.file)
	overwrite(p.t, p.db, func(text []byte) []byte {
		const page = 4096
		middle := len(text) / page / 2 * page
		for i := range text[middle : middle+page] {
			text[middle+i] = 0xa5
		}
		return text
	})
	p.promises(f, p.run("verify", "--json", "--db", p.db))
}

func cutOff(p *scene, f fault) {
	p.must("import", "--db", p.db, p.file)
	overwrite(p.t, p.db, func(text []byte) []byte { return text[:len(text)*9/10] })
	p.promisesInWords(f, p.run(p.serving()...))
	p.promises(f, p.run("import", "--json", "--db", p.db, p.file))
}

func overwrite(t *testing.T, path string, change func([]byte) []byte) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, change(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func withoutItsWAL(p *scene, f fault) {
	p.logs()
	_, end := p.serve()
	end(syscall.SIGKILL)
	kept := map[string][]byte{}
	for _, beside := range []string{"-wal", "-shm"} {
		text, err := os.ReadFile(p.db + beside)
		if err != nil {
			p.t.Fatal(err)
		}
		kept[beside] = text
		if err := os.Remove(p.db + beside); err != nil {
			p.t.Fatal(err)
		}
	}
	for range 2 { // and so it stays
		p.promisesInWords(f, p.run(p.serving()...))
		p.promises(f, p.run("import", "--json", "--db", p.db, p.file))
	}
	// What the hint says helps: the WAL, put back, or going on with what is left.
	for _, beside := range []string{"-wal", "-shm"} {
		if err := os.Remove(p.db + beside); err != nil && !os.IsNotExist(err) {
			p.t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.db+"-wal", kept["-wal"], 0o600); err != nil {
		p.t.Fatal(err)
	}
	if e := p.must("verify", "--json", "--db", p.db); !strings.Contains(e.stdout, `"events": 3000`) {
		p.t.Errorf("with its WAL it has %s, want 3,000 events", e.stdout)
	}
	_, end = p.serve()
	if code := end(syscall.SIGTERM); code != exitOK {
		p.t.Errorf("with its WAL serve ends with %d, want 0", code)
	}
}

func withAClockSetBack(p *scene, f fault) {
	p.logs()
	_, end := p.serve("--clock", time.Now().Add(24*time.Hour).UTC().Format(time.RFC3339))
	if code := end(syscall.SIGTERM); code != exitOK {
		p.t.Fatalf("serve ends with %d", code)
	}
	p.finds(f, p.run("doctor", "--json", "--state-dir", p.dir, "--db", p.db))

	// Appends go on, and the log stays in order.
	more := []byte(`{"type":"a2a.send","agentId":"eden","ts":1771588900000,"data":{"fromAgent":"eden","toAgent":"seum","message":"after"}}` + "\n")
	overwrite(p.t, p.file, func(text []byte) []byte { return append(text, more...) })
	_, end = p.serve()
	if code := end(syscall.SIGTERM); code != exitOK {
		p.t.Errorf("serve ends with %d, want 0", code)
	}
	if e := p.must("verify", "--json", "--db", p.db); !strings.Contains(e.stdout, `"events": 3001`) {
		p.t.Errorf("verify says %s, want 3,001 events", e.stdout)
	}
}

func besideAnother(p *scene, f fault) {
	_, end := p.serve()
	p.promisesInWords(f, p.run(p.serving()...))
	p.promises(f, p.run("import", "--json", "--db", p.db, p.file))
	if code := end(syscall.SIGTERM); code != exitOK {
		p.t.Errorf("the first one ends with %d, want 0", code)
	}
	if _, end := p.serve(); end(syscall.SIGTERM) != exitOK {
		p.t.Error("serve is refused when the first one has ended")
	}
}

func withoutItsLockFile(p *scene, f fault) {
	_, end := p.serve()
	if err := os.Remove(p.db + ".lock"); err != nil {
		p.t.Fatal(err)
	}
	for range 2 {
		p.promisesInWords(f, p.run(p.serving()...))
	}
	if code := end(syscall.SIGTERM); code != exitOK {
		p.t.Errorf("the first one ends with %d, want 0", code)
	}
}

func withAnotherName(p *scene, f fault) {
	p.must("import", "--db", p.db, p.file)
	first, other := p.db, filepath.Join(p.t.TempDir(), "other.db")
	if err := os.Link(p.db, other); err != nil {
		p.t.Fatal(err)
	}
	for _, name := range []string{other, first} {
		p.db = name
		p.promisesInWords(f, p.run(p.serving()...))
	}
	// Beside a server it is the server's all the same, under any name.
	if err := os.Remove(other); err != nil {
		p.t.Fatal(err)
	}
	_, end := p.serve()
	if err := os.Link(p.db, other); err != nil {
		p.t.Fatal(err)
	}
	if e := p.run("import", "--json", "--db", other, p.file); e.exit != exitAgain || !strings.Contains(e.stderr, `"locked"`) {
		p.t.Errorf("by another name: exit code %d: %s", e.exit, e.stderr)
	}
	if code := end(syscall.SIGTERM); code != exitOK {
		p.t.Errorf("the server ends with %d, want 0", code)
	}
	p.must("verify", "--db", p.db)
}

func replaced(p *scene) error {
	p.must("import", "--db", p.db+".new", p.file)
	return os.Rename(p.db+".new", p.db)
}

// lostToAServer has something happen to the file that a server has open. Where what it has open is still whole, that is saved and put in place.
func lostToAServer(happen func(*scene) error, saved bool) func(*scene, fault) {
	return func(p *scene, f fault) {
		p.logs()
		api := make(chan string, 1)
		_, end := p.serveAt(api)
		url := <-api
		if err := happen(p); err != nil {
			p.t.Fatal(err)
		}
		// A line that comes now is not taken: it is in the log of the other gateway, and read again later.
		overwrite(p.t, p.file, func(text []byte) []byte {
			return append(text, `{"type":"a2a.send","agentId":"eden","ts":1771588900000,"data":{"fromAgent":"eden","toAgent":"seum","message":"after"}}`+"\n"...)
		})
		e := p.run("doctor", "--json", "--state-dir", p.dir, "--db", p.db)
		p.finds(f, e)
		if response, err := http.Get(url + "/readyz"); err != nil || response.StatusCode != http.StatusServiceUnavailable {
			p.t.Errorf("readyz: %v, %v", response, err)
		} else {
			_ = response.Body.Close()
		}
		var made struct {
			File string
			Seq  int64
		}
		if saved {
			if err := json.Unmarshal([]byte(p.must("backup", "create", "--json", "--db", p.db).stdout), &made); err != nil || made.Seq < 3000 {
				p.t.Fatalf("saved %+v, %v", made, err)
			}
		}
		end(syscall.SIGTERM)
		if !saved {
			return
		}
		for _, left := range []string{"", "-wal", "-shm", ".open"} {
			if err := os.Remove(p.db + left); err != nil && !os.IsNotExist(err) {
				p.t.Fatal(err)
			}
		}
		if err := os.Rename(made.File, p.db); err != nil {
			p.t.Fatal(err)
		}
		_, end = p.serve()
		if code := end(syscall.SIGTERM); code != exitOK {
			p.t.Errorf("with what was saved serve ends with %d, want 0", code)
		}
		if e := p.must("verify", "--json", "--db", p.db); !strings.Contains(e.stdout, `"events": 3001`) {
			p.t.Errorf("verify says %s, want 3,001 events", e.stdout)
		}
	}
}

// finds compares a finding of the doctor with the row.
func (p *scene) finds(f fault, e ends) {
	p.t.Helper()
	var findings []struct{ Severity, Code, What, Hint string }
	if err := json.Unmarshal([]byte(e.stdout), &findings); err != nil {
		p.t.Fatal(err, e.stderr)
	}
	n := slices.IndexFunc(findings, func(found struct{ Severity, Code, What, Hint string }) bool { return found.Code == f.code })
	if n < 0 {
		p.t.Fatalf("doctor finds %+v, the handbook promises %s", findings, f.code)
	}
	p.saysSo(f, e.exit, findings[n].What, findings[n].Hint)
}

// failingDevice is the name of a command that runs another one to which the system gives no bytes of a file from an offset on.
const failingDevice = "failing-device"

func withAFailingDevice(p *scene, f fault) {
	p.must("import", "--db", p.db, p.file)
	const readable = 2 << 20
	if info, err := os.Stat(p.db); err != nil || info.Size() < 2*readable {
		p.t.Fatalf("the file is too small: %v, %v", info, err)
	}
	failing := func(args ...string) ends {
		cmd := program(p.t, args...)
		cmd.Args = append([]string{failingDevice, strconv.Itoa(readable)}, args...)
		return p.ended(cmd)
	}
	e := failing("verify", "--json", "--db", p.db)
	if e.exit == exitNoFilter {
		p.t.Log("this system does not let us take a device away from a process")
		return
	}
	p.promises(f, e)
	// No one is told to put an older backup over what is whole.
	for _, command := range [][]string{{"doctor", "--state-dir", p.dir, "--db", p.db}, {"backup", "create", "--db", p.db, "--dir", p.t.TempDir()}} {
		if e := failing(command...); e.exit == exitOK || strings.Contains(e.stdout+e.stderr, "restore the newest backup") || !strings.Contains(e.stdout+e.stderr, "I/O error") {
			p.t.Errorf("%s says %d: %s%s", command[0], e.exit, e.stdout, e.stderr)
		}
	}
	p.must("verify", "--db", p.db)
}

// besideAWriter holds the write lock for as long as a commit waits for it.
func besideAWriter(p *scene, f fault) {
	p.must("import", "--db", p.db, p.file)
	other, err := sqlite.OpenPlain(p.db, 1)
	if err != nil {
		p.t.Fatal(err)
	}
	defer other.Close()
	held, err := other.Begin()
	if err != nil {
		p.t.Fatal(err)
	}
	p.promises(f, p.run("import", "--json", "--db", p.db, p.file))
	if err := held.Rollback(); err != nil {
		p.t.Fatal(err)
	}
	p.must("import", "--db", p.db, p.file)
}

func withAForeignEvent(p *scene, f fault) {
	p.must("import", "--db", p.db, p.file)
	other, err := sqlite.OpenPlain(p.db, 1)
	if err != nil {
		p.t.Fatal(err)
	}
	_, err = other.Exec(`INSERT INTO events SELECT 3001, randomblob(16), stream_id, 9999, type, ver, agent_id, ts, recorded_at, correlation_id, causation_id,
 actor, data, original, salt, data_hash, hash FROM events WHERE seq = 3000`)
	if err := errors.Join(err, other.Close()); err != nil {
		p.t.Fatal(err)
	}
	p.finds(f, p.run("doctor", "--json", "--state-dir", p.dir, "--db", p.db))
	if e := p.run(p.serving()...); e.exit == exitOK || !strings.Contains(e.stderr, "openclawd doctor") {
		p.t.Errorf("serve: exit code %d: %s", e.exit, e.stderr)
	}
	// What the doctor says helps.
	sound, again := filepath.Join(p.t.TempDir(), "sound.ndjson"), filepath.Join(p.t.TempDir(), "again.db")
	p.must("export", "--format", "full", "--until", "3000", "--out", sound, "--db", p.db)
	p.must("import", "--db", again, sound)
	if e := p.must("verify", "--json", "--db", again); !strings.Contains(e.stdout, `"events": 3000`) {
		p.t.Errorf("verify says %s, want 3,000 events", e.stdout)
	}
}

// A file of a workspace that finds no room is refused with a code of its own, and leaves nothing.
func TestWorkspaceFileOnAFullVolume(t *testing.T) {
	t.Parallel()
	p := newScene(t)
	workspace := filepath.Join(p.dir, "workspace-eden")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	mount := []string{"-Urm", "sh", "-c", `mount -t tmpfs -o size=64k none "$0" && exec "$@"`, workspace}
	if exec.Command("unshare", append(mount, "true")...).Run() != nil {
		t.Log("this system does not let us make a volume")
		return
	}
	api := make(chan string, 1)
	_, end := p.serveBy(p.shell(program(t, p.serving()...), "unshare", mount...), api)
	url := <-api
	for _, c := range []struct {
		bytes, status int
		code          string
	}{{200_000, http.StatusInsufficientStorage, "disk_full"}, {100, http.StatusOK, ""}} {
		body, err := json.Marshal(map[string]string{"path": "workspace-eden/notes.md", "content": strings.Repeat("x", c.bytes)})
		if err != nil {
			t.Fatal(err)
		}
		response, err := http.Post(url+"/api/workspace-file", "application/json", bytes.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		var answer struct{ Code, Hint string }
		err = json.NewDecoder(response.Body).Decode(&answer)
		_ = response.Body.Close()
		if err != nil || response.StatusCode != c.status || answer.Code != c.code || (c.code != "") != (answer.Hint != "") {
			t.Errorf("%d bytes: %s, %+v, %v; want %d %s", c.bytes, response.Status, answer, err, c.status, c.code)
		}
	}
	if code := end(syscall.SIGTERM); code != exitOK {
		t.Errorf("serve ends with %d, want 0", code)
	}
}
