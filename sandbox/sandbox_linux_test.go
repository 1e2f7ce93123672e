//go:build amd64 || arm64

package sandbox_test

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/pronto-lab/openclawd/internal/testscale"
	"github.com/pronto-lab/openclawd/sandbox"
)

func TestMain(m *testing.M) {
	sandbox.Main()
	goleak.VerifyTestMain(m)
}

// yard is a workspace, and what must not be reached from it.
type yard struct {
	t                           *testing.T
	state, home, secret, db, to string
	victim                      *exec.Cmd
	port                        string
}

const secretText = "s3cret-of-the-gateway"

func newYard(t *testing.T) *yard {
	t.Helper()
	state, err := os.MkdirTemp("/var/tmp", "openclawd-test-") // not below /tmp, which is another directory inside
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(state); err != nil {
			t.Error(err)
		}
	})
	y := &yard{t: t, state: state, home: filepath.Join(state, "workspace"), secret: filepath.Join(state, "gateway.token"), db: filepath.Join(state, "openclawd.db"),
		to: filepath.Join(state, "outside")}
	for _, dir := range []string{y.home, y.to} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, path := range []string{y.secret, y.db, filepath.Join(y.to, "file")} {
		if err := os.WriteFile(path, []byte(secretText), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	y.victim = exec.Command("sleep", "1000")
	y.victim.Env = []string{"MARK=" + secretText}
	if err := y.victim.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = y.victim.Process.Kill()
		_ = y.victim.Wait()
	})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, y.port, _ = net.SplitHostPort(l.Addr().String())
	return y
}

// command is a shell command in a sandbox.
func (y *yard) command(kind sandbox.Kind, script string) (*sandbox.Command, *bytes.Buffer) {
	var out bytes.Buffer
	return &sandbox.Command{Kind: kind, Argv: []string{"bash", "-c", script}, Home: y.home, Dir: y.home, Output: &out, Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"HOME=" + y.home, "STATE=" + y.state, "SECRET=" + y.secret, "DB=" + y.db, "OUT=" + y.to, fmt.Sprint("VICTIM=", y.victim.Process.Pid), "PORT=" + y.port}}, &out
}

func (y *yard) run(kind sandbox.Kind, script string, limits sandbox.Limits) (sandbox.Result, string) {
	y.t.Helper()
	c, out := y.command(kind, script)
	c.Limits = limits
	ctx, stop := context.WithTimeout(y.t.Context(), testscale.Patience)
	defer stop()
	r, err := sandbox.Run(ctx, c)
	if err != nil {
		y.t.Fatalf("%s: %q: %v", kind, script, err)
	}
	return r, out.String()
}

func (y *yard) probe(kind sandbox.Kind) sandbox.Report {
	c, _ := y.command(kind, "")
	return sandbox.Probe(y.t.Context(), c, y.state, []string{y.state, y.secret, y.db, y.to})
}

// working are the sandboxes that hold on this machine.
func working(t *testing.T) (kinds []sandbox.Kind) {
	t.Helper()
	y := newYard(t)
	for _, kind := range []sandbox.Kind{sandbox.Bubblewrap, sandbox.Landlock} {
		r := y.probe(kind)
		t.Logf("%s: sandboxed %v, open %v, error %q, %d ms", kind, r.Sandboxed, r.Open(), r.Error, r.TookMs)
		if r.Sandboxed {
			kinds = append(kinds, kind)
		}
	}
	const needed = 6 // version of Landlock
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if len(kinds) == 0 && errno == 0 && version >= needed && os.Getenv("CI") == "true" {
		t.Errorf("the kernel has version %d of Landlock, but no sandbox holds", version)
	}
	return kinds
}

func TestCommandsRun(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	for _, kind := range append(working(t), sandbox.Off) {
		r, out := y.run(kind, `echo one > f && mkdir -p d && mv f d/g && cat d/g && echo two >&2 && ls / > /dev/null; env | sort | cut -d= -f1 | tr '\n' ' '; t=$(mktemp) && echo x > $t; chmod +x f2 2>/dev/null; echo 1 > f2; exit 7`, sandbox.Limits{})
		if r.Exit != 7 || r.Reason != "" || !strings.HasPrefix(out, "one\ntwo\n") || strings.Contains(out, "OPENCLAWD") {
			t.Errorf("%s: %+v, %q", kind, r, out)
		}
		r, out = y.run(kind, `echo 1 > f3; chmod 755 f3 && touch -d 2001-01-01 f3`, sandbox.Limits{})
		if changes := kind != sandbox.Landlock || hasMounts(t); changes != (r.Exit == 0) {
			t.Errorf("%s: attributes can be changed: %v, want %v, %q", kind, r.Exit == 0, changes, out)
		}
		if r, out := y.run(kind, `kill -9 $$`, sandbox.Limits{}); r.Exit != 137 {
			t.Errorf("%s: %+v, %q", kind, r, out)
		}
	}
}

