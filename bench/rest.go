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
	small, err := b.searchable(ctx, smallLog)
	if err != nil {
		return err
	}
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
		ask := func(s *server, name string, paths ...string) error {
			for _, path := range paths {
				times, err := byTurns(restRequests, s.url+path)
				if err != nil {
					return err
				}
				v.add(name+path, quantile(times[0], 0.95))
			}
			return nil
		}
		err := b.serving(ctx, big, func(s *server) error { return ask(s, "", summary, events, sessions) }, following)
		if err != nil {
			return err
		}
		return b.serving(ctx, small, func(s *server) error { return ask(s, "small ", events) }, following)
	})
	if err != nil {
		return err
	}
	note := fmt.Sprintf("p95 of %d requests, one client, %d events, %s", restRequests, b.Events, b.medians())
	return b.report(
		within("rest.sessions.full", v.mid(sessions), "ms", 100, "GET "+sessions+"; "+note),
		within("rest.sessions.summary", v.mid(summary), "ms", 50, "GET "+summary+"; "+note),
		atMost("rest.events", v.mid(events), "ms", v.mid("small "+events), 2, fmt.Sprintf("GET %s; baseline: the same at %d events; %s", events, smallLog, note)),
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
		within("start.first_answer", v.mid("first ms"), "ms", 300, fmt.Sprintf("from the start of the process to the first answer, %d events; %s", b.Events, b.medians())),
	)
}
