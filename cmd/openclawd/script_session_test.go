package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/internal/testscale"
)

// sessionCommand is the name under which the test binary executes the command lines of one script, one after the other. A process of its own
// gives them the script's directory and environment; starting one for each command line would take most of the time.
const sessionCommand = "openclawd-session"

// commandLine is what a session is told to execute.
type commandLine struct {
	Args, Env []string
	Dir       string
}

// commandEnd is what a session says of it.
type commandEnd struct {
	Stdout, Stderr []byte
	Code           int
}

// serveSession executes command lines until its standard input ends. The commands themselves have an empty one.
func serveSession() {
	requests, answers := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	err := func() (err error) {
		if os.Stdin, err = os.Open(os.DevNull); err != nil {
			return err
		}
		for {
			var line commandLine
			if err := requests.Decode(&line); err != nil {
				return err
			}
			end, err := line.execute()
			if err != nil {
				return err
			}
			if err := answers.Encode(end); err != nil {
				return err
			}
		}
	}()
	if !errors.Is(err, io.EOF) {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
}

func (l commandLine) execute() (end commandEnd, err error) {
	if err := os.Chdir(l.Dir); err != nil {
		return end, err
	}
	for _, variable := range l.Env {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return end, err
		}
	}
	var stdout, stderr bytes.Buffer
	end.Code = execute(context.Background(), &process{name: "openclawd", args: l.Args, stdout: &stdout, stderr: &stderr, getenv: os.Getenv, now: time.Now})
	end.Stdout, end.Stderr = stdout.Bytes(), stderr.Bytes()
	return end, nil
}

// session is a script's own, started for its first command line.
type session struct {
	variables []string // names of those that scripts set
	set       map[string]bool
	requests  *json.Encoder
	answers   *json.Decoder
	stderr    bytes.Buffer
}

type sessionKey struct{}

// scriptVariable matches what sets a variable in a script.
var scriptVariable = regexp.MustCompile(`(?m)^env (\w+)=`)

// newSession returns a session for scripts of these texts.
func newSession(env *testscript.Env, texts []string) *session {
	s := &session{set: map[string]bool{}}
	for _, variable := range env.Vars {
		name, _, _ := strings.Cut(variable, "=")
		s.variables = append(s.variables, name)
	}
	for _, text := range texts {
		for _, set := range scriptVariable.FindAllStringSubmatch(text, -1) {
			s.variables = append(s.variables, set[1])
		}
	}
	slices.Sort(s.variables)
	s.variables = slices.Compact(s.variables)
	return s
}

// openclawd executes a command line as the script would in a process.
func openclawd(ts *testscript.TestScript, args []string) (end commandEnd) {
	s := ts.Value(sessionKey{}).(*session)
	line := commandLine{Args: args, Dir: ts.MkAbs(".")}
	for _, name := range s.variables {
		value := ts.Getenv(name)
		if s.set[name] = s.set[name] || value != ""; s.set[name] {
			line.Env = append(line.Env, name+"="+value)
		}
	}
	line.Env = append(line.Env, "PWD="+line.Dir)
	if s.requests == nil {
		s.start(ts, line.Env)
	}
	if err := errors.Join(s.requests.Encode(line), s.answers.Decode(&end)); err != nil {
		ts.Fatalf("openclawd %q: %v\n%s", args, err, s.stderr.String())
	}
	return end
}

// say leaves the output as stdout and stderr.
func (e *commandEnd) say(ts *testscript.TestScript) {
	_, _ = ts.Stdout().Write(e.Stdout)
	_, _ = ts.Stderr().Write(e.Stderr)
}

func (s *session) start(ts *testscript.TestScript, env []string) {
	cmd := exec.Command(sessionCommand)
	cmd.Env = env
	cmd.Stderr = &s.stderr
	requests, err := cmd.StdinPipe()
	ts.Check(err)
	answers, err := cmd.StdoutPipe()
	ts.Check(err)
	ts.Check(cmd.Start())
	s.requests, s.answers = json.NewEncoder(requests), json.NewDecoder(answers)
	ts.Defer(func() {
		_ = requests.Close()
		_ = cmd.Wait()
	})
}

func cli(ts *testscript.TestScript, neg bool, args []string) {
	end := openclawd(ts, args)
	end.say(ts)
	if (end.Code != exitOK) != neg {
		ts.Fatalf("exit code %d", end.Code)
	}
}

// waitFor looks again when the log has grown, or after a while for what no event announces.
func waitFor(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: until PATTERN ARGS...")
	}
	const longestPause = 2 * time.Second
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	ctx, stop := context.WithTimeout(context.Background(), testscale.Patience)
	defer stop()
	log, err := database.OpenToRead(ctx, ts.MkAbs(databaseOf(ts, args)), time.Now)
	ts.Check(err)
	defer log.Close()
	for {
		head, err := log.Head(ctx)
		ts.Check(err)
		end := openclawd(ts, args[1:])
		if pattern.Match(end.Stdout) {
			end.say(ts)
			return
		}
		pausing, over := context.WithTimeout(ctx, longestPause)
		_, err = log.Wait(pausing, head.Seq+1)
		over()
		if ctx.Err() != nil || err != nil && !errors.Is(err, context.DeadlineExceeded) {
			ts.Fatalf("no line matches %q: %v\n%s%s", args[0], err, end.Stdout, end.Stderr)
		}
	}
}

// databaseOf is the database of a command line with --state-dir, or else of the user.
func databaseOf(ts *testscript.TestScript, args []string) string {
	if at := slices.Index(args, "--state-dir"); at >= 0 && at+1 < len(args) {
		return filepath.Join(args[at+1], database.Name)
	}
	return filepath.Join(cmp.Or(ts.Getenv("OPENCLAW_STATE_DIR"), filepath.Join(ts.Getenv("HOME"), ".openclaw")), database.Name)
}

func capture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture VARIABLE PATTERN")
	}
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	found := pattern.FindStringSubmatch(ts.ReadFile("stdout"))
	if len(found) != 2 {
		ts.Fatalf("stdout has no %s with one group", strconv.Quote(args[1]))
	}
	ts.Setenv(args[0], found[1])
}
