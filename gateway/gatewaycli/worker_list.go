package gatewaycli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/pronto-lab/openclawd/internal/output"
)

// WorkerList is the command that lists the workers on other machines.
func WorkerList() Command {
	return Command{Use: "list", Short: "List the workers that are connected to the server, and their runs", Example: "list --json", Ask: askWorkers}
}

func askWorkers(ctx context.Context, call Caller, _ []string, _ *pflag.FlagSet, now time.Time) (json.RawMessage, string, error) {
	answer, err := call(ctx, "worker.list", nil)
	if err != nil {
		return answer, "", err
	}
	var list struct {
		Workers []struct {
			Name, Version  string
			Labels, Agents []string
			Slots          int
			SeenMs         int64
			Runs           []struct{ RunID, AgentID string }
		}
	}
	if err := json.Unmarshal(answer, &list); err != nil {
		return answer, "", fmt.Errorf("decode the gateway's answer: %w", err)
	}
	if len(list.Workers) == 0 {
		return answer, "no worker is connected: openclawd worker --gateway URL starts one", nil
	}
	var b bytes.Buffer
	for i := range list.Workers {
		w := &list.Workers[i]
		agents := "all agents"
		if len(w.Agents) > 0 {
			agents = strings.Join(w.Agents, ", ")
		}
		fmt.Fprintf(&b, "%s  %d of %d busy  %s  labels %s  seen %s ago  %s\n", output.Printable(w.Name), len(w.Runs), w.Slots, output.Printable(agents),
			output.Printable("["+strings.Join(w.Labels, " ")+"]"), output.Duration(max(now.UnixMilli()-w.SeenMs, 0)), output.Printable(w.Version))
		for _, r := range w.Runs {
			fmt.Fprintf(&b, "  run %s of %s\n", output.Printable(r.RunID), output.Printable(r.AgentID))
		}
	}
	return answer, strings.TrimRight(b.String(), "\n"), nil
}
