package monitor

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// Settings are the Options that may change while the server answers. The zero value is the strictest: only this machine asks and writes.
type Settings struct {
	// Hosts are names, without port, under which the API may be asked, beside loopback ones and the address asked.
	Hosts []string
	// Origins are those whose pages may read, e.g. https://hub.example, beside the pages of this machine and of Hosts.
	Origins []string
	// Token is what every write has to show. "" lets only programs, and own pages, of this machine write.
	Token config.Secret
	// Sealed lets nobody write who cannot show a Token: whether one is asked for could not be found out.
	Sealed bool
	// TaskHub is the http or https address that has the milestones; "" means DefaultTaskHub. Cookie is sent there for callers without one.
	TaskHub string
	Cookie  config.Secret
}

// Configure puts other settings in force, for requests that come from now on. It may be called at any time.
func (s *Server) Configure(next Settings) {
	next.Hosts, next.Origins = slices.Clone(next.Hosts), slices.Clone(next.Origins)
	next.Token = config.Secret(strings.TrimSpace(next.Token.Reveal())) // as the header's is
	s.settings.Store(&next)
}
