package main

import (
	"io/fs"
	"os"
	"time"

	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/mcp/samplemcp"
	"github.com/pronto-lab/openclawd/services/samplework"
	"github.com/pronto-lab/openclawd/testdata/sample"
)

// newSampleHome writes the sample data with its times moved to now.
func newSampleHome(now time.Time) (*samplework.Home, error) {
	awaiting, err := fs.Sub(sample.Awaiting, "awaiting")
	if err != nil {
		return nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return samplework.NewHome(now.Sub(sample.Taken), samplework.Added{
		Servers: map[string]any{samplemcp.Name: samplemcp.Settings(program)},
		Gated:   []string{"write", "edit", "apply_patch", "exec", samplemcp.Publish},
		Calls:   []map[string]any{{"tools": []string{samplemcp.Search}, "agents": []string{"grim"}, "decision": config.CallAsk}},
	}, sample.Files, awaiting)
}
