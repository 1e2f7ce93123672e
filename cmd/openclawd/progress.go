package main

import (
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/pronto-lab/openclawd/cmd/openclawd/output"
)

// progress shows how far long work has come, if somebody is watching. Its methods may be called from one goroutine at a time.
type progress struct {
	p     *process
	what  string
	bytes bool                     // what is counted; else events
	shown *progressbar.ProgressBar // nil: nobody is watching, or nothing has been told yet
}

// eventProgress counts events, byteProgress bytes.
func (p *process) eventProgress(what string) *progress {
	return &progress{p: p, what: what}
}

func (p *process) byteProgress(what string) *progress {
	return &progress{p: p, what: what, bytes: true}
}

// tell takes how much of a total is done; both may change as the work goes on.
func (g *progress) tell(done, total int64) {
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
	_ = g.shown.Set64(min(done, total)) // a bar that cannot be drawn changes nothing
}

// end takes the bar away.
func (g *progress) end() {
	if g.shown != nil {
		_ = g.shown.Finish()
	}
}
