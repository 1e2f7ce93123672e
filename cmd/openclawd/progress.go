package main

import (
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/pronto-lab/openclawd/internal/output"
)

// progress shows the progress of long work on a terminal. It is not safe for concurrent use.
type progress struct {
	p     *process
	what  string
	bytes bool                     // unit; default events
	shown *progressbar.ProgressBar // nil: no terminal, or nothing reported yet
}

// eventProgress counts events, byteProgress bytes.
func (p *process) eventProgress(what string) *progress {
	return &progress{p: p, what: what}
}

func (p *process) byteProgress(what string) *progress {
	return &progress{p: p, what: what, bytes: true}
}

// update reports how much of a total is done; both may change meanwhile.
func (g *progress) update(done, total int64) {
	if !output.IsTerminal(g.p.stderr) {
		return
	}
	if g.shown == nil {
		g.shown = progressbar.NewOptions64(total, progressbar.OptionSetWriter(g.p.stderr), progressbar.OptionSetDescription(g.what),
			progressbar.OptionThrottle(100*time.Millisecond), progressbar.OptionClearOnFinish(), progressbar.OptionShowCount(),
			progressbar.OptionShowBytes(g.bytes))
	}
	if g.shown.GetMax64() != total {
		g.shown.ChangeMax64(total)
	}
	_ = g.shown.Set64(min(done, total)) // a failure to draw the bar is harmless
}

// end removes the bar.
func (g *progress) end() {
	if g.shown != nil {
		_ = g.shown.Finish()
	}
}
