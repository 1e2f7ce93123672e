package gateway

// MaxWatched is in how many sessions a connection may listen for messages.
const MaxWatched = maxWatched

// Watching is how many connections have asked to be told of changes.
func (s *Server) Watching() int {
	s.watchers.mu.Lock()
	defer s.watchers.mu.Unlock()
	return len(s.watchers.conns)
}
