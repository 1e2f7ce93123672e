package storetest

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	CrashMain(m, journal, mortal, broken, done)
}

// journal is the smallest store: a file of lines, each synced before it is acknowledged.
var journal = Scenario{
	Name: "journal",
	Work: func(c *Child) error {
		f, err := os.OpenFile(filepath.Join(c.Dir, "journal"), os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return err
		}
		content, err := io.ReadAll(f)
		if err != nil {
			return err
		}
		end := bytes.LastIndexByte(content, '\n') + 1
		if err := f.Truncate(int64(end)); err != nil {
			return err
		}
		if _, err := f.Seek(int64(end), io.SeekStart); err != nil {
			return err
		}
		for n := bytes.Count(content, []byte{'\n'}); ; n++ {
			id := fmt.Sprintf("%d-%x", n, c.Rand.Uint64())
			if _, err := fmt.Fprintln(f, id); err != nil {
				return err
			}
			if err := f.Sync(); err != nil {
				return err
			}
			c.Ack(id)
		}
	},
	Check: func(t testing.TB, dir string, acked []string) {
		content, err := os.ReadFile(filepath.Join(dir, "journal"))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		stored := map[string]bool{}
		for line := range strings.Lines(string(content)) {
			stored[strings.TrimSuffix(line, "\n")] = true
		}
		for _, id := range acked {
			if !stored[id] {
				t.Fatalf("acknowledged %s is not among the %d lines of the journal", id, len(stored))
			}
		}
	},
}

// mortal acknowledges its process id.
var mortal = Scenario{
	Name: "mortal",
	Work: func(c *Child) error {
		c.Ack(strconv.Itoa(os.Getpid()))
		select {}
	},
	Check: func(t testing.TB, _ string, acked []string) {
		for _, text := range acked {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			p, err := os.FindProcess(pid)
			if err != nil {
				t.Fatal(err)
			}
			if err := p.Signal(syscall.Signal(0)); !errors.Is(err, os.ErrProcessDone) {
				t.Errorf("process %d is still there: %v", pid, err)
			}
		}
	},
}

var broken = Scenario{Name: "broken", Work: func(c *Child) error {
	c.Ack("before")
	return errors.New("broken on purpose")
}}

var done = Scenario{Name: "done", Work: func(c *Child) error {
	c.Ack("first")
	c.Ack("second")
	return nil
}}

func TestCrashJournalKeepsWhatItAcknowledged(t *testing.T) {
	t.Parallel()
	Crash(t, journal, 4)
}

func TestCrashLeavesNoProcess(t *testing.T) {
	t.Parallel()
	Crash(t, mortal, 2)
}

func TestCrashChildEndsWithItsParent(t *testing.T) {
	t.Parallel()
	child, err := startChild(mortal.Name, t.TempDir(), 1)
	if err != nil {
		t.Fatal(err)
	}
	pid := <-child.lines
	if err := child.stdin.Close(); err != nil {
		t.Error(err)
	}
	for line := range child.lines {
		t.Errorf("the orphan acknowledged %q", line)
	}
	if err := child.cmd.Wait(); err == nil {
		t.Error("the orphan claims to have finished its work")
	}
	mortal.Check(t, "", []string{pid})
}

// unhurried never comes while a child of these tests lives.
var unhurried = moment{within: time.Hour, acks: math.MaxInt}

func TestCrashChildThatFailsIsReported(t *testing.T) {
	t.Parallel()
	for name, s := range map[string]string{"error": broken.Name, "unknown scenario": "stranger"} {
		t.Run(name, func(t *testing.T) {
			if acked, err := crashOnce(s, t.TempDir(), 1, unhurried); err == nil {
				t.Errorf("a child that failed passed for a killed one, with %q acknowledged", acked)
			}
		})
	}
}

func TestCrashChildMayFinish(t *testing.T) {
	t.Parallel()
	acked, err := crashOnce(done.Name, t.TempDir(), 1, unhurried)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "acknowledged", acked, []string{"first", "second"})
}

func TestCrashMomentsFollowTheSeed(t *testing.T) {
	t.Parallel()
	byTime, byAcks := 0, 0
	for seed := range uint64(200) {
		m := drawMoment(seed)
		if m != drawMoment(seed) {
			t.Fatalf("seed %d gives two moments", seed)
		}
		if m.within > crashStart || cmp.Or(m.going, m.within) > crashTime || m.acks < 1 || m.acks > crashAcks {
			t.Errorf("seed %d is out of bounds: kill %s", seed, m)
		}
		if m.acks == crashAcks {
			byTime++
		} else {
			byAcks++
		}
	}
	if byTime < 50 || byAcks < 50 {
		t.Errorf("%d moments by time, %d by acknowledgements: want both often", byTime, byAcks)
	}
}
