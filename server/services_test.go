package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// An error of a writer after the services have ended is an error of the program.
func TestErrorOfAWriterAtTheEndIsReturned(t *testing.T) {
	t.Parallel()
	p, _ := testProgram(t)
	if err := p.open(t.Context()); err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	full := errors.New("no room is left")
	err := p.runServices(t.Context(), []service{{"done", func(context.Context) error { return errors.New("it is over") }}},
		[]service{{"late", func(ctx context.Context) error { <-ctx.Done(); return full }}})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), "late: ") || !strings.Contains(err.Error(), "done: it is over") {
		t.Errorf("%v", err)
	}
}

// The whole program: files that cannot be written at a clean stop are reported.
func TestFilesThatAreBehindAtTheEndAreTold(t *testing.T) {
	t.Parallel()
	p, ready := testProgram(t)
	var log bytes.Buffer // is read when the program has ended
	p.opts.Logger = slog.New(slog.NewTextHandler(&log, nil))
	b := &filesBundle{dir: p.opts.StateDir}
	b.write(t, "openclaw.json", `{"agents":{"defaults":{"taskContinuation":{"enabled":false}},"list":[{"id":"eden"},{"id":"seum"}]}}`)
	b.write(t, "workspace-eden/tasks", "no directory")
	b.write(t, "workspace-seum/tasks", "no directory")
	_, stop := starts(t, p, ready)
	startedTask(t, p, "eden", "task_a")
	startedTask(t, p, "seum", "task_b")
	if err := p.drainTaskFiles(t.Context()); err != nil { // each has failed once
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(b.dir, "workspace-eden/tasks")); err != nil {
		t.Fatal(err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	told := log.String()
	told = told[strings.LastIndex(told, "task files do not match the log")+1:] // the first time was ours
	if !strings.Contains(told, "files=1 ") || !strings.Contains(told, "workspace-seum/tasks/task_b.md") || strings.Contains(told, "task_a.md") {
		t.Errorf("told is %s", told)
	}
	if _, err := os.Stat(filepath.Join(b.dir, "workspace-eden/tasks/task_a.md")); err != nil {
		t.Error(err)
	}
}
