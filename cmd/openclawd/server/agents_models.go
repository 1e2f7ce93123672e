package server

import (
	"sync"

	"github.com/pronto-lab/openclawd/agent/llm/catalogue"
	"github.com/pronto-lab/openclawd/config"
)

// models keeps the catalogue of the configuration in force: connections outlive it, what it says of models does not.
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
