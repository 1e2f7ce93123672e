package gateway

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/gateway/wire"
	"github.com/pronto-lab/openclawd/projections/work"
)

// systemMethods say what the gateway runs on, and how it is doing.
func (s *Server) systemMethods() map[string]answer {
	return map[string]answer{
		"system.info":       s.answerSystem,
		"diagnostics.lanes": s.answerLanes,
		"update.status":     s.answerUpdate,
		"update.run":        s.runUpdate,
		"models.authStatus": s.answerModelAuth,
	}
}

// systemAnswer answers system.info.
type systemAnswer struct {
	MachineName string    `json:"machineName"`
	Hostname    string    `json:"hostname"`
	Platform    string    `json:"platform"`
	Release     string    `json:"release"`
	Arch        string    `json:"arch"`
	OSLabel     string    `json:"osLabel"`
	NodeVersion string    `json:"nodeVersion"` // what runs the gateway: there is no Node here
	PID         int       `json:"pid"`
	UptimeMs    int64     `json:"uptimeMs"`
	CPUs        int       `json:"cpuCount"`
	Load        []float64 `json:"loadAverage,omitempty"`
	MemoryTotal int64     `json:"memoryTotalBytes"`
	MemoryFree  int64     `json:"memoryFreeBytes"`
}

func (s *Server) answerSystem(context.Context, *wire.Call) (any, error) {
	name, _ := os.Hostname() // "" where the machine has none
	a := systemAnswer{MachineName: name, Hostname: name, Platform: runtime.GOOS, Release: strings.TrimSpace(procFile("sys/kernel/osrelease")),
		Arch: runtime.GOARCH, NodeVersion: runtime.Version(), PID: os.Getpid(), UptimeMs: s.opts.Now().Sub(s.opts.StartedAt).Milliseconds(),
		CPUs: runtime.NumCPU(), Load: loadOf(procFile("loadavg"))}
	a.OSLabel = strings.TrimSpace(runtime.GOOS + " " + a.Release)
	a.MemoryTotal, a.MemoryFree = memoryOf(procFile("meminfo"))
	return a, nil
}

// procFile is a file in which Linux says how the machine is doing; "" where there is none.
func procFile(name string) string {
	text, err := os.ReadFile("/proc/" + name)
	if err != nil {
		return ""
	}
	return string(text)
}

// loadOf reads how many processes wanted to run, on average, in the last 1, 5 and 15 minutes; nil where the machine does not say.
func loadOf(text string) []float64 {
	var load [3]float64
	if n, _ := fmt.Sscan(text, &load[0], &load[1], &load[2]); n != len(load) {
		return nil
	}
	return load[:]
}

// memoryOf reads how much memory the machine has, and how much of it can be had, in bytes; zeros where it does not say.
func memoryOf(text string) (total, free int64) {
	const unit = 1 << 10 // kB
	for line := range strings.Lines(text) {
		var name string
		var n int64
		if found, _ := fmt.Sscan(line, &name, &n); found != 2 {
			continue
		}
		switch name {
		case "MemTotal:":
			total = n * unit
		case "MemAvailable:":
			free = n * unit
		}
	}
	return total, free
}

// laneInfo is a lane as the page of lanes shows it.
type laneInfo struct {
	Lane     string  `json:"lane"`
	Queued   int     `json:"queuedCount"`
	Active   int     `json:"activeCount"`
	Max      int     `json:"maxConcurrent"`
	Draining bool    `json:"draining"`
	Generate int     `json:"generation"`
	Blocked  *string `json:"blockedBy"`
}

// answerLanes answers diagnostics.lanes: how much waits and runs in each lane, of all agents together.
func (s *Server) answerLanes(ctx context.Context, _ *wire.Call) (any, error) {
	lanes := []laneInfo{}
	limits := s.opts.Configuration.InForce().Lanes()
	for _, lane := range slices.Sorted(maps.Keys(limits)) {
		lanes = append(lanes, laneInfo{Lane: lane, Max: limits[lane]})
	}
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		found, err := work.Lanes(ctx, tx)
		for _, l := range found {
			i := slices.IndexFunc(lanes, func(one laneInfo) bool { return one.Lane == l.Pool })
			if i < 0 {
				lanes, i = append(lanes, laneInfo{Lane: l.Pool, Max: 1}), len(lanes)
			}
			lanes[i].Queued, lanes[i].Active = lanes[i].Queued+l.Waiting, lanes[i].Active+l.Leased
			lanes[i].Max = max(lanes[i].Max, lanes[i].Active)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return struct {
		TS      int64      `json:"ts"`
		Lanes   []laneInfo `json:"lanes"`
		Dynamic any        `json:"dynamic"`
	}{s.opts.Now().UnixMilli(), lanes, nil}, nil
}

// answerUpdate answers update.status: the program is not put in place by itself, and looks for no newer one.
func (s *Server) answerUpdate(context.Context, *wire.Call) (any, error) {
	return struct {
		Sentinel  any `json:"sentinel"`
		Available any `json:"updateAvailable"`
	}{}, nil
}

// runUpdate answers update.run: nothing was done, and why.
func (s *Server) runUpdate(context.Context, *wire.Call) (any, error) {
	const why = "openclawd does not replace itself: stop it, put the new program in its place and start it; what is in the log stays"
	return map[string]any{"ok": false, "result": map[string]any{"status": "skipped", "mode": "unknown", "reason": why, "steps": []any{}, "durationMs": 0},
		"restart": nil, "sentinel": nil}, nil
}

// modelProvider is a provider of models as the pages of models show it.
type modelProvider struct {
	Provider string `json:"provider"`
	Name     string `json:"displayName"`
	Status   string `json:"status"` // static: a key that is configured; missing
	Profiles []any  `json:"profiles"`
}

// answerModelAuth answers models.authStatus: which providers there are, and whether they have a key. None is asked, and no key is shown.
func (s *Server) answerModelAuth(context.Context, *wire.Call) (any, error) {
	list := []modelProvider{}
	for _, p := range s.opts.Configuration.InForce().Models.Providers {
		one := modelProvider{Provider: p.ID, Name: p.ID, Status: "static", Profiles: []any{}}
		if p.APIKey.Reveal() == "" {
			one.Status = "missing"
		}
		list = append(list, one)
	}
	return struct {
		TS           int64           `json:"ts"`
		Providers    []modelProvider `json:"providers"`
		Capabilities []any           `json:"providerCapabilities"`
	}{s.opts.Now().UnixMilli(), list, []any{}}, nil
}
