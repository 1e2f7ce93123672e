package inbound

// Parts for tests.
var (
	SinksOf      = sinksOf
	Fitting      = fitting
	RememberedOf = remembered
	IsStop       = isStop
)

// Look has Run look again at once.
func (m *Monitor) Look() { m.wake <- struct{}{} }

// Forgotten is the Monitor as after a restart: what it has in memory is gone.
func (m *Monitor) Forgotten() *Monitor { return New(m.o) }
