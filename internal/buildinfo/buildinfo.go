// Package buildinfo reports which build of openclawd is running. It reads what the Go toolchain stamped into the
// binary, so that nothing has to be passed at link time and a build from a plain checkout knows its commit.
package buildinfo

import (
	"runtime"
	"runtime/debug"
)

// Info describes a build. Fields that the toolchain did not stamp are empty.
type Info struct {
	Version  string `json:"version"`            // of the module: a tag, a pseudo-version, or "devel"
	Revision string `json:"revision,omitempty"` // commit
	Time     string `json:"time,omitempty"`     // of that commit, RFC 3339
	Modified bool   `json:"modified,omitempty"` // the tree differed from the commit
	Go       string `json:"go"`
	Platform string `json:"platform"`         // e.g. linux/amd64
	SQLite   string `json:"sqlite,omitempty"` // version of the driver's module
}

const (
	unreleased   = "devel"
	sqliteModule = "modernc.org/sqlite"
)

// Read describes the running binary.
func Read() Info {
	info := Info{Version: unreleased, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if v := build.Main.Version; v != "" && v != "(devel)" {
		info.Version = v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info.Revision = s.Value
		case "vcs.time":
			info.Time = s.Value
		case "vcs.modified":
			info.Modified = s.Value == "true"
		}
	}
	for _, dep := range build.Deps {
		if dep.Path == sqliteModule {
			info.SQLite = dep.Version
		}
	}
	return info
}
