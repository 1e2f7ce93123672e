package gatewaycli

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/internal/output"
)

// job is what a list shows of a job.
type job struct {
	ID, Name, AgentID string
	Enabled           bool
	Schedule          struct {
		Kind, At, Expr, Tz string
		EveryMs            int64
	}
	State struct {
		NextRunAt  int64 `json:"nextRunAtMs"`
		RunningAt  int64 `json:"runningAtMs"`
		LastRunAt  int64 `json:"lastRunAtMs"`
		LastStatus string
		LastError  string
	}
}

func (j *job) schedule() string {
	s := &j.Schedule
	switch s.Kind {
	case "at":
		return "at " + s.At
	case "every":
		return "every " + (time.Duration(s.EveryMs) * time.Millisecond).String()
	}
	if s.Tz != "" {
		return s.Expr + " " + s.Tz
	}
	return s.Expr
}

func (j *job) status() string {
	switch {
	case j.State.RunningAt > 0:
		return "running"
	case !j.Enabled:
		return "disabled"
	}
	return j.State.LastStatus
}

func listFlags(f *pflag.FlagSet) {
	f.Bool("all", false, "also disabled jobs")
	f.String("agent", "", "filter by `ID` of the agent")
	f.Int("limit", 50, "maximum number of jobs `N`, 1 to 200")
}

const nameCells = 30 // terminal width

func askList(ctx context.Context, call Caller, _ []string, f *pflag.FlagSet, now time.Time) (json.RawMessage, string, error) {
	all, _ := f.GetBool("all")
	limit, _ := f.GetInt("limit")
	params := map[string]any{"includeDisabled": all, "limit": limit}
	if agent, _ := f.GetString("agent"); agent != "" {
		params["agentId"] = agent
	}
	answer, err := call(ctx, "cron.list", params)
	if err != nil {
		return answer, "", err
	}
	var list struct {
		Jobs  []job
		Total int64
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return answer, "", fmt.Errorf("read the jobs: %w", err)
	}
	if len(list.Jobs) == 0 {
		return answer, "no jobs; add one with: openclawd cron add --every 1h --message TEXT", nil
	}
	var rows [][]string
	for i := range list.Jobs {
		j := &list.Jobs[i]
		rows = append(rows, []string{j.ID, output.Cut(j.Name, nameCells), output.Cut(j.schedule(), nameCells), when(j.State.NextRunAt, now), when(j.State.LastRunAt, now),
			j.status(), j.AgentID})
	}
	text, err := table([]string{"ID", "NAME", "SCHEDULE", "NEXT", "LAST", "STATUS", "AGENT"}, rows, output.Count(list.Total, "job"))
	return answer, text, err
}

func runsFlags(f *pflag.FlagSet) {
	f.Int("limit", 50, "maximum number of runs `N`, 1 to 200")
	f.String("status", "", "filter by `STATUS`: ok, error, skipped")
	f.String("id", "", "`ID` of the job, as in OpenClaw")
}

func askRuns(ctx context.Context, call Caller, args []string, f *pflag.FlagSet, now time.Time) (json.RawMessage, string, error) {
	limit, _ := f.GetInt("limit")
	params := map[string]any{"limit": limit}
	id, _ := f.GetString("id")
	if len(args) > 0 {
		id = args[0]
	}
	if id != "" {
		params["id"] = id
	}
	if status, _ := f.GetString("status"); status != "" {
		params["status"] = status
	}
	answer, err := call(ctx, "cron.runs", params)
	if err != nil {
		return answer, "", err
	}
	var list struct {
		Entries []struct {
			RunID, JobName, Status, Error, Summary, DeliveryStatus string
			RunAt                                                  int64 `json:"runAtMs"`
			Duration                                               int64 `json:"durationMs"`
			Usage                                                  struct {
				Total int64 `json:"total_tokens"`
			}
		}
		Total int64
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return answer, "", fmt.Errorf("read the runs: %w", err)
	}
	if len(list.Entries) == 0 {
		return answer, "no run is over yet", nil
	}
	var rows [][]string
	for i := range list.Entries {
		e := &list.Entries[i]
		said := e.Error
		if said == "" {
			said = e.Summary
		}
		rows = append(rows, []string{when(e.RunAt, now), output.Cut(e.JobName, nameCells), e.Status, e.DeliveryStatus, (time.Duration(e.Duration) * time.Millisecond).Round(time.Millisecond).String(),
			strconv.FormatInt(e.Usage.Total, 10), output.Cut(said, nameCells), e.RunID})
	}
	text, err := table([]string{"STARTED", "JOB", "STATUS", "DELIVERY", "TOOK", "TOKENS", "SAID", "RUN"}, rows, output.Count(list.Total, "run"))
	return answer, text, err
}
