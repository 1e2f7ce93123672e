package tasksync

import (
	"maps"
	"slices"

	"github.com/pronto-lab/openclawd/workspace"
)

// findConflicts searches an agent's workspace for files that this or an earlier process has put aside.
func (s *Syncer) findConflicts(agent string) {
	var names []string
	if dir := s.o.Dir(agent); dir != "" {
		names, _ = workspace.NewHome(dir).Kept() // a listing error is reported by the writes
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.kept, agent); len(names) > 0 {
		s.kept[agent] = names
	}
}

// conflictRemains returns the files put aside that still exist.
func (s *Syncer) conflictRemains() (paths []string) {
	s.mu.Lock()
	agents := slices.Sorted(maps.Keys(s.kept))
	s.mu.Unlock()
	for _, agent := range agents {
		s.findConflicts(agent)
		s.mu.Lock()
		for _, name := range s.kept[agent] {
			paths = append(paths, pathOf(agent, name))
		}
		s.mu.Unlock()
	}
	return paths
}
