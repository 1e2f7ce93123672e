package main

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pronto-lab/openclawd/coordination"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

const memoryRequests = 10_000

// runMemory measures servers that have a log to themselves, which another gateway has made.
func runMemory(ctx context.Context, b *bench) error {
	h, err := b.searchable(ctx, b.Events)
	if err != nil {
		return err
	}
	paths := []string{
		"/api/work-sessions?role=conversation.main&limit=20", newestEvents, "/api/work-sessions?limit=20&include=summary",
		"/api/events?role=delegation.subagent&limit=50", "/api/health", "/api/categories",
		"/api/work-sessions?viewCategory=infra_ops&limit=10", "/api/events?since=" + url.QueryEscape(time.Now().Add(-time.Hour).Format(time.RFC3339)),
	}
	err = b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
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
	}, func(v values) []figure {
		return []figure{
			within("memory.rss", v.mid("MB"), "MB", 150, fmt.Sprintf("resident set of serve over %d events after %d mixed requests; %s", b.Events, memoryRequests, b.medians())),
			within("start.first_answer", v.mid("first ms"), "ms", 70, fmt.Sprintf("from the start of the process to the first answer, %d events; %s", b.Events, b.medians())),
		}
	})
	if err != nil {
		return err
	}
	return b.measureStart(ctx, h)
}

// measureStart starts a server in whose workspaces another gateway has left task files, which it has imported before.
func (b *bench) measureStart(ctx context.Context, h home) error {
	files := b.of(200, 10_000)
	if err := writeTaskFiles(h, files); err != nil {
		return err
	}
	err := b.serving(ctx, h, func(s *server) error {
		var list struct{ Counts map[string]int }
		err := s.read("/api/tasks?limit=1", &list)
		if err == nil && list.Counts[coordination.StatePendingApproval] != files {
			err = fmt.Errorf("there are %d tasks from %d files", list.Counts[coordination.StatePendingApproval], files)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("import task files: %w", err)
	}
	return b.rounds(ctx, func(ctx context.Context, _ int, v values) error {
		return b.serving(ctx, h, func(s *server) error {
			v.add("first ms", milliseconds(s.first))
			return nil
		})
	}, func(v values) []figure {
		return []figure{within("start.tasks", v.mid("first ms"), "ms", 100, fmt.Sprintf("the same with %d task files in the workspaces of %d agents, in produce mode; %s",
			files, len(agents), b.medians()))}
	})
}

// writeTaskFiles writes tasks that wait for an approval, so that agents have nothing to do, into the workspaces.
func writeTaskFiles(h home, n int) error {
	now := time.Now().UTC().Format(time.RFC3339)
	for i := range n {
		t := taskfile.Task{ID: taskID(int64(i)), Status: coordination.StatePendingApproval, Priority: "medium", Description: fmt.Sprintf("Task %d of a team", i),
			Created: now, LastActivity: now, Progress: []string{"Task started", topics[i%len(topics)][0]}}
		dir := filepath.Join(string(h), "workspace-"+agents[i%len(agents)], "tasks")
		if err := errors.Join(os.MkdirAll(dir, 0o700), os.WriteFile(filepath.Join(dir, t.ID+".md"), []byte(taskfile.Format(&t)), 0o600)); err != nil {
			return err
		}
	}
	return nil
}
