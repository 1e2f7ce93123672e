package main

import (
	"context"
	"fmt"
	"net/url"
	"time"
)

// Requests of one round of the benchmarks that ask for lists.
const (
	restRequests   = 200
	memoryRequests = 10_000
)

func runREST(ctx context.Context, b *bench) error {
	big, err := b.searchable(ctx, b.Events)
	if err != nil {
		return err
	}
	const (
		sessions = "/api/work-sessions?role=conversation.main&limit=20"
		summary  = sessions + "&include=summary"
		events   = "/api/events?limit=100"
	)
	v, err := b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return b.serving(ctx, big, func(s *server) error {
			return b.withPlainServer(ctx, big, func(plain string) error {
				for _, path := range []string{summary, events, sessions} {
					times, err := byTurns(restRequests, s.url+path, plain)
					if err != nil {
						return err
					}
					v.add(path, quantile(times[0], 0.95))
					v.add(path+" plain", quantile(times[1], 0.95))
				}
				return nil
			})
		}, following)
	})
	if err != nil {
		return err
	}
	note := fmt.Sprintf("p95 of %d requests, one client, %d events, %s", restRequests, b.Events, b.medians())
	return b.report(
		within("rest.sessions.full", v.mid(sessions), "ms", 45, "GET "+sessions+"; "+note),
		within("rest.sessions.summary", v.mid(summary), "ms", 25, "GET "+summary+"; "+note),
		atMost("rest.events", v.mid(events), "ms", v.mid(events+" plain"), 4, "GET "+events+"; baseline: "+plainly+"; "+note),
	)
}

func runMemory(ctx context.Context, b *bench) error {
	h, err := b.searchable(ctx, b.Events)
	if err != nil {
		return err
	}
	paths := []string{
		"/api/work-sessions?role=conversation.main&limit=20", "/api/events?limit=100", "/api/work-sessions?limit=20&include=summary",
		"/api/events?role=delegation.subagent&limit=50", "/api/health", "/api/categories",
		"/api/work-sessions?viewCategory=infra_ops&limit=10", "/api/events?since=" + url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339)),
	}
	v, err := b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return b.serving(ctx, h, func(s *server) error {
			v.add("first ms", milliseconds(s.first))
			err := spread(8, 0, memoryRequests, func(i int) error {
				_, _, err := s.get(paths[i%len(paths)])
				return err
			})
			if err != nil {
				return err
			}
			rss, err := s.rss()
			v.add("MB", rss)
			return err
		})
	})
	if err != nil {
		return err
	}
	return b.report(
		within("memory.rss", v.mid("MB"), "MB", 150, fmt.Sprintf("resident set of serve over %d events after %d mixed requests; %s", b.Events, memoryRequests, b.medians())),
		within("start.first_answer", v.mid("first ms"), "ms", 70, fmt.Sprintf("from the start of the process to the first answer, %d events; %s", b.Events, b.medians())),
	)
}
