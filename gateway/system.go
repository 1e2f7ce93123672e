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
	"github.com/pronto-lab/openclawd/projections/workqueue"
)

// systemMethods describe the host and the load of the gateway.
func (s *Server) systemMethods() map[string]answer {
	return map[string]answer{
		"system.info":       s.answerSystem,
		"diagnostics.lanes": s.answerLanes,
		"update.status":     s.answerUpdate,
		"update.run":        s.runUpdate,
		"models.authStatus": s.answerModelAuth,
	}
}

type systemAnswer struct {
	MachineName string    `json:"machineName"`
	Hostname    string    `json:"hostname"`
	Platform    string    `json:"platform"`
	Release     string    `json:"release"`
	Arch        string    `json:"arch"`
	OSLabel     string    `json:"osLabel"`
	NodeVersion string    `json:"nodeVersion"` // the gateway's runtime: there is no Node
	PID         int       `json:"pid"`
	UptimeMs    int64     `json:"uptimeMs"`
	CPUs        int       `json:"cpuCount"`
	Load        []float64 `json:"loadAverage,omitempty"`
	MemoryTotal int64     `json:"memoryTotalBytes"`
	MemoryFree  int64     `json:"memoryFreeBytes"`
}

func (s *Server) answerSystem(context.Context, *wire.Call) (any, error) {
	name, _ := os.Hostname() // "" if unavailable
	a := systemAnswer{MachineName: name, Hostname: name, Platform: runtime.GOOS, Release: strings.TrimSpace(procFile("sys/kernel/osrelease")),
		Arch: runtime.GOARCH, NodeVersion: runtime.Version(), PID: os.Getpid(), UptimeMs: s.opts.Now().Sub(s.opts.StartedAt).Milliseconds(),
		CPUs: runtime.NumCPU(), Load: loadOf(procFile("loadavg"))}
	a.OSLabel = strings.TrimSpace(runtime.GOOS + " " + a.Release)
	a.MemoryTotal, a.MemoryFree = memoryOf(procFile("meminfo"))
	return a, nil
}

// procFile reads a file of Linux's /proc; "" if there is none.
func procFile(name string) string {
	text, err := os.ReadFile("/proc/" + name)
	if err != nil {
		return ""
	}
	return string(text)
}

// loadOf parses the load averages of 1, 5 and 15 minutes; nil if unavailable.
func loadOf(text string) []float64 {
	var load [3]float64
	if n, _ := fmt.Sscan(text, &load[0], &load[1], &load[2]); n != len(load) {
		return nil
	}
	return load[:]
}

// memoryOf parses total and available memory, in bytes; zeros if unavailable.
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

// laneInfo is a lane on the Control UI's lanes page.
type laneInfo struct {
	Lane     string  `json:"lane"`
	Queued   int     `json:"queuedCount"`
	Active   int     `json:"activeCount"`
	Max      int     `json:"maxConcurrent"`
	Draining bool    `json:"draining"`
	Generate int     `json:"generation"`
	Blocked  *string `json:"blockedBy"`
}

// answerLanes answers diagnostics.lanes: waiting and running work per lane, summed over agents.
func (s *Server) answerLanes(ctx context.Context, _ *wire.Call) (any, error) {
	lanes := []laneInfo{}
	limits := s.opts.Configuration.InForce().Lanes()
	for _, lane := range slices.Sorted(maps.Keys(limits)) {
		lanes = append(lanes, laneInfo{Lane: lane, Max: limits[lane]})
	}
	err := s.opts.Log.View(ctx, func(tx *sql.Tx) error {
		found, err := workqueue.Lanes(ctx, tx)
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

// answerUpdate answers update.status: the program does not update itself or check for updates.
func (s *Server) answerUpdate(context.Context, *wire.Call) (any, error) {
	return struct {
		Sentinel  any `json:"sentinel"`
		Available any `json:"updateAvailable"`
	}{}, nil
}

// runUpdate answers update.run: nothing was done, and why.
func (s *Server) runUpdate(context.Context, *wire.Call) (any, error) {
	const why = "openclawd does not update itself: stop it, replace the binary and start it again; the log is kept"
	return map[string]any{"ok": false, "result": map[string]any{"status": "skipped", "mode": "unknown", "reason": why, "steps": []any{}, "durationMs": 0},
		"restart": nil, "sentinel": nil}, nil
}

// modelProvider is a model provider on the Control UI's models page.
type modelProvider struct {
	Provider string `json:"provider"`
	Name     string `json:"displayName"`
	Status   string `json:"status"` // static: a key is configured; missing
	Profiles []any  `json:"profiles"`
}

// answerModelAuth answers models.authStatus: the providers and whether they have a key. It contacts no provider and
// shows no key.
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
