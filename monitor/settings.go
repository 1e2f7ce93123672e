package monitor

import (
	"slices"
	"strings"

	"github.com/pronto-lab/openclawd/config"
)

// Settings are the Options that may change at run time. The zero value is the strictest: only this machine may read
// and write.
type Settings struct {
	// Hosts are additional allowed host names, without port, beside loopback names and the address connected to.
	Hosts []string
	// Origins are the origins whose pages may read, e.g. https://hub.example, beside pages of this machine and of
	// Hosts.
	Origins []string
	// Token is required for writes. "" allows only programs and own pages of this machine to write.
	Token config.Secret
	// ReadToken is required for reads and the live feed, unless Token is shown. "" requires none.
	ReadToken config.Secret
	// Sealed forbids writes without a Token, because it is unknown whether one is configured.
	Sealed bool
	// TaskHub is the http or https URL of Task-Hub; "" means DefaultTaskHub. Cookie is sent there for callers without
	// one.
	TaskHub string
	Cookie  config.Secret
}

// Configure changes the settings for new requests. Another token for reading ends the live feeds that were opened without a session. It
// may be called at any time.
func (s *Server) Configure(next Settings) {
	next.Hosts, next.Origins = slices.Clone(next.Hosts), slices.Clone(next.Origins)
	next.Token = config.Secret(strings.TrimSpace(next.Token.Reveal())) // as in the header
	next.ReadToken = config.Secret(strings.TrimSpace(next.ReadToken.Reveal()))
	before := s.settings.Swap(&next)
	if before != nil && s.hub != nil && before.ReadToken != next.ReadToken {
		s.hub.EndUngranted()
	}
}
