package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
)

// Contents of the log beside the corpus when answers as of an event are compared, and how often each is requested in a
// round.
const (
	asOfFinished = 2_000 // tasks beside the open ones
	asOfFlows    = 100
	asOfTimes    = 40
)

// measureAsOf compares answers as of the newest event with those of the live tables, which are the same.
func (b *bench) measureAsOf(ctx context.Context, big *bigLog) (_ []figure, err error) {
	if err := b.fillToAsk(ctx, big.db); err != nil {
		return nil, fmt.Errorf("make tasks: %w", err)
	}
	model, err := startModel()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, model.stop()) }()
	s, err := b.startFlowsOn(ctx, filepath.Join(b.Dir, "replay-home"), big.db, model)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := errors.Join(s.sendAll(ctx, asOfFlows), s.ended(ctx, 50*time.Millisecond)); err != nil {
		return nil, err
	}
	var head struct{ Seq int64 }
	if err := s.read("/api/health", &head); err != nil {
		return nil, err
	}
	if err := s.fed(ctx, int(head.Seq)); err != nil {
		return nil, err
	}
	built, err := s.open(ctx, head.Seq)
	if err != nil {
		return nil, err
	}
	paths, err := s.pathsToRead()
	if err != nil {
		return nil, err
	}
	asked, err := s.compare(paths, head.Seq, asOfTimes*b.Rounds)
	if err != nil {
		return nil, err
	}
	worst := 0
	var then, live []float64
	for i, a := range asked {
		then, live = append(then, a.then...), append(live, a.live...)
		b.logf("replay: p50 %.2f ms as of, %.2f ms live; p95 %.2f ms as of, %.2f ms live: %s", median(a.then), median(a.live),
			quantile(a.then, 0.95), quantile(a.live, 0.95), paths[i])
		if a.ratio() > asked[worst].ratio() {
			worst = i
		}
	}
	w := asked[worst]
	note := fmt.Sprintf("GET with as_of=%d over HTTP, the newest event, one client, %d requests each of %d kinds; baseline: the same "+
		"without as_of from the same process, by turns", head.Seq, len(w.then), len(paths))
	return []figure{
		atMost("replay.as_of", quantile(then, 0.95), "ms", quantile(live, 0.95), 1.5,
			fmt.Sprintf("p95 of all; %s; p50 %.2f and %.2f ms; the snapshot was built in %.0f s", note, median(then), median(live), built)),
		atMost("replay.as_of.worst", median(w.then), "ms", median(w.live), 1.5,
			fmt.Sprintf("p50 of %s, for which it differs most; %s", paths[worst], note)),
	}, nil
}

// fillToAsk stores tasks, because the corpus has none of a configured agent.
func (b *bench) fillToAsk(ctx context.Context, db string) error {
	o, err := b.openTaskBench(ctx, filepath.Base(db), teamOf(flowAgents))
	if err != nil {
		return err
	}
	now := time.Now().UnixMilli()
	err = o.between(ctx, asOfFinished, now, func(n int) (eventstore.StreamAppend, error) { return waitingTask(n, now+int64(n)) })
	return errors.Join(err, o.log.Close())
}

// read decodes an answer.
func (s *server) read(path string, into any) error {
	answer, err := http.Get(s.url + path)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", path, answer.Status, text)
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// open waits until the snapshot at an event is ready, and returns how many seconds that took.
func (s *server) open(ctx context.Context, seq int64) (float64, error) {
	again := time.NewTicker(200 * time.Millisecond)
	defer again.Stop()
	start := time.Now()
	for {
		answer, err := http.Get(fmt.Sprintf("%s/api/categories?as_of=%d", s.url, seq))
		if err != nil {
			return 0, err
		}
		answer.Body.Close()
		switch answer.StatusCode {
		case http.StatusOK:
			return time.Since(start).Seconds(), nil
		case http.StatusAccepted:
		default:
			return 0, fmt.Errorf("as of event %d the server answers %s", seq, answer.Status)
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// pathsToRead returns the requested paths: lists with and without filters, and single items that exist in the log.
func (s *server) pathsToRead() ([]string, error) {
	paths := []string{
		"/api/events?limit=100", "/api/events?role=conversation.main&limit=50", "/api/events?type=a2a.response&agent=eden&limit=50",
		"/api/events?type=task.completed&limit=100", "/api/events?viewCategory=infra_ops&limit=50",
		"/api/work-sessions?limit=20", "/api/work-sessions?role=conversation.main&limit=20&include=summary",
		"/api/work-sessions?viewCategory=docs_knowledge&limit=10", "/api/work-sessions/search?q=" + url.QueryEscape("배포 파이프라인"),
		"/api/events/search?q=" + url.QueryEscape("결제"), "/api/events/search?q=rollout&role=conversation.main",
		"/api/tasks", "/api/tasks?status=blocked", "/api/agents", "/api/agents/agent-0/tasks", "/api/agents/agent-0/info", "/api/team-state",
		"/api/approvals", "/api/continuation", "/api/runs?limit=50", "/api/runs?agent=agent-1", "/api/a2a/jobs?limit=50",
		"/api/a2a/handoffs", "/api/work", "/api/categories",
	}
	var sessions struct {
		Sessions []struct {
			WorkSessionID string
		}
	}
	if err := s.read("/api/work-sessions?role=conversation.main&limit=3", &sessions); err != nil {
		return nil, err
	}
	for _, w := range sessions.Sessions {
		paths = append(paths, "/api/work-sessions/"+w.WorkSessionID, "/api/trace/"+w.WorkSessionID, "/api/events?workSession="+w.WorkSessionID)
	}
	var jobs struct {
		Jobs []struct{ JobID string }
	}
	if err := s.read("/api/a2a/jobs?limit=3", &jobs); err != nil {
		return nil, err
	}
	for _, j := range jobs.Jobs {
		paths = append(paths, "/api/a2a/jobs/"+j.JobID, "/api/trace/"+j.JobID)
	}
	if len(sessions.Sessions) == 0 || len(jobs.Jobs) == 0 {
		return nil, errors.New("the log has no work sessions, or no flows")
	}
	return paths, nil
}

// pairedTimes are the times of answers to one request, in ms.
type pairedTimes struct{ then, live []float64 }

// ratio compares the medians, which are stable over a few hundred requests, whatever else the machine does.
func (a pairedTimes) ratio() float64 { return median(a.then) / median(a.live) }

// compare requests each path n times either way, alternating, after a warm-up.
func (s *server) compare(paths []string, seq int64, n int) ([]pairedTimes, error) {
	const warm = 3
	asked := make([]pairedTimes, len(paths))
	for i := range n + warm {
		for p, path := range paths {
			sign := "?"
			if strings.Contains(path, sign) {
				sign = "&"
			}
			ways := []struct {
				path string
				into *[]float64
			}{{path, &asked[p].live}, {fmt.Sprintf("%s%sas_of=%d", path, sign, seq), &asked[p].then}}
			for w := range ways {
				way := ways[(w+i)%len(ways)]
				_, ms, err := s.get(way.path)
				if err != nil {
					return nil, err
				}
				if i >= warm {
					*way.into = append(*way.into, ms)
				}
			}
		}
	}
	return asked, nil
}
