package samplework

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/pronto-lab/openclawd/agent/llm/scripted"
	"github.com/pronto-lab/openclawd/coordination/taskfile"
)

// configFile is the name of the configuration in a state directory.
const configFile = "openclaw.json"

// Home is a temporary state directory with sample data.
type Home struct {
	Dir   string
	added Added
}

// Added is what the configuration gets beside the sample's: MCP servers by name, tools that need a task in progress and an approved plan, and
// rules about calls that wait for the visitor.
type Added struct {
	Servers map[string]any
	Gated   []string
	Calls   []map[string]any // of tools.approvals
}

// NewHome writes sample data with its times moved by shift.
func NewHome(shift time.Duration, added Added, data ...fs.FS) (*Home, error) {
	dir, err := os.MkdirTemp("", "openclawd-sample-")
	if err != nil {
		return nil, fmt.Errorf("make sample: %w", err)
	}
	home := &Home{dir, added}
	for _, files := range data {
		if err := home.add(files, shift); err != nil {
			return nil, fmt.Errorf("make sample: %w", errors.Join(err, home.Remove()))
		}
	}
	return home, nil
}

// add writes files.
func (h *Home) add(files fs.FS, shift time.Duration) error {
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := filepath.Join(h.Dir, filepath.FromSlash(name))
		if entry.IsDir() {
			return os.MkdirAll(target, 0o700)
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		text = moveTimes(text, shift)
		if name == configFile {
			if text, err = h.added.into(settle(text)); err != nil {
				return err
			}
		}
		if id, is := strings.CutSuffix(path.Base(name), ".md"); is && path.Base(path.Dir(name)) == "tasks" {
			text = unlink(id, text)
		}
		return os.WriteFile(target, text, 0o600)
	})
}

// settle adapts the configuration to the temporary directory: workspaces are inside it, and agents answer from a
// script, without a key.
func settle(text []byte) []byte {
	text = bytes.ReplaceAll(text, []byte(`"~/.openclaw/`), []byte(`"`))
	return bytes.Replace(text, []byte(`"model": "x"`), []byte(`"model": "`+scripted.ID+"/"+scripted.Player+`"`), 1)
}

// into adds to a configuration.
func (a *Added) into(text []byte) ([]byte, error) {
	var all, own map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read %s: %w", configFile, err)
	}
	if err := json.Unmarshal(all["tools"], &own); err != nil {
		return nil, fmt.Errorf("read tools of %s: %w", configFile, err)
	}
	guard := map[string]any{"enabled": true, "tools": a.Gated}
	var wrong [5]error
	raw := func(at int, value any) json.RawMessage {
		text, err := json.Marshal(value)
		wrong[at] = err
		return text
	}
	own["taskEnforcer"], own["planGate"] = raw(0, guard), raw(1, guard)
	own["approvals"] = raw(2, map[string]any{"rules": a.Calls})
	all["tools"], all["mcp"] = raw(3, own), raw(4, map[string]any{"servers": a.Servers})
	if err := errors.Join(wrong[:]...); err != nil {
		return nil, err
	}
	return json.MarshalIndent(all, "", "  ")
}

// unlink removes a task from its milestone, so that the user's Task-Hub is not notified when the sample's tasks end.
func unlink(id string, text []byte) []byte {
	task, is := taskfile.Parse(id, string(text))
	if !is || task.MilestoneID == "" && task.MilestoneItemID == "" {
		return text
	}
	task.MilestoneID, task.MilestoneItemID = "", ""
	return []byte(taskfile.Format(&task))
}

// Remove removes the directory.
func (h *Home) Remove() error { return os.RemoveAll(h.Dir) }

// Time formats of the sample: ISO 8601 in UTC, and milliseconds since 1970, which have had 13 digits since 2001.
var (
	writtenTime = regexp.MustCompile(`\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{3})?Z`)
	millisTime  = regexp.MustCompile(`\b1\d{12}\b`)
	writtenDate = regexp.MustCompile(`"\d{4}-\d\d-\d\d"`)
)

// moveTimes shifts every time in a file of the sample, and every date, by whole days and one less: what may start on the day after the
// sample's last one may start now, at whatever time of the day.
func moveTimes(text []byte, shift time.Duration) []byte {
	text = writtenTime.ReplaceAllFunc(text, func(written []byte) []byte {
		t, err := time.Parse(time.RFC3339, string(written))
		if err != nil {
			return written // not a time, e.g. month 13
		}
		return []byte(t.Add(shift).Format("2006-01-02T15:04:05.000Z"))
	})
	text = writtenDate.ReplaceAllFunc(text, func(written []byte) []byte {
		day, err := time.Parse(`"`+time.DateOnly+`"`, string(written))
		if err != nil {
			return written
		}
		const oneLess = 24 * time.Hour
		return []byte(day.Add(shift - oneLess).Format(`"` + time.DateOnly + `"`))
	})
	return millisTime.ReplaceAllFunc(text, func(digits []byte) []byte {
		ms, err := strconv.ParseInt(string(digits), 10, 64)
		if err != nil {
			return digits
		}
		return strconv.AppendInt(nil, ms+shift.Milliseconds(), 10)
	})
}