// hasMounts reports whether this user may have mounts of its own, which attributes of files need under Landlock.
func hasMounts(t *testing.T) bool {
	t.Helper()
	args := []string{"-m", "true"}
	if os.Geteuid() != 0 {
		args = append([]string{"-Ur"}, args...)
	}
	out, err := exec.Command("unshare", args...).CombinedOutput()
	t.Logf("unshare %v: %v %s", args, err, out)
	return err == nil
}

// escapes are commands that print ESCAPED if they reach what they should not.
var escapes = []string{
	`cat $SECRET && echo ESCAPED`, `cat $DB && echo ESCAPED`, `ls $STATE | grep token && echo ESCAPED`, `ls $OUT && echo ESCAPED`, `cat ../gateway.token && echo ESCAPED`,
	`cat workspace/../../gateway.token && echo ESCAPED`, `cd .. && cat gateway.token && echo ESCAPED`, `ln -s $SECRET l1 && cat l1 && echo ESCAPED`,
	`ln -s .. l2 && cat l2/gateway.token && echo ESCAPED`, `ln $SECRET l3 && cat l3 && echo ESCAPED`, `ln -s / l4 && cat l4$SECRET && echo ESCAPED`,
	`cat /proc/self/root$SECRET && echo ESCAPED`, `cat /proc/1/root$SECRET && echo ESCAPED`, `cat /proc/$VICTIM/root$SECRET && echo ESCAPED`,
	`cat /proc/$VICTIM/environ | grep -a MARK && echo ESCAPED`, `cat /proc/$VICTIM/cmdline && echo ESCAPED`, `cat /proc/$PPID/environ | grep -a 'CANARY_OF_PAREN[T]=' && echo ESCAPED`,
	`cat /proc/*/environ | grep -a 'CANARY_OF_PAREN[T]=' && echo ESCAPED`, `ls -d /proc/[0-9]* | grep -x /proc/$VICTIM && echo ESCAPED`, `echo x > /proc/sys/kernel/core_pattern && echo ESCAPED`, `chown 1 $SECRET && echo ESCAPED`, `touch -d 2001-01-01 $SECRET && echo ESCAPED`, `setfattr -n user.x -v y $SECRET && echo ESCAPED`, `ls /proc/$VICTIM/fd && echo ESCAPED`, `ls /proc/$VICTIM/cwd/ && echo ESCAPED`,
	`echo x > $SECRET && echo ESCAPED`, `echo x > $OUT/new && echo ESCAPED`, `rm -f $OUT/file && ! test -e $OUT/file && test -d $OUT && echo ESCAPED`,
	`mv $OUT/file . && echo ESCAPED`, `mkdir $OUT/d && echo ESCAPED`, `touch /usr/bin/x && echo ESCAPED`, `touch /etc/x && echo ESCAPED`, `echo x > ../x && echo ESCAPED`,
	`chmod 777 $SECRET && echo ESCAPED`, `truncate -s 0 $DB && echo ESCAPED`, `rm -rf $STATE/outside && echo x; test -e $OUT || true`, `touch /openclawd && echo ESCAPED`,
	`cat /etc/shadow && echo ESCAPED`, `ls /root && echo ESCAPED`, `ls /home && echo ESCAPED`, `ls /var/log && echo ESCAPED`, `ls /sys/kernel && echo ESCAPED`,
	`cat /etc/sudoers && echo ESCAPED`, `cat /dev/mem && echo ESCAPED`, `ls /dev/vda /dev/sda && echo ESCAPED`, `dd if=/dev/vda of=x count=1 && echo ESCAPED`,
	`mknod dev b 254 0 && dd if=dev of=x count=1 && echo ESCAPED`, `mknod c1 c 1 1 && cat c1 && echo ESCAPED`, `cat /dev/kmsg && echo ESCAPED`,
	`kill -0 $VICTIM && test -d /proc/$VICTIM && echo ESCAPED`, `kill -9 $VICTIM; kill -STOP $VICTIM; kill -TERM -$VICTIM; true`, `kill -9 -1; true`, `kill -9 $PPID; true`,
	`pkill sleep && echo ESCAPED`, `ps ax 2>/dev/null | grep "sleep 1000" | grep -v grep && echo ESCAPED`,
	`mount -t tmpfs none . && echo ESCAPED`, `mount --bind / . && echo ESCAPED`, `umount /proc && echo ESCAPED`, `unshare -Ur true && echo ESCAPED`,
	`unshare -m true && echo ESCAPED`, `unshare -Urn true && echo ESCAPED`, `chroot / true && echo ESCAPED`, `nsenter -t 1 -m true && echo ESCAPED`,
	`nsenter -t $VICTIM -m true && echo ESCAPED`, `pivot_root . . && echo ESCAPED`, `setpriv --reuid 1 true && test $(id -u) = 0 && setpriv --reuid 1 cat $SECRET && echo ESCAPED`,
	`exec 3<>/dev/tcp/127.0.0.1/$PORT && echo ESCAPED`, `exec 3<>/dev/udp/127.0.0.1/53 && echo x >&3 && ls /sys/class/net/eth0 && echo ESCAPED`,
	`exec 3<>/dev/tcp/1.1.1.1/80 && echo ESCAPED`, `hostname evil && echo ESCAPED`, `date -s 2001-01-01 && echo ESCAPED`, `sysctl -w kernel.hostname=x && echo ESCAPED`,
	`echo x > /proc/sys/kernel/hostname && echo ESCAPED`, `echo 1 > /proc/sysrq-trigger && echo ESCAPED`, `echo x > /proc/self/oom_score_adj && echo -1000 > /proc/self/oom_score_adj && echo ESCAPED`,
	`cp /bin/true s && chmod u+s s && echo ESCAPED`, `cp /bin/true s2 && chmod 6755 s2 && echo ESCAPED`, `dmesg && echo ESCAPED`, `su -c true daemon && echo ESCAPED`,
	`sudo -n true && echo ESCAPED`, `strace -p $VICTIM -o t & sleep 0.1; grep -q . t 2>/dev/null && echo ESCAPED`, `gdb -p $VICTIM -batch && echo ESCAPED`,
	`env | grep ^OPENCLAWD && echo ESCAPED`, `env | grep -q CANARY_OF_PARENT && echo ESCAPED`, `find / -name gateway.token 2>/dev/null | grep -q . && echo ESCAPED`,
	`grep -rs ` + secretText + ` /tmp /dev/shm /run /var 2>/dev/null | grep -q . && echo ESCAPED`, `ls -l /proc/self/fd | grep -e $STATE/gate -e $STATE/open && echo ESCAPED`,
	`for fd in 3 4 5 6 7 8 9 10; do cat <&$fd 2>/dev/null | grep -q ` + secretText + ` && echo ESCAPED; done`, `echo '{}' >&4 2>/dev/null && echo ESCAPED`,
	`(setsid sleep 997 &) ; (setsid nohup sleep 997 > /dev/null 2>&1 &); true`, `ipcmk -Q && ipcs -q | grep -q 0x && ls /proc/$VICTIM && echo ESCAPED`,
	`touch /dev/x && echo ESCAPED`, `head -c 300000000 /dev/zero > /dev/shm/x && echo ESCAPED`, `ulimit -n 1000000 && echo ESCAPED`, `ulimit -f unlimited && echo ESCAPED`, `ulimit -c unlimited && echo ESCAPED`,
}

