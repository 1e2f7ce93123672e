package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Requests of the benchmarks that talk to a server.
const (
	restRequests   = 200
	memoryRequests = 10_000
)

// server is openclawd serve as a process of its own, over an existing log.
type server struct {
	cmd     *exec.Cmd
	url     string
	gateway string        // its URL; "" if it has no gateway
	first   time.Duration // from the start of the process to the first answer
}

// startServer starts the binary on a database, with further flags if given, and waits for its first answer.
func (b *bench) startServer(ctx context.Context, db string, flags ...string) (*server, error) {
	home := filepath.Join(b.Dir, "empty-home")
	gateway := slices.Contains(flags, "--gateway")
	flags = append([]string{"serve", "--db", db, "--state-dir", home, "--api", "127.0.0.1:0", "--gateway", "off", "--log-level", "error"}, flags...)
	cmd := exec.CommandContext(ctx, b.Binary, flags...)
	cmd.Stderr = b.Log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd}
	lines := bufio.NewScanner(out)
	for (s.url == "" || gateway && s.gateway == "") && lines.Scan() {
		if address, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			s.url = address
		}
		if address, ok := strings.CutPrefix(lines.Text(), "gateway on "); ok {
			s.gateway = address
		}
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if s.url == "" || gateway && s.gateway == "" {
		return nil, errors.Join(fmt.Errorf("%s serve did not say where it listens", b.Binary), cmd.Wait())
	}
	if _, _, err := s.get("/api/work-sessions?limit=1&include=summary"); err != nil {
		return nil, err
	}
	s.first = time.Since(start)
	return s, nil
}

// fed waits until the search file has reached the end of a log, so that feeding it does not disturb the
// measurement. The server lets requests for events that are not fed yet wait, and then refuses them.
func (s *server) fed(ctx context.Context, events int) error {
	for ctx.Err() == nil {
		answer, err := http.Get(fmt.Sprintf("%s/api/events/search?q=a2a&limit=1&min_seq=%d", s.url, events))
		if err != nil {
			return err
		}
		answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusOK:
			return nil
		case http.StatusServiceUnavailable:
		default:
			return fmt.Errorf("search answers %s", answer.Status)
		}
	}
	return ctx.Err()
}

func (s *server) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

// get requests a path and returns the size of the answer and the time it took in ms.
func (s *server) get(path string) (bytes int64, ms float64, err error) {
	start := time.Now()
	answer, err := http.Get(s.url + path)
	if err != nil {
		return 0, 0, err
	}
	defer answer.Body.Close()
	bytes, err = io.Copy(io.Discard, answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, answer.Status)
	}
	return bytes, float64(time.Since(start).Microseconds()) / 1000, err
}

func (s *server) ask(paths []string, n int) error {
	const askers = 8
	errs := make(chan error, askers)
	for a := range askers {
		go func() {
			for i := a; i < n; i += askers {
				if _, _, err := s.get(paths[i%len(paths)]); err != nil {
					errs <- err
					return
				}
			}
			errs <- nil
		}()
	}
	var err error
	for range askers {
		err = errors.Join(err, <-errs)
	}
	return err
}

// p95 sends n requests, after a few that warm the cache.
func (s *server) p95(path string, n int) (ms float64, bytes int64, err error) {
	var times []float64
	for i := range n + 5 {
		size, t, err := s.get(path)
		if err != nil {
			return 0, 0, err
		}
		if i >= 5 {
			times = append(times, t)
		}
		bytes = size
	}
	return quantile(times, 0.95), bytes, nil
}

func runREST(ctx context.Context, b *bench) ([]figure, error) {
	small, err := b.buildLog(ctx, "small-rest", smallLog)
	if err != nil {
		return nil, err
	}
	big, err := b.bigLog(ctx)
	if err != nil {
		return nil, err
	}
	const sessions = "/api/work-sessions?role=conversation.main&limit=20"
	var full, summary, events, smallEvents []float64
	var size int64
	for range b.Rounds {
		s, err := b.startServer(ctx, big.db)
		if err == nil {
			err = s.fed(ctx, b.Events)
		}
		if err != nil {
			return nil, err
		}
		for _, q := range []struct {
			path string
			into *[]float64
		}{{sessions + "&include=summary", &summary}, {"/api/events?limit=100", &events}, {sessions, &full}} {
			ms, bytes, err := s.p95(q.path, restRequests)
			if err != nil {
				return nil, err
			}
			*q.into = append(*q.into, ms)
			size = bytes
		}
		if err := s.stop(); err != nil {
			return nil, err
		}
		if s, err = b.startServer(ctx, small.db); err != nil {
			return nil, err
		}
		ms, _, err := s.p95("/api/events?limit=100", restRequests)
		if err != nil {
			return nil, err
		}
		smallEvents = append(smallEvents, ms)
		if err := s.stop(); err != nil {
			return nil, err
		}
	}
	note := fmt.Sprintf("p95 of %d requests, one client, %d events, median of %d rounds", restRequests, b.Events, b.Rounds)
	return []figure{
		within("rest.sessions.full", median(full), "ms", 100, fmt.Sprintf("GET %s, %d KB; %s", sessions, size/1024, note)),
		within("rest.sessions.summary", median(summary), "ms", 50, fmt.Sprintf("GET %s&include=summary; %s", sessions, note)),
		atMost("rest.events", median(events), "ms", median(smallEvents), 2, fmt.Sprintf("GET /api/events?limit=100; baseline: the same at %d events; %s", smallLog, note)),
	}, nil
}

func runMemory(ctx context.Context, b *bench) ([]figure, error) {
	big, err := b.bigLog(ctx)
	if err != nil {
		return nil, err
	}
	var resident, first []float64
	paths := []string{
		"/api/work-sessions?role=conversation.main&limit=20", "/api/events?limit=100", "/api/work-sessions?limit=20&include=summary",
		"/api/events?role=delegation.subagent&limit=50", "/api/health", "/api/categories",
		"/api/work-sessions?viewCategory=infra_ops&limit=10", "/api/events?since=" + url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339)),
	}
	for round := range b.Rounds {
		s, err := b.startServer(ctx, big.db)
		if err != nil {
			return nil, err
		}
		first = append(first, float64(s.first.Microseconds())/1000)
		if err := s.ask(paths, memoryRequests); err != nil {
			return nil, err
		}
		rss, err := residentMB(s.cmd.Process.Pid)
		if err != nil {
			return nil, err
		}
		resident = append(resident, rss)
		b.logf("memory round %d: %.0f MB, first answer after %.0f ms", round+1, rss, first[round])
		if err := s.stop(); err != nil {
			return nil, err
		}
	}
	return []figure{
		within("memory.rss", median(resident), "MB", 150, fmt.Sprintf("resident set of serve over %d events after %d mixed requests, median of %d rounds", b.Events, memoryRequests, b.Rounds)),
		within("start.first_answer", median(first), "ms", 300, fmt.Sprintf("from the start of the process to the first answer, %d events, median of %d rounds", b.Events, b.Rounds)),
	}, nil
}

// residentMB reads a process's resident set from /proc.
func residentMB(pid int) (float64, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kb, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 64)
			return kb / 1024, err
		}
	}
	return 0, fmt.Errorf("no resident set in the status of process %d", pid)
}
