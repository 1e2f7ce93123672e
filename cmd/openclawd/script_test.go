//go:build !race

// Scripts start hundreds of processes, and under the race detector each takes a second to begin; the tests of the packages that these processes run
// look for races.

package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
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

	"github.com/pressly/goose/v3"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/migrations"
	"github.com/pronto-lab/openclawd/server/settings"
	"github.com/pronto-lab/openclawd/testdata/sample"
)

var update = flag.Bool("update", false, "rewrite the expected output in the scripts")

// TestScripts runs the program as a user does: from a shell, as a process or in one process for a whole script. The scripts have these
// commands beside testscript's own:
//
//	cli ARGS...                run openclawd ARGS, without a process of its own and without standard input
//	exits CODE COMMAND...      run a command that must exit with CODE; openclawd as by cli
//	until PATTERN ARGS...      run openclawd ARGS as by cli until a line of stdout matches, again when the log has grown
//	capture VARIABLE PATTERN   set a variable to what the group of PATTERN matches in stdout
//	server ARGS...             run openclawd serve ARGS until it listens, and set $API and $GATEWAY to its URLs
//	halt SIGNAL CODE           end that server and wait for its exit code; its output is then stdout and stderr
//	get PATH                   GET $API$PATH; the body is stdout
//	mask FILE                  write stdout to FILE with hashes and times of storage replaced
//	schema VERSION FILE        write the SQL that makes a database of an older schema to FILE
//	sqlite FILE STATEMENT...   run statements on a database, @FILE is one in a file; the value that a SELECT gives is stdout
//	page PATH                  run the command lines that a document shows
//	leave DIR                  let nothing prompt the agents of DIR, a copy of the sample, to go on with their tasks
//
// Without the build tag full only those scripts run that start no server.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("%d scripts, %v", len(scripts), err)
	}
	var texts []string
	scripts = slices.DeleteFunc(scripts, func(path string) bool {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !testscale.Full && startsServer.Match(text) {
			return true
		}
		texts = append(texts, string(text))
		return false
	})
	testscript.Run(t, testscript.Params{
		Files: scripts, UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("OPENCLAW_GATEWAY_PORT", "0") // any free one, unless a script says otherwise
			env.Setenv("REPOSITORY", repository)
			env.Setenv("GORACE", os.Getenv("GORACE")) // how the race detector ends a process
			env.Values[runningKey{}] = &running{}
			env.Values[sessionKey{}] = newSession(env, texts)
			return errors.Join(os.Mkdir(home, 0o700), os.CopyFS(filepath.Join(env.WorkDir, "sample"), stateFiles{}))
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"cli": cli, "exits": exits, "until": waitFor, "capture": capture, "server": startServer, "halt": haltServer, "get": get, "mask": mask, "schema": schema, "sqlite": runSQL, "leave": leave, "page": runPage,
		},
	})
}

// startsServer matches scripts that start a server.
var startsServer = regexp.MustCompile(`(?m)^server `)

// stateFiles is the sample without the Go file and the text that lie beside it.
type stateFiles struct{}

func (stateFiles) Open(name string) (fs.File, error) { return sample.Files.Open(name) }

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	code := 0
	if args[1] == "openclawd" {
		end := openclawd(ts, args[2:])
		end.say(ts)
		code = end.Code
	} else if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%s: %v", args[1], err)
		}
		code = exit.ExitCode()
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func leave(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: leave DIR")
	}
	path := filepath.Join(ts.MkAbs(args[0]), settings.FileName)
	const before = `"defaults": {`
	text := ts.ReadFile(path)
	if strings.Count(text, before) != 1 {
		ts.Fatalf("%s has no %s", path, before)
	}
	ts.Check(os.WriteFile(path, []byte(strings.Replace(text, before, before+`"taskContinuation": {"enabled": false}, `, 1)), 0o600))
}

// running is the one server that a script may run at a time.
type running struct {
	cmd            *exec.Cmd
	stdout, stderr strings.Builder
	read           chan error // closed when stdout has ended
}

type runningKey struct{}

func startServer(ts *testscript.TestScript, neg bool, args []string) {
	s := ts.Value(runningKey{}).(*running)
	if neg || s.cmd != nil {
		ts.Fatalf("usage: server ARGS..., one at a time")
	}
	*s = running{cmd: exec.Command("openclawd", append([]string{"serve"}, args...)...), read: make(chan error, 1)}
	s.cmd.Dir = ts.MkAbs(".")
	s.cmd.Env = append(os.Environ(), "HOME="+ts.Getenv("HOME"), "OPENCLAW_STATE_DIR="+ts.Getenv("OPENCLAW_STATE_DIR"),
		"TASK_MONITOR_PORT="+ts.Getenv("TASK_MONITOR_PORT"), "TMPDIR="+ts.Getenv("TMPDIR"), "OPENCLAW_GATEWAY_PORT="+ts.Getenv("OPENCLAW_GATEWAY_PORT"),
		"OPENCLAWD_ADMIN_TOKEN="+ts.Getenv("OPENCLAWD_ADMIN_TOKEN"))
	s.cmd.Stderr = &s.stderr
	out, err := s.cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(s.cmd.Start())
	ts.Defer(func() {
		if s.cmd != nil {
			_ = s.cmd.Process.Kill()
			_ = s.cmd.Wait()
		}
	})
	urls := map[string]chan string{"listening on ": make(chan string, 1), "gateway on ": make(chan string, 1)}
	go func() {
		defer close(s.read)
		for lines := bufio.NewScanner(io.TeeReader(out, &s.stdout)); lines.Scan(); {
			for begin, said := range urls {
				if url, ok := strings.CutPrefix(lines.Text(), begin); ok {
					said <- url
				}
			}
		}
	}()
	s.await(ts, "API", urls["listening on "])
	if ts.Setenv("GATEWAY", ""); !slices.Contains(args, "--follow") && !slices.Contains(args, "off") {
		s.await(ts, "GATEWAY", urls["gateway on "])
	}
}