// processesOf lists processes by the beginning of their command line.
func processesOf(begin string) (all []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && bytes.HasPrefix(text, []byte(begin)) {
			all = append(all, name)
		}
	}
	return all
}

// Without a sandbox the probe finds everything open, and says so.
func TestProbeSeesThatThereIsNoSandbox(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	r := y.probe(sandbox.Off)
	if r.Error != "" || r.Sandboxed {
		t.Fatalf("%+v", r)
	}
	open := strings.Join(r.Open(), " ")
	for _, check := range []string{sandbox.CheckReadOutside, sandbox.CheckWriteOutside, sandbox.CheckProtected, sandbox.CheckNetwork, sandbox.CheckSockets, sandbox.CheckProcesses} {
		if !strings.Contains(open, check) {
			t.Errorf("%s is not seen to be open: %s", check, open)
		}
	}
	if left, err := filepath.Glob(filepath.Join(y.state, ".openclawd-probe-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A long state directory leaves no room for the path of a socket. The sandbox is probed all the same.
func TestProbeWithALongDirectory(t *testing.T) {
	t.Parallel()
	for _, kind := range working(t) {
		y := newYard(t)
		y.state = filepath.Join(y.state, strings.Repeat("long", 30))
		if err := os.Mkdir(y.state, 0o700); err != nil {
			t.Fatal(err)
		}
		if r := y.probe(kind); !r.Sandboxed {
			t.Errorf("%s: %+v", kind, r)
		}
	}
}

// A sandbox with a hole is not called one.
func TestProbeSeesAHole(t *testing.T) {
	t.Parallel()
	for _, kind := range working(t) {
		y := newYard(t)
		y.home = y.state // the workspace holds what is to be protected
		r := y.probe(kind)
		if open := strings.Join(r.Open(), " "); r.Sandboxed || !strings.Contains(open, sandbox.CheckProtected) || !strings.Contains(open, sandbox.CheckReadOutside) {
			t.Errorf("%s: %+v", kind, r)
		}
		c, _ := y.command("none such", "")
		if r := sandbox.Probe(t.Context(), c, y.state, nil); r.Sandboxed {
			t.Errorf("an unknown kind: %+v", r)
		}
	}
}

func TestCommandEndsWithItsContext(t *testing.T) {
	t.Parallel()
	for _, kind := range append(working(t), sandbox.Off) {
		y := newYard(t)
		c, _ := y.command(kind, `trap '' TERM INT HUP; setsid sleep 998 & sleep 998`)
		ctx, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
		p, err := sandbox.Start(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		<-p.Done()
		stop()
		if r, err := p.Result(); err != nil || r.Reason != sandbox.EndedByTimeout {
			t.Errorf("%s: %+v, %v", kind, r, err)
		}
	}
	if left := processesOf("sleep\x00998"); len(left) > 0 {
		t.Errorf("processes outlive their command: %v", left)
	}
}

// stateOf is the letter of a process's state: Z for one that has ended.
func stateOf(pid int) string {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	state, _, _ := strings.Cut(rest, " ")
	return state
}

// A command ends when the files of its workspace, all together, take too much, also where no single file does. What was there before is allowed.
func TestDiskIsBounded(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	const fill = `for i in $(seq 1 400); do head -c 1048576 /dev/urandom > big$i || exit 9; sleep 0.02; done; sleep 600`
	for _, kind := range append(working(t), sandbox.Off) {
		r, out := y.run(kind, fill, sandbox.Limits{Disk: 16 << 20})
		if r.Reason != sandbox.EndedByDisk {
			t.Errorf("%s: %+v, %q", kind, r, out)
		}
		if r, out := y.run(kind, `sleep 1.5; rm -f big*; echo here`, sandbox.Limits{Disk: 16 << 20}); r.Exit != 0 || out != "here\n" {
			t.Errorf("%s: in a full workspace: %+v, %q", kind, r, out)
		}
	}
}

// What must be left free is never more than half of what is free at first, and nothing where that is not known.
func TestAFullDiskEndsNoCommandAtOnce(t *testing.T) {
	t.Parallel()
	for free, want := range map[int64]int64{0: 0, 100 << 20: 50 << 20, 256 << 20: 256 << 20, 1 << 40: 256 << 20} {
		if got := sandbox.LeastFree(free, true); got != want {
			t.Errorf("of %d bytes %d must be left, want %d", free, got, want)
		}
	}
	dir := t.TempDir()
	if _, known := sandbox.FreeAt(dir); !known {
		t.Error("what is free is not known")
	}
	if free, known := sandbox.FreeAt(filepath.Join(dir, "none")); known || sandbox.LeastFree(free, known) != 0 {
		t.Errorf("%d bytes must be left where it is not known what is free", sandbox.LeastFree(free, known))
	}
}

// A file with several names takes its bytes once.
func TestLinksTakeNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first := filepath.Join(dir, "0")
	if err := os.WriteFile(first, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	one := sandbox.SizeOf([]string{dir}, nil)
	for i := range 3 {
		if err := os.Link(first, filepath.Join(dir, fmt.Sprint(i+1))); err != nil {
			t.Fatal(err)
		}
	}
	if many := sandbox.SizeOf([]string{dir}, nil); one < 1<<20 || many-one >= 1<<20 {
		t.Errorf("four names take %d bytes, one takes %d", many, one)
	}
}

// Standard error is told apart where it is asked for.
func TestErrorsAreToldApart(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	c, out := y.command(sandbox.Off, `echo one; echo two >&2`)
	var errs bytes.Buffer
	c.Errors = &errs
	if _, err := sandbox.Run(t.Context(), c); err != nil || out.String() != "one\n" || errs.String() != "two\n" {
		t.Errorf("%q, %q, %v", out, &errs, err)
	}
}
