package server

import (
	"sync"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
)

// models holds the model catalogue of the configuration in force. Connections survive a change of it, the catalogue
// does not.
type models struct {
	make func(*config.Config) *catalogue.Catalogue

	mu     sync.Mutex
	config *config.Config
	newest *catalogue.Catalogue
}

func (m *models) of(c *config.Config) *catalogue.Catalogue {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.config != c {
		m.config, m.newest = c, m.make(c)
	}
	return m.newest
}
