package gateway

// MaxWatched is in how many sessions a connection may listen for messages.
const MaxWatched = maxWatched

// NewOnceBox is what stands before the tools that clients call.
var NewOnceBox = newOnceBox

// Watching is how many connections have asked to be told of changes.
func (s *Server) Watching() int {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	return len(s.watchers.conns)
}

// Telling is how many runs are being told of.
func (s *Server) Telling() int {
	s.teller.mu.Lock()
	defer s.teller.mu.Unlock()
	return len(s.teller.runs)
}

// Awaited is how many answers wait for the end of a run.
func (s *Server) Awaited() int {
	s.teller.mu.Lock()
	defer s.teller.mu.Unlock()
	return len(s.teller.awaited) + len(s.teller.waiting)
}

// Held is how many runs and sessions something is held back of.
func (s *Server) Held() int {
	s.teller.mu.Lock()
	defer s.teller.mu.Unlock()
	return len(s.teller.holds.runs) + len(s.teller.holds.sessions)
}
