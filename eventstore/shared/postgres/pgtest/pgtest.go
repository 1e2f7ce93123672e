//go:build unix

// Package pgtest runs PostgreSQL servers for tests, from the programs that Debian installs.
package pgtest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// Server is a running server with a database of its own.
type Server struct {
	Address string // host:port
	Dir     string // its data

	in      *installation
	process *exec.Cmd // nil: it does not run
}

// URL is where clients connect to, by way of an address, which may be that of a proxy.
func (s *Server) URL(address string) string {
	return "postgres://postgres@" + address + "/postgres?sslmode=disable&pool_max_conns=6"
}

// account is who runs the server if the test is run by root, whom it refuses.
const account = "postgres"

// Start starts a server for as long as t runs. It returns nil, and says so in t's log, where PostgreSQL is not installed.
func Start(t testing.TB) *Server {
	t.Helper()
	in := installed(t)
	if in == nil {
		return nil
	}
	s := in.server(t)
	in.run(t, "initdb", "-D", s.Dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	s.Begin(t)
	return s
}

// Pair starts a server and a standby that has whatever the server acknowledges, on its disk. It returns nil where
// PostgreSQL is not installed.
func Pair(t testing.TB) (primary, standby *Server) {
	t.Helper()
	in := installed(t)
	if in == nil {
		return nil, nil
	}
	primary = Start(t)
	standby = in.server(t)
	host, port, err := net.SplitHostPort(primary.Address)
	if err != nil {
		t.Fatal(err)
	}
	in.run(t, "pg_basebackup", "-D", standby.Dir, "-R", "-c", "fast", "-d", "host="+host+" port="+port+" user=postgres application_name=standby")
	standby.Begin(t)
	primary.sql(t, "ALTER SYSTEM SET synchronous_standby_names = 'standby'")
	primary.sql(t, "SELECT pg_reload_conf()")
	return primary, standby
}

// Kill ends a server as a power cut does.
func (s *Server) Kill() {
	if s.process != nil {
		_ = syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL) // with the processes of its connections
		_ = s.process.Wait()
		s.process = nil
	}
}

// Promote makes a standby a server that takes writes.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.in.run(t, "pg_ctl", "promote", "-w", "-D", s.Dir)
}

// installation is where the programs of PostgreSQL are, and who may run them.
type installation struct {
	bin, root string
	as        *syscall.Credential
}

func installed(t testing.TB) *installation {
	t.Helper()
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(programs) == 0 {
		t.Log("PostgreSQL is not installed, so nothing was tested: apt-get install postgresql")
		return nil
	}
	slices.Sort(programs)
	root, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	return &installation{filepath.Dir(programs[len(programs)-1]), root, credential(t, root)}
}

func (in *installation) run(t testing.TB, program string, args ...string) {
	t.Helper()
	run(t, in.as, filepath.Join(in.bin, program), args...)
}

// server returns one that does not run yet.
func (in *installation) server(t testing.TB) *Server {
	t.Helper()
	s := &Server{in: in, Address: freeAddress(t)}
	s.Dir = filepath.Join(in.root, "data"+s.Address[len("127.0.0.1:"):])
	return s
}

// Begin starts a server, again after Kill, for as long as t runs.
func (s *Server) Begin(t testing.TB) {
	t.Helper()
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	server := command(s.in.as, filepath.Join(s.in.bin, "postgres"), "-D", s.Dir, "-h", "127.0.0.1", "-p", port, "-k", s.in.root, "-c", "max_connections=200")
	server.SysProcAttr.Setpgid = true
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	s.process = server
	t.Cleanup(func() {
		if s.process == server {
			_ = server.Process.Signal(syscall.SIGINT) // clients may still be connected
			_ = server.Wait()
			s.process = nil
		}
	})
	s.await(t, filepath.Join(s.in.bin, "pg_isready"), &said)
}

// sql runs a statement.
func (s *Server) sql(t testing.TB, statement string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.Address)
	s.in.run(t, "psql", "-q", "-v", "ON_ERROR_STOP=1", "-h", host, "-p", port, "-U", "postgres", "-c", statement)
}

// ready is how long a server may take to begin. Only a broken one uses it up.
const ready = time.Minute

func (s *Server) await(t testing.TB, isReady string, said *bytes.Buffer) {
	t.Helper()
	host, port, _ := net.SplitHostPort(s.Address)
	deadline, tick := time.After(ready), time.NewTicker(20*time.Millisecond)
	defer tick.Stop()
	for exec.Command(isReady, "-q", "-h", host, "-p", port).Run() != nil {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("PostgreSQL does not begin:\n%s", said)
		}
	}
}

// credential returns who is to run the server; nil for the caller.
func credential(t testing.TB, dir string) *syscall.Credential {
	t.Helper()
	if os.Geteuid() != 0 {
		return nil
	}
	u, err := user.Lookup(account)
	if err != nil {
		t.Fatalf("PostgreSQL does not run as root, and there is no user %s: %v", account, err)
	}
	uid, _ := strconv.Atoi(u.Uid)
	gid, _ := strconv.Atoi(u.Gid)
	if err := os.Chown(dir, uid, gid); err != nil {
		t.Fatal(err)
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
}

func command(as *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir, cmd.SysProcAttr = "/", &syscall.SysProcAttr{Credential: as}
	return cmd
}

func run(t testing.TB, as *syscall.Credential, name string, args ...string) {
	t.Helper()
	if out, err := command(as, name, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

func freeAddress(t testing.TB) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return fmt.Sprint(listener.Addr())
}
