package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/pronto-lab/openclawd/database"
	"github.com/pronto-lab/openclawd/eventstore/ndjson"
)

// nextFile has the lines of --next, one event each.
const nextFile = "next.ndjson"

func newFill() *cobra.Command {
	var events, next int
	var out string
	cmd := &cobra.Command{
		Use:   "fill",
		Short: "Fill a state directory with a log like that of the benchmarks",
		Long: `Makes a state directory with a team, the log of its agents as another gateway writes it, and the database with all its events.
serve --follow shows it at once, and reads what is appended to the log.`,
		Example: `  openclawd-bench fill --events 100000 --out /tmp/team
  openclawd serve --follow --state-dir /tmp/team`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if events < 1 || next < 0 || out == "" {
				return &usageError{errors.New("--events must be at least 1, --next at least 0, and --out must name a directory")}
			}
			return fill(cmd.Context(), out, events, next, cmd.ErrOrStderr())
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&events, "events", 1_000_000, "size of the log, `N` events")
	flags.IntVar(&next, "next", 0, "also write the `N` lines that would follow, to next.ndjson in the directory")
	flags.StringVar(&out, "out", "", "state `DIR` to make; it must not exist or be empty")
	return cmd
}

func fill(ctx context.Context, dir string, events, next int, log io.Writer) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(entries) > 0 {
		return fmt.Errorf("%s is not empty", dir)
	}
	if err := makeTeam(dir); err != nil {
		return err
	}
	sessions := newSessions(events, time.Now())
	if err := sessions.write(filepath.Join(ndjson.LogDir(dir), ndjson.LiveLog), events); err != nil {
		return err
	}
	if next > 0 {
		if err := sessions.write(filepath.Join(dir, nextFile), next); err != nil {
			return err
		}
	}
	path := filepath.Join(dir, database.Name)
	db, _, err := home(dir).open(ctx)
	if err != nil {
		return err
	}
	start := time.Now()
	logs := ndjson.NewFollower(ndjson.FollowOptions{StateDir: dir, Positions: database.PositionsFile(path), Now: time.Now,
		Import: database.ImportOptions(db, slog.New(slog.DiscardHandler))})
	_, err = logs.Poll(ctx)
	logs.Close()
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(log, "bench: filled %s with %d events in %s\n", dir, events, time.Since(start).Round(time.Second))
	return err
}

// makeTeam writes the configuration of the corpus's agents, and a workspace for each.
func makeTeam(dir string) error {
	type member struct {
		ID        string `json:"id"`
		Workspace string `json:"workspace"`
	}
	var list []member
	for _, id := range agents {
		workspace := filepath.Join(dir, "workspace-"+id)
		if err := os.MkdirAll(workspace, 0o700); err != nil {
			return err
		}
		list = append(list, member{id, workspace})
	}
	if err := os.MkdirAll(ndjson.LogDir(dir), 0o700); err != nil {
		return err
	}
	team, err := json.MarshalIndent(map[string]any{"agents": map[string]any{"defaults": map[string]string{"model": "none"}, "list": list}}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "openclaw.json"), append(team, '\n'), 0o600)
}