// await sets a variable to a URL that the server tells.
func (s *running) await(ts *testscript.TestScript, variable string, said <-chan string) {
	select {
	case url := <-said:
		ts.Setenv(variable, url)
	case <-s.read:
		_ = s.cmd.Wait()
		s.cmd = nil
		ts.Fatalf("serve ended before it listened: %s", s.stderr.String())
	}
}

func haltServer(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]os.Signal{"SIGTERM": syscall.SIGTERM, "SIGINT": syscall.SIGINT}
	s := ts.Value(runningKey{}).(*running)
	if neg || s.cmd == nil || len(args) != 2 || signals[args[0]] == nil {
		ts.Fatalf("usage: halt SIGTERM|SIGINT CODE")
	}
	ts.Check(s.cmd.Process.Signal(signals[args[0]]))
	<-s.read
	_ = s.cmd.Wait()
	code := s.cmd.ProcessState.ExitCode()
	s.cmd = nil
	fmt.Fprint(ts.Stdout(), s.stdout.String())
	fmt.Fprint(ts.Stderr(), s.stderr.String())
	if strconv.Itoa(code) != args[1] {
		ts.Fatalf("serve exited with %d, want %s", code, args[1])
	}
}

func get(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: get PATH")
	}
	client := http.Client{Timeout: testscale.Patience}
	defer client.CloseIdleConnections()
	response, err := client.Get(ts.Getenv("API") + args[0])
	ts.Check(err)
	defer response.Body.Close()
	_, err = io.Copy(ts.Stdout(), response.Body)
	ts.Check(err)
	if response.StatusCode != http.StatusOK {
		ts.Fatalf("GET %s: %s", args[0], response.Status)
	}
}

// varying is what differs between two runs: salts make hashes differ, clocks the time of storage.
var varying = regexp.MustCompile(`"(hash|dataHash|head|recordedAt)": ("[0-9a-f]{64}"|\d+)`)

// runSQL opens the file without our schema and its checks.
func runSQL(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: sqlite FILE STATEMENT...")
	}
	const journalByte, isWAL = 18, 2 // of the header of a file
	header, _ := os.ReadFile(ts.MkAbs(args[0]))
	db, err := sqlite.OpenPlain(ts.MkAbs(args[0]), 1)
	ts.Check(err)
	defer db.Close()
	if len(header) <= journalByte || header[journalByte] != isWAL { // stays without a WAL, as a backup does
		_, err := db.Exec("PRAGMA journal_mode = DELETE")
		ts.Check(err)
	}
	for _, statement := range args[1:] {
		if file, is := strings.CutPrefix(statement, "@"); is {
			statement = ts.ReadFile(file)
		}
		if strings.HasPrefix(statement, "SELECT ") {
			var value string
			if err = db.QueryRow(statement).Scan(&value); err == nil {
				_, _ = fmt.Fprintln(ts.Stdout(), value)
			}
		} else {
			_, err = db.Exec(statement)
		}
		if err != nil {
			_, _ = fmt.Fprintln(ts.Stderr(), err)
		}
		if (err != nil) != neg {
			ts.Fatalf("%s: %v", statement, err)
		}
	}
}

func mask(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: mask FILE")
	}
	text := varying.ReplaceAllString(ts.ReadFile("stdout"), `"$1": "*"`)
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

func schema(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: schema VERSION FILE")
	}
	newest, err := strconv.Atoi(args[0])
	ts.Check(err)
	names, err := fs.Glob(migrations.Files, "*.sql")
	ts.Check(err)
	sql := fmt.Sprintf(`PRAGMA application_id = %d;
CREATE TABLE goose_db_version (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL,
 tstamp TIMESTAMP DEFAULT (datetime('now')));
INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1);
`, sqlite.ApplicationID)
	for _, name := range names {
		version, err := goose.NumericComponent(name)
		ts.Check(err)
		if version > int64(newest) {
			break
		}
		text, err := fs.ReadFile(migrations.Files, name)
		ts.Check(err)
		up, _, _ := strings.Cut(string(text), "-- +goose Down")
		sql += up + fmt.Sprintf("INSERT INTO goose_db_version (version_id, is_applied) VALUES (%d, 1);\n", version)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[1]), []byte(sql), 0o600))
}
