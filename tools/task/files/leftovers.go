package files

import "github.com/pronto-lab/openclawd/workspace"

// removeLeftovers removes what a process that was killed has left beside the files of tasks.
func (k *Keeper) removeLeftovers() {
	for _, agent := range k.o.Agents() {
		dir := k.o.Dir(agent)
		if dir == "" {
			continue
		}
		n, err := workspace.NewHome(dir).RemoveLeftovers()
		if err != nil {
			k.o.Logger.Warn("what a write has left behind cannot be removed", "agent", agent, "err", err)
		}
		if n > 0 {
			k.o.Logger.Info("what writes have left behind was removed", "agent", agent, "files", n)
		}
	}
}
