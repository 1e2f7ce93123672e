package files

import (
	"maps"
	"slices"

	"github.com/pronto-lab/openclawd/workspace"
)

// seekKept looks for what was put aside in an agent's workspace, by this process or one before.
func (k *Keeper) seekKept(agent string) {
	var names []string
	if dir := k.o.Dir(agent); dir != "" {
		names, _ = workspace.NewHome(dir).Kept() // what cannot be listed is told by who writes there
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if delete(k.kept, agent); len(names) > 0 {
		k.kept[agent] = names
	}
}

// stillKept lists what was put aside and is still there.
func (k *Keeper) stillKept() (paths []string) {
	k.mu.Lock()
	agents := slices.Sorted(maps.Keys(k.kept))
	k.mu.Unlock()
	for _, agent := range agents {
		k.seekKept(agent)
		k.mu.Lock()
		for _, name := range k.kept[agent] {
			paths = append(paths, pathOf(agent, name))
		}
		k.mu.Unlock()
	}
	return paths
}
