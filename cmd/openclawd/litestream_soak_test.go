//go:build soak

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// litestreamModule is the version that docs/litestream.md is about.
const litestreamModule = "github.com/benbjohnson/litestream/cmd/litestream@v0.5.18"

// litestream is that program: the one that OPENCLAWD_LITESTREAM names, else one that is built here.
func litestream(t *testing.T) (path string) {
	t.Helper()
	if path := os.Getenv("OPENCLAWD_LITESTREAM"); path != "" {
		return path
	}
	bin := t.TempDir()
	build := exec.Command("go", "install", litestreamModule)
	build.Dir = bin // of no module
	build.Env = append(os.Environ(), "GOBIN="+bin, "CGO_ENABLED=0", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", build, err, out)
	}
	return filepath.Join(bin, "litestream")
}

// replicated is a server whose database Litestream copies while it is written.
type replicated struct {
	*scene
	litestream, config, socket string
	api                        string
	lines                      *os.File
	written                    int64
	copying                    *exec.Cmd
	log                        *os.File // of Litestream
}

// moment is a point to which the database is to be restored.
type moment struct {
	seq  int64
	txid string
	at   time.Time
}

func newReplicated(t *testing.T) *replicated {
	t.Helper()
	r := &replicated{scene: newScene(t), litestream: litestream(t)}
	short, err := os.MkdirTemp("", "ls") // the paths of sockets are short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(short) })
	r.socket, r.config = filepath.Join(short, "s"), filepath.Join(r.dir, "litestream.yml")
	config, err := os.ReadFile(filepath.Join("..", "..", "docs", "litestream.yml"))
	if err != nil {
		t.Fatal(err)
	}
	r.log, err = os.Create(filepath.Join(r.dir, "litestream.log"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.log.Close() })
	text := "logging:\n  level: debug\n" + strings.NewReplacer("/var/lib/openclaw/openclawd.db", r.db, "/mnt/replica/openclawd", filepath.Join(r.dir, "replica"),
		"/run/litestream.sock", r.socket).Replace(string(config))
	if err := os.WriteFile(r.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(r.dir, "logs"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.lines, err = os.OpenFile(filepath.Join(r.dir, "logs", "coordination-events.ndjson"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.lines.Close() })
	return r
}

// said is what Litestream has logged that matches.
func (r *replicated) said(pattern string) []string {
	r.t.Helper()
	text, err := os.ReadFile(r.log.Name())
	if err != nil {
		r.t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)^.*(?:`+pattern+`).*$`).FindAllString(string(text), -1)
}

// recopied is how often Litestream has copied all of the file because another program had restarted the WAL, or might have.
func (r *replicated) recopied() int { return len(r.said(`msg=sync .*reason=`)) }

// write appends lines for the server to store.
func (r *replicated) write(n int) {
	r.t.Helper()
	var text bytes.Buffer
	for range n {
		r.written++
		_ = json.NewEncoder(&text).Encode(map[string]any{"type": "a2a.send", "agentId": "eden", "ts": 1771588800000 + r.written,
			"data": map[string]any{"fromAgent": "eden", "toAgent": "seum", "message": fmt.Sprintf("%d %s", r.written, strings.Repeat("말", 100))}})
	}
	if _, err := r.lines.Write(text.Bytes()); err != nil {
		r.t.Fatal(err)
	}
}

// stored is up to where the log is acknowledged.
func (r *replicated) stored() int64 {
	r.t.Helper()
	answer, err := http.Get(r.api + "/api/health")
	if err != nil {
		r.t.Fatal(err)
	}
	defer answer.Body.Close()
	var health struct{ Seq int64 }
	if err := json.NewDecoder(answer.Body).Decode(&health); err != nil {
		r.t.Fatal(err)
	}
	return health.Seq
}

// all waits until everything that was written is stored.
func (r *replicated) all() (seq int64) {
	r.t.Helper()
	for seq < r.written {
		<-time.After(20 * time.Millisecond)
		seq = r.stored()
	}
	return seq
}

func (r *replicated) copy() {
	r.t.Helper()
	r.copying = exec.Command(r.litestream, "replicate", "-config", r.config)
	r.copying.Stdout, r.copying.Stderr = r.log, r.log
	if err := r.copying.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = r.copying.Process.Kill()
		_ = r.copying.Wait()
	})
	for {
		if _, err := os.Stat(r.socket); err == nil {
			return
		}
		<-time.After(20 * time.Millisecond)
	}
}

// stopCopying ends Litestream with a signal.
func (r *replicated) stopCopying(signal syscall.Signal) {
	r.t.Helper()
	if err := r.copying.Process.Signal(signal); err != nil {
		r.t.Fatal(err)
	}
	_ = r.copying.Wait()
	if err := os.Remove(r.socket); err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
}

func (r *replicated) ask(args ...string) string {
	r.t.Helper()
	out, err := exec.Command(r.litestream, args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("litestream %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// sync has everything that is stored now copied, and says what the moment is called.
func (r *replicated) sync() moment {
	r.t.Helper()
	m := moment{seq: r.stored()}
	answer := r.ask("sync", "-wait", "-json", "-socket", r.socket, r.db)
	var synced struct {
		TXID any `json:"txid"`
	}
	if err := json.Unmarshal([]byte(answer), &synced); err != nil {
		r.t.Fatalf("%v: %s", err, answer)
	}
	switch id := synced.TXID.(type) {
	case float64:
		m.txid = fmt.Sprintf("%016x", int64(id))
	case string:
		m.txid = id
	}
	m.at = time.Now().UTC()
	return m
}

// restored restores what the arguments say, has it verified, and says where the log ends and how long it took.
func (r *replicated) restored(name string, args ...string) (seq int64, took time.Duration) {
	r.t.Helper()
	db := filepath.Join(r.dir, "restored-"+name, "openclawd.db")
	if err := os.MkdirAll(filepath.Dir(db), 0o700); err != nil {
		r.t.Fatal(err)
	}
	began := time.Now()
	r.ask(append(append([]string{"restore", "-config", r.config, "-o", db}, args...), r.db)...)
	took = time.Since(began)
	proof := r.must("verify", "--json", "--db", db).stdout
	m := regexp.MustCompile(`"events": (\d+)`).FindStringSubmatch(proof)
	if m == nil {
		r.t.Fatalf("verify says %s", proof)
	}
	seq, _ = strconv.ParseInt(m[1], 10, 64) // digits
	return seq, took
}

// Beside a server that is written as fast as it goes, Litestream copies everything: any moment that was synced can be restored, exactly, and
// after a kill of both nothing is missing that was acknowledged before the last sync.
func TestSoakLitestreamBesideAServer(t *testing.T) {
	t.Parallel()
	r := newReplicated(t)
	api := make(chan string, 1)
	server, end := r.serveAt(api)
	r.api = <-api
	r.copy()
	const rounds, burst = 6, 400
	var moments []moment
	var again []int // by round
	var walMost int64
	began := time.Now()
	for round := range rounds {
		switch round { // either may be started again while the other one goes on
		case 2:
			if code := end(syscall.SIGTERM); code != exitOK {
				t.Errorf("serve ends with %d beside Litestream, want 0", code)
			}
			server, end = r.serveAt(api)
			r.api = <-api
		case 3:
			r.write(burst)
			r.stopCopying(syscall.SIGTERM)
			r.write(burst)
			r.copy()
		case 4:
			r.write(burst)
			r.stopCopying(syscall.SIGKILL)
			r.write(burst)
			r.copy()
		}
		for until := time.Now().Add(5 * time.Second); time.Now().Before(until); {
			r.write(burst)
			if info, err := os.Stat(r.db + "-wal"); err == nil {
				walMost = max(walMost, info.Size())
			}
			for r.written-r.stored() > 4*burst {
				<-time.After(5 * time.Millisecond)
			}
		}
		r.all()
		<-time.After(1100 * time.Millisecond) // moments are a sync apart
		moments, again = append(moments, r.sync()), append(again, r.recopied())
		<-time.After(1100 * time.Millisecond)
	}
	took := time.Since(began)
	for until := time.Now().Add(3 * time.Second); time.Now().Before(until); {
		r.write(burst)
		for r.written-r.stored() > 4*burst {
			<-time.After(5 * time.Millisecond)
		}
	}
	acknowledged := r.stored()
	r.stopCopying(syscall.SIGKILL)
	end(syscall.SIGKILL)
	if server.ProcessState.ExitCode() != -1 {
		t.Error("the server has ended by itself")
	}

	newest, restoring := r.restored("newest")
	if last := moments[len(moments)-1].seq; newest < last {
		t.Errorf("restored up to event %d, want at least the %d that were synced", newest, last)
	}
	for i, m := range moments {
		seq, _ := r.restored(fmt.Sprint("time-", i), "-timestamp", m.at.Format(time.RFC3339Nano))
		if seq != m.seq {
			t.Errorf("moment %d, by time: restored up to event %d, want %d", i, seq, m.seq)
		}
		if m.txid == "" {
			t.Fatal("sync tells no txid")
		}
		if seq, _ := r.restored(fmt.Sprint("txid-", i), "-txid", m.txid); seq != m.seq {
			t.Errorf("moment %d, txid %s: restored up to event %d, want %d", i, m.txid, seq, m.seq)
		}
	}
	// What the kill has left is whole too, with and without Litestream.
	if e := r.must("verify", "--json", "--db", r.db); !regexp.MustCompile(`"events": \d+`).MatchString(e.stdout) {
		t.Errorf("verify says %s", e.stdout)
	}
	r.db = filepath.Join(r.dir, "restored-newest", "openclawd.db")
	if _, end := r.serve(); end(syscall.SIGTERM) != exitOK {
		t.Error("a server of what was restored does not end well")
	}
	t.Logf("%d events in %s (%.0f/s); WAL at most %d bytes; killed at %d, restored to %d (%d not copied yet) in %s; copied again by rounds: %v",
		r.written, took.Round(time.Millisecond), float64(moments[rounds-1].seq)/took.Seconds(), walMost, acknowledged, newest, max(0, acknowledged-newest),
		restoring.Round(time.Millisecond), again)
	if len(r.said(`msg=sync `)) == 0 || len(r.said(`msg=checkpoint `)) == 0 {
		t.Error("Litestream says of no sync and no checkpoint: this test would not see what it has to copy again")
	}
	if again[1] > 0 || again[5] > again[4] {
		t.Errorf("the server has moved the WAL under Litestream: %q", r.said(`msg=sync .*reason=`))
	}
	if bad := r.said(`level=(?:ERROR|WARN)`); len(bad) > 0 {
		t.Errorf("Litestream complains:\n%s", strings.Join(bad[:min(10, len(bad))], "\n"))
	}
}
