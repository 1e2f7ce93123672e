package tasksync

import "github.com/pronto-lab/openclawd/workspace"

// removeLeftovers removes the temporary files of a killed process.
func (s *Syncer) removeLeftovers() {
	for _, agent := range s.o.Agents() {
		dir := s.o.Dir(agent)
		if dir == "" {
			continue
		}
		n, err := workspace.NewHome(dir).RemoveLeftovers()
		if err != nil {
			s.o.Logger.Warn("cannot remove the temporary files of an interrupted write", "agent", agent, "err", err)
		}
		if n > 0 {
			s.o.Logger.Info("removed the temporary files of interrupted writes", "agent", agent, "files", n)
		}
	}
}
