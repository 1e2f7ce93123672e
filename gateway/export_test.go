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

// BoundLists sets the maximum number and size of the rows of sessions.list.
func (s *Server) BoundLists(rows, bytes int) { s.lists.maxPage, s.lists.maxBytes = rows, bytes }

// Telling is the number of runs with listeners.
func (s *Server) Telling() int {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	return len(s.notifier.runs)
}

// Awaited is the number of answers that wait for the end of a run.
func (s *Server) Awaited() int {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	return len(s.notifier.pending) + len(s.notifier.waiting)
}

// Held is how many runs and sessions something is held back of.
func (s *Server) Held() int {
	s.notifier.mu.Lock()
	defer s.notifier.mu.Unlock()
	return len(s.notifier.holds.runs) + len(s.notifier.holds.sessions)
}
