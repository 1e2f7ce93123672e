//go:build amd64 || arm64

package sandbox

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// enter restricts this process and becomes the command.
func enter() int {
	runtime.LockOSThread() // what follows is about this thread, and then about the program that it becomes
	var p plan
	err := json.Unmarshal([]byte(os.Getenv(envPlan)), &p)
	if err == nil && p.Kind == Container && os.Getpid() == 1 {
		err = endWithSupervisor()
	}
	if err == nil && (p.Mounts || p.Kind == Container) && os.Getpid() == 1 {
		code, err := p.begin()
		if err == nil {
			return code
		}
		fmt.Fprintln(os.Stderr, "openclawd sandbox:", err)
		return 125
	}
	if err == nil {
		err = p.enter()
	}
	fmt.Fprintln(os.Stderr, "openclawd sandbox:", err)
	return 125
}

// enter returns only with an error.
func (p *plan) enter() error {
	path, err := p.program()
	if err != nil {
		return err
	}
	if err := os.Chdir(p.Dir); err != nil { // also to see the mounts of its own
		return fmt.Errorf("enter the workspace: %w", err)
	}
	_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 10) // so that the supervisor keeps up; a higher value is kept
	if err := p.limit(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if p.Kind == Landlock {
		if err := errors.Join(p.landlock(), p.dropCapabilities()); err != nil {
			return err
		}
	}
	if p.Kind != Off {
		if err := p.filterCalls(); err != nil {
			return err
		}
	}
	environment := append([]string{"TMPDIR=" + p.Temp}, p.Env...)
	return fmt.Errorf("run %s: %w", p.Argv[0], unix.Exec(path, p.Argv, environment))
}

// program finds the command, by the PATH of its own environment.
func (p *plan) program() (string, error) {
	name := p.Argv[0]
	switch {
	case name == ownProgram:
		return p.Exe, nil
	case strings.Contains(name, "/"):
		return name, nil
	}
	for _, v := range p.Env {
		if path, is := strings.CutPrefix(v, "PATH="); is {
			if err := os.Setenv("PATH", path); err != nil {
				return "", err
			}
		}
	}
	return exec.LookPath(name)
}

// limit sets the limits of the kernel.
func (p *plan) limit() error {
	for resource, most := range map[int]uint64{
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: uint64(p.Limits.FileSize), unix.RLIMIT_NOFILE: uint64(p.Limits.OpenFiles),
		unix.RLIMIT_DATA: uint64(p.Limits.Memory), unix.RLIMIT_NPROC: uint64(p.Limits.Processes + tasks()), unix.RLIMIT_MEMLOCK: 64 << 10,
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(resource, &now); err != nil {
			return err
		}
		most = min(most, now.Max)
		if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("limit resource %d: %w", resource, err)
		}
	}
	return nil
}

// minLandlock is the first version of Landlock that also keeps signals and abstract sockets in: Linux 6.12.
const minLandlock = 6

func landlockVersion() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

const (
	accessRead = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessRun  = accessRead | unix.LANDLOCK_ACCESS_FS_EXECUTE
	accessAll  = 1<<16 - 1 // of version 5
	accessHome = accessAll &^ (unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV)
	ofFiles    = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landlock keeps this thread in: it reaches its workspace, its temporary directory, and what is readable.
func (p *plan) landlock() error {
	if v := landlockVersion(); v < minLandlock {
		return fmt.Errorf("version %d of Landlock does not keep signals in: Linux 6.12 does", v)
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: accessAll, Scoped: unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET}
	if !p.Network {
		attr.Handled_access_net = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	const size = 24 // of version 6
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("make rules of Landlock: %w", errno)
	}
	defer unix.Close(int(fd))
	rules := map[string]uint64{p.Home: accessHome, p.Temp: accessHome, p.Exe: accessRun}
	for _, name := range readable {
		rules[name] = accessRun
	}
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"} {
		rules[name] = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	for name, access := range rules {
		if err := allow(int(fd), name, access); err != nil {
			return err
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, fd, 0, 0); errno != 0 {
		return fmt.Errorf("apply the rules of Landlock: %w", errno)
	}
	return nil
}

// allow adds a rule. What does not exist needs none.
func allow(rules int, name string, access uint64) error {
	at, err := unix.Open(name, unix.O_PATH|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", name, err)
	}
	defer unix.Close(at)
	var info unix.Stat_t
	if err := unix.Fstat(at, &info); err != nil {
		return err
	}
	if info.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(at)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(rules), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("allow %s: %w", name, errno)
	}
	return nil
}

// dropCapabilities takes from root, and from a user with mounts of its own, what they may do beyond their files, also after the next program has
// started. Mounts that could not be made leave capabilities too.
func (p *plan) dropCapabilities() error {
	if os.Geteuid() == 0 || p.Mounts {
		const noRoot, noSetuidFixup, locked = 1, 4, 2
		if err := unix.Prctl(unix.PR_SET_SECUREBITS, noRoot|noRoot*locked|noSetuidFixup|noSetuidFixup*locked, 0, 0, 0); err != nil {
			return fmt.Errorf("keep root from regaining capabilities: %w", err)
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	return nil
}

// begin is the first process of a space of process numbers: it starts the command and waits for what is left without a parent.
func (p *plan) begin() (code int, err error) {
	if p.Kind == Container { // whose engine has made it so
	} else if err := p.readOnly(); err != nil {
		p.Mounts = false // the filter of system calls then does what it can
	}
	text, err := p.encode()
	if err != nil {
		return 0, err
	}
	child, err := os.StartProcess(p.Exe, []string{"openclawd", "sandbox"}, &os.ProcAttr{Dir: p.Dir, Env: []string{envStage + "=enter", envPlan + "=" + string(text)},
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 0, err
	}
	for {
		var status unix.WaitStatus
		switch pid, err := unix.Wait4(-1, &status, 0, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, err
		case pid == child.Pid && status.Signaled():
			return 128 + int(status.Signal()), nil
		case pid == child.Pid:
			return status.ExitStatus(), nil
		}
	}
}

// readOnly makes everything but the workspace and the temporary directory read-only: Landlock knows neither modes nor owners nor times.
func (p *plan) readOnly() error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return err
	}
	for _, dir := range []string{p.Home, p.Temp} {
		if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
			return err
		}
	}
	if err := unix.MountSetattr(unix.AT_FDCWD, "/", unix.AT_RECURSIVE, &unix.MountAttr{Attr_set: unix.MOUNT_ATTR_RDONLY}); err != nil {
		return err
	}
	for _, dir := range []string{p.Home, p.Temp} {
		if err := unix.MountSetattr(unix.AT_FDCWD, dir, 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY}); err != nil {
			return err
		}
	}
	return nil
}
