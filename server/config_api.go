package server

import (
	"github.com/pronto-lab/openclawd/config"
	"github.com/pronto-lab/openclawd/server/settings"
)

// configurationFile tells the API about the program's configuration.
type configurationFile struct{ p *Program }

func (f configurationFile) Check() config.Report {
	return settings.CheckFile(f.p.config.path, f.p.opts.getenv)
}

func (f configurationFile) Effective() config.Effective {
	inForce := f.p.newConfiguration().InForce()
	return settings.Effective(f.p.config.path, inForce, f.p.opts.settings(inForce), f.p.opts.gatewaySettings(inForce))
}
