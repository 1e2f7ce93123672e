package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/pronto-lab/openclawd/gateway/client"
)

// server is openclawd serve as a process of its own.
type server struct {
	cmd    *exec.Cmd
	url    string
	socket string         // URL of its gateway, with client
	client *client.Client // nil unless it was started with withGateway
	first  time.Duration  // from the start of the process to the first answer
	hello  time.Duration  // and until client was connected
}

// Flags of servers.
const (
	following   = "--follow"
	withGateway = "--gateway=127.0.0.1:0"
)

// serving runs a server on a home, calls do once it answers, and stops it.
func (b *bench) serving(ctx context.Context, h home, do func(*server) error, flags ...string) error {
	s, err := b.startServer(ctx, h, flags...)
	if err != nil {
		return err
	}
	return errors.Join(do(s), s.stop())
}

// startServer starts the binary on a home and waits for its first answer.
func (b *bench) startServer(ctx context.Context, h home, flags ...string) (*server, error) {
	s := &server{cmd: exec.CommandContext(ctx, b.Binary,
		append([]string{"serve", "--state-dir", string(h), "--api", "127.0.0.1:0", "--gateway", "off", "--log-level", "error"}, flags...)...)}
	s.cmd.Stderr = b.Log
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	gateway := slices.Contains(flags, withGateway)
	lines := bufio.NewScanner(out)
	for (s.url == "" || gateway && s.socket == "") && lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.url = address
		}
		if address, ok := strings.CutPrefix(lines.Text(), "gateway on "); ok {
			s.socket = address
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if s.url == "" || gateway && s.socket == "" {
		return nil, errors.Join(fmt.Errorf("%s serve did not say where it listens", b.Binary), s.cmd.Wait())
	}
	if _, _, err = s.get("/api/work-sessions?limit=1&include=summary"); err == nil {
		s.first = time.Since(start)
		if gateway {
			s.client, err = client.Dial(ctx, s.socket, client.Options{Token: gatewayToken})
			s.hello = time.Since(start)
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.stop())
	}
	return s, nil
}

func (s *server) stop() error {
	var left error
	if s.client != nil {
		left = s.client.Close()
	}
	return errors.Join(left, s.cmd.Process.Signal(syscall.SIGTERM), s.cmd.Wait())
}

// fed waits until the search file has reached an event, so that feeding it does not disturb the measurement. The
// server lets requests for events that are not fed yet wait, and then refuses them.
func (s *server) fed(ctx context.Context, seq int64) error {
	return until(ctx, time.Millisecond, "feeding the search file", func() (bool, error) {
		return s.ready(fmt.Sprintf("/api/events/search?q=a2a&limit=1&min_seq=%d", seq), http.StatusServiceUnavailable)
	})
}

// ready reports whether the answer to a path is there; until then it has another status.
func (s *server) ready(path string, notYet int) (bool, error) {
	answer, err := http.Get(s.url + path)
	if err != nil {
		return false, err
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != notYet {
		return false, fmt.Errorf("GET %s: %s", path, answer.Status)
	}
	return answer.StatusCode == http.StatusOK, nil
}

// get requests a path and returns the size of the answer and the time it took in ms.
func (s *server) get(path string) (bytes int64, ms float64, err error) { return get(s.url + path) }

func get(url string) (bytes int64, ms float64, err error) {
	start := time.Now()
	answer, err := http.Get(url)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	bytes, err = io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", url, answer.Status)
	}
	return bytes, milliseconds(time.Since(start)), err
}

// read decodes an answer.
func (s *server) read(path string, into any) error {
	answer, err := http.Get(s.url + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("GET %s: %s", path, answer.Status)
	}
	return json.NewDecoder(answer.Body).Decode(into)
}

// call calls a method of the gateway, and decodes the last answer into answer unless that is nil.
func (s *server) call(ctx context.Context, method string, params, answer any) error {
	payload, err := s.client.CallFinal(ctx, method, params, nil)
	if err != nil || answer == nil {
		return err
	}
	return json.Unmarshal(payload, answer)
}

// byTurns requests URLs n times each, one after the other, and returns the times in ms of each. The first requests are
// not counted.
func byTurns(n int, urls ...string) ([][]float64, error) {
	const warm = 5
	times := make([][]float64, len(urls))
	for i := range n + warm {
		for j := range urls {
			at := (i + j) % len(urls)
			_, ms, err := get(urls[at])
			if err != nil {
				return nil, err
			}
			if i >= warm {
				times[at] = append(times[at], ms)
			}
		}
	}
	return times, nil
}

// cpu returns the processor time of the server in ms, from /proc.
func (s *server) cpu() (ms float64, err error) {
	const tick = 10 // ms
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name may have spaces
	fields := strings.Fields(rest)
	const user, system = 11, 12
	if len(fields) <= system {
		return 0, fmt.Errorf("%q has no processor time", stat)
	}
	for _, field := range fields[user : system+1] {
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return 0, err
		}
		ms += ticks * tick
	}
	return ms, nil
}

// rss returns the server's resident set in MB.
func (s *server) rss() (float64, error) { return memoryOf(s.cmd.Process.Pid, residentNow) }

// Names in /proc of a process's resident set, and of the largest one that it has had.
const (
	residentNow  = "VmRSS"
	residentPeak = "VmHWM"
)

// memoryOf returns what /proc says of a process's memory, in MB.
func memoryOf(pid int, what string) (float64, error) {
	name := fmt.Sprintf("/proc/%d/status", pid)
	status, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, what+":"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("%s has no %s", name, what)
}
