// Package subprocess is about programs of others that openclawd runs: the process group that each gets, and the environment of commands.
package subprocess

import (
	"maps"
	"slices"
)

// Environment is what a command of an agent or of a job gets in a home directory: a few variables, and those of getenv that are allowed. The
// other variables of this program may be secrets.
func Environment(home string, allowed []string, getenv func(string) string) map[string]string {
	all := map[string]string{"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": home, "LANG": "C.UTF-8", "TERM": "dumb"}
	for _, name := range slices.Concat([]string{"LANG", "LC_ALL", "TZ"}, allowed) {
		if value := getenv(name); value != "" {
			all[name] = value
		}
	}
	return all
}

// List returns variables in the form of exec.Cmd.Env, sorted.
func List(variables map[string]string) []string {
	list := make([]string, 0, len(variables))
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		list = append(list, name+"="+variables[name])
	}
	return list
}
