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
	programs, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil || len(programs) == 0 {
		t.Log("PostgreSQL is not installed, so nothing was tested: apt-get install postgresql")
		return nil
	}
	slices.Sort(programs)
	bin := filepath.Dir(programs[len(programs)-1])
	root, err := os.MkdirTemp("", "pg")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(root) })
	as := credential(t, root)
	s := &Server{Dir: filepath.Join(root, "data"), Address: freeAddress(t)}
	run(t, as, filepath.Join(bin, "initdb"), "-D", s.Dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		t.Fatal(err)
	}
	server := command(as, filepath.Join(bin, "postgres"), "-D", s.Dir, "-h", "127.0.0.1", "-p", port, "-k", root, "-c", "max_connections=200")
	var said bytes.Buffer
	server.Stdout, server.Stderr = &said, &said
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = server.Process.Signal(syscall.SIGINT) // clients may still be connected
		_ = server.Wait()
	})
	s.await(t, filepath.Join(bin, "pg_isready"), &said)
	return s
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
	cmd.Dir = "/"
	if as != nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
	}
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
