package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/eventstore"
	"github.com/pronto-lab/openclawd/eventstore/sqlite"
	"github.com/pronto-lab/openclawd/projections"
)

// Contents of the log beside the corpus when answers as of an event are compared, and how often each is requested in a
// round; less often with a log below 8,000 events, which only shows that the benchmark runs.
const (
	asOfFinished = 2_000 // tasks beside the open ones
	asOfFlows    = 100
	asOfTimes    = 40
)

// measureAsOf compares answers as of the newest event with those of the live tables, which are the same.
func (b *bench) measureAsOf(ctx context.Context, h home) error {
	if err := b.fillToAsk(ctx, h); err != nil {
		return fmt.Errorf("make tasks: %w", err)
	}
	return b.withFlows(ctx, h, func(s *flowServer) error {
		if err := errors.Join(s.sendAll(ctx, asOfFlows), s.ended(ctx, 50*time.Millisecond)); err != nil {
			return err
		}
		var head struct{ Seq int64 }
		if err := s.read("/api/health", &head); err != nil {
			return err
		}
		if err := s.fed(ctx, head.Seq); err != nil {
			return err
		}
		built, err := seconds(func() error {
			return until(ctx, 200*time.Millisecond, "building a snapshot", func() (bool, error) {
				return s.ready(fmt.Sprintf("/api/categories?as_of=%d", head.Seq), http.StatusAccepted)
			})
		})
		if err != nil {
			return err
		}
		paths, err := s.pathsToRead()
		if err != nil {
			return err
		}
		asOf, v := fmt.Sprintf("%s&as_of=%d", newestEvents, head.Seq), values{}
		if err := b.besidePlain(ctx, s.server, h, asOf, v); err != nil {
			return err
		}
		note := fmt.Sprintf("%d requests, one client, the newest event, whose snapshot was built in %.0f s", restRequests, built)
		if err := b.report(v.plain("replay.as_of", asOf, 12, note)); err != nil {
			return err
		}
		return b.compareAsOf(s, paths, head.Seq)
	})
}

func (b *bench) compareAsOf(s *flowServer, paths []string, seq int64) error {
	var then, live, worst, best []float64
	slowest, n := "", min(asOfTimes, b.Events/200)*b.Rounds
	for _, path := range paths {
		sign := "?"
		if strings.Contains(path, sign) {
			sign = "&"
		}
		times, err := byTurns(n, s.url+path, fmt.Sprintf("%s%s%sas_of=%d", s.url, path, sign, seq))
		if err != nil {
			return err
		}
		l, t := times[0], times[1]
		live, then = append(live, l...), append(then, t...)
		b.logf("replay: p50 %.2f ms as of, %.2f ms live; p95 %.2f ms as of, %.2f ms live: %s", median(t), median(l), quantile(t, 0.95), quantile(l, 0.95), path)
		if slowest == "" || median(t)/median(l) > median(worst)/median(best) {
			slowest, worst, best = path, t, l
		}
	}
	note := fmt.Sprintf("GET with as_of=%d over HTTP, the newest event, one client, %d requests each of %d kinds; baseline: the same "+
		"without as_of from the same process, by turns", seq, n, len(paths))
	return b.report(
		atMost("replay.as_of.live", quantile(then, 0.95), "ms", quantile(live, 0.95), 1.5,
			fmt.Sprintf("p95 of all; %s; p50 %.2f and %.2f ms", note, median(then), median(live))),
		atMost("replay.as_of.worst", median(worst), "ms", median(best), 1.5, fmt.Sprintf("p50 of %s, for which it differs most; %s", slowest, note)),
	)
}

// fillToAsk stores tasks, because the corpus has none of a configured agent.
func (b *bench) fillToAsk(ctx context.Context, h home) error {
	return h.with(ctx, func(log *sqlite.DB, _ *projections.Engine) error {
		o, err := b.tasksOn(log, teamOf(flowAgents))
		if err != nil {
			return err
		}
		now := time.Now().UnixMilli()
		return o.between(ctx, asOfFinished, now, func(n int) (eventstore.StreamAppend, error) { return waitingTask(n, now+int64(n)) })
	})
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
