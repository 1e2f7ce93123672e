package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"
)

const restRequests = 200 // of each kind in a round

// question is a request whose answers are measured, with a limit in ms for their p95.
type question struct {
	name, path string
	limit      float64
	doc        string
}

const newestEvents = "/api/events?limit=100"

// questions returns what the Task-Monitor's clients ask most, for a log that ends now.
func (s *server) questions() ([]question, error) {
	const sessions = "/api/work-sessions?role=conversation.main&limit=20"
	var list struct {
		Sessions []struct{ WorkSessionID string }
	}
	if err := s.read(sessions+"&include=summary", &list); err != nil {
		return nil, err
	}
	if len(list.Sessions) == 0 {
		return nil, errors.New("the log has no work sessions")
	}
	since := url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339))
	return []question{
		{"rest.sessions.full", sessions, 0.5, "with events"},
		{"rest.sessions.summary", sessions + "&include=summary", 0.5, "without events"},
		{"rest.sessions.all", "/api/work-sessions?limit=20", 0.5, "of all roles"},
		{"rest.sessions.archived", sessions + "&status=ARCHIVED&viewCategory=infra_ops", 2, "none is as old as that, and each has to be looked at"},
		{"rest.session", "/api/work-sessions/" + list.Sessions[0].WorkSessionID, 0.4, "one work session"},
		{"rest.events.filtered", "/api/events?role=conversation.main&type=a2a.response&viewCategory=infra_ops&limit=100&since=" + since, 0.5, "of the last hour"},
		{"rest.agents", "/api/agents", 1.5, "agents with a workspace"},
		{"rest.health", "/api/health", 0.3, "health"},
	}, nil
}

// runREST asks a server that follows a log, as the Task-Monitor does.
func runREST(ctx context.Context, b *bench) error {
	big, err := b.searchable(ctx, b.Events)
	if err != nil {
		return err
	}
	var questions []question
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return b.serving(ctx, big, func(s *server) (err error) {
			if questions, err = s.questions(); err != nil {
				return err
			}
			for _, q := range questions {
				times, err := byTurns(restRequests, s.url+q.path)
				if err != nil {
					return err
				}
				v.add(q.name, quantile(times[0], 0.95))
				v.add(q.name+" p50", median(times[0]))
			}
			return b.besidePlain(ctx, s, big, newestEvents, v)
		}, following)
	}, func(v values) (list []figure) {
		note := fmt.Sprintf("%d requests, one client, %d events, %s", restRequests, b.Events, b.medians())
		for _, q := range questions {
			list = append(list, within(q.name, v.mid(q.name), "ms", q.limit,
				fmt.Sprintf("p95 of GET %s, %s; p50 %.2f ms; %s", q.path, q.doc, v.mid(q.name+" p50"), note)))
		}
		return append(list, v.plain("rest.events", newestEvents, 0.5, note))
	})
}

// besidePlain adds the times of answers with events, and of those of a plain server over the same file.
func (b *bench) besidePlain(ctx context.Context, s *server, h home, path string, v values) error {
	return b.withPlainServer(ctx, h, func(plain string) error {
		times, err := byTurns(restRequests, s.url+path, plain)
		if err != nil {
			return err
		}
		v.add("ms", quantile(times[0], 0.95))
		v.add("plain ms", quantile(times[1], 0.95))
		v.add("p50 ms", median(times[0]))
		v.add("plain p50 ms", median(times[1]))
		return nil
	})
}

// plain compares with the same rows from a plain query; goal is the most of its time.
func (v values) plain(name, path string, goal float64, note string) figure {
	value, plain := v.pair("ms", "plain ms")
	return atMost(name, value, "ms", plain, goal, fmt.Sprintf("p95 of GET %s; baseline: the same rows by a query, encoding/json and net/http, without "+
		"anything else, by turns; p50 %.2f and %.2f ms; %s", path, v.mid("p50 ms"), v.mid("plain p50 ms"), note))
}
