package inbound

// Parts for tests.
var (
	SinksOf      = sinksOf
	Fitting      = fitting
	RememberedOf = remembered
	IsStop       = isStop
)

// Look has Run look again at once.
func (m *Service) Look() { m.wake <- struct{}{} }

// Forgotten is the Service as after a restart: what it has in memory is gone.
func (m *Service) Forgotten() *Service { return New(m.o) }
