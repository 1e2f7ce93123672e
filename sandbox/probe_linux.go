//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// waitForEnd is the process that a probe tries to reach. It does nothing until its input ends.
func waitForEnd() int {
	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

// probeInside tries to get out of the sandbox that it runs in, and writes what it reached.
func probeInside() int {
	var t targets
	if err := json.Unmarshal([]byte(os.Getenv(envTargets)), &t); err != nil {
		return 1
	}
	findings := []Finding{
		t.readOutside(), t.writeOutside(), t.protected(), t.network(), t.sockets(), t.environment(), t.mounts(), t.processes(), t.workspace(),
	}
	if json.NewEncoder(os.Stdout).Encode(findings) != nil {
		return 1
	}
	return 0
}

func found(check string, reached bool, detail string) Finding {
	if !reached {
		detail = ""
	}
	return Finding{Check: check, Reached: reached, Detail: detail}
}

func (t *targets) readOutside() Finding {
	text, err := os.ReadFile(t.Canary)
	return found(CheckReadOutside, err == nil || bytes.Contains(text, []byte(t.Text)), "a file outside was read")
}

func (t *targets) writeOutside() Finding {
	one, made := os.OpenFile(t.Canary, os.O_WRONLY, 0)
	if made == nil {
		_ = one.Close()
	}
	two := os.WriteFile(filepath.Join(t.Outside, "made"), nil, 0o600)
	three := unix.Rename(t.Canary, filepath.Join(t.Home, ".openclawd-probe-moved"))
	if three == nil {
		_ = unix.Rename(filepath.Join(t.Home, ".openclawd-probe-moved"), t.Canary)
	}
	four := os.Link(t.Canary, filepath.Join(t.Home, ".openclawd-probe-link"))
	if four == nil {
		_ = os.Remove(filepath.Join(t.Home, ".openclawd-probe-link"))
	}
	five, times, program := os.Chmod(t.Canary, 0o600), os.Chtimes(t.Canary, time.Now(), time.Now()), t.changeProgram()
	kernel, six := os.OpenFile("/proc/sys/kernel/core_pattern", os.O_WRONLY, 0)
	if six == nil {
		_ = kernel.Close()
	}
	return found(CheckWriteOutside, made == nil || two == nil || three == nil || four == nil || five == nil || times == nil || program == nil || six == nil, "a file outside or a setting of the kernel could be changed, made, moved or linked")
}

// changeProgram changes the mode of this program to what it is, by a descriptor for reading.
func (t *targets) changeProgram() error {
	var errs []error
	for _, name := range []string{insideExe, t.Program} {
		f, err := os.Open(name)
		if err == nil {
			var info os.FileInfo
			if info, err = f.Stat(); err == nil {
				err = f.Chmod(info.Mode())
			}
			_ = f.Close()
		}
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (t *targets) protected() Finding {
	for _, path := range t.Protected {
		if below, err := filepath.Rel(path, t.Home); err == nil && filepath.IsLocal(below) {
			if t.showsMore(path, below) {
				return found(CheckProtected, true, path+" could be listed")
			}
			continue
		}
		if f, err := os.Open(path); err == nil {
			_ = f.Close()
			return found(CheckProtected, true, path+" could be opened")
		}
	}
	return found(CheckProtected, false, "")
}

// showsMore reports whether a directory above the workspace shows anything but the way to it.
func (t *targets) showsMore(path, below string) bool {
	entries, err := os.ReadDir(path)
	way, _, _ := strings.Cut(below, string(filepath.Separator))
	return err == nil && below != "." && slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() != way })
}

const dialTime = 2 * time.Second

func reaches(network, address string) bool {
	c, err := net.DialTimeout(network, address, dialTime)
	if err != nil {
		return false
	}
	_, _ = c.Write([]byte("x")) // a datagram is only seen at the other end
	_ = c.Close()
	return network != "udp"
}

func (t *targets) network() Finding {
	tcp, _ := reaches("tcp", t.Address), reaches("udp", t.Datagrams)
	return found(CheckNetwork, tcp, "an address of this machine was reached")
}

func (t *targets) sockets() Finding {
	return found(CheckSockets, t.Socket != "" && reaches("unix", t.Socket) || reaches("unix", t.Abstract), "a socket of this machine was reached")
}

func (t *targets) environment() Finding {
	files, _ := filepath.Glob("/proc/[0-9]*/environ")
	for _, name := range append(files, "/proc/self/environ", fmt.Sprintf("/proc/%d/environ", t.Process)) {
		text, _ := os.ReadFile(name)
		if bytes.Contains(text, []byte(envCanary+"="+t.Text)) {
			return found(CheckEnvironment, true, "the environment of another process was read")
		}
	}
	return found(CheckEnvironment, false, "")
}

func (t *targets) mounts() Finding {
	mounted := unix.Mount("none", t.Home, "tmpfs", 0, "")
	if mounted == nil {
		_ = unix.Unmount(t.Home, 0)
	}
	spaces := unix.Unshare(unix.CLONE_NEWUSER)
	return found(CheckMounts, mounted == nil || spaces == nil, "a file system could be mounted, or a namespace made")
}

// processes is tried last: it ends a process, if it can. Whether it was the canary is seen from outside.
func (t *targets) processes() Finding {
	_ = unix.Kill(t.Process, unix.SIGKILL)
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", t.Process))
	return found(CheckProcesses, bytes.Contains(text, []byte("sandbox")) && os.Getpid() != t.Process, "another process was seen")
}

func (t *targets) workspace() Finding {
	name := filepath.Join(t.Home, fmt.Sprintf(".openclawd-probe-%d", os.Getpid()))
	err := os.WriteFile(name, []byte(t.Text), 0o600)
	text, read := os.ReadFile(name)
	gone := os.Remove(name)
	return found(CheckWorkspace, err == nil && read == nil && gone == nil && string(text) == t.Text, "the workspace can be changed")
}
