// Package sample holds the state directory of a small team as OpenClaw leaves it: configuration, a live log and an archive with a few
// lines that are not events, and task files. README.md describes how it was made.
package sample

import (
	"embed"
	"time"
)

// Files is the state directory.
//
//go:embed openclaw.json team-state.json logs all:workspace-eden all:workspace-ruda all:workspace-seum
var Files embed.FS

// Awaiting is what `serve --sample` adds, so that something waits for the visitor: a task that is to be approved.
//
//go:embed all:awaiting
var Awaiting embed.FS

// Taken is the moment that the sample shows: every time in it is relative to this one.
var Taken = time.Date(2026, time.February, 20, 12, 0, 0, 0, time.UTC)
