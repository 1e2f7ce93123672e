//go:build race

package a2a_test

const (
	// crashRounds is how many kills the crash scenario has to survive, unless the environment says otherwise.
	crashRounds = 3
	// crashAsks is how much is asked for in each log of the crash scenario.
	crashAsks = 8
	// crashTables is whether tables are compared with those of a rebuild after each kill of the crash scenario, or only in the end.
	crashTables = false
)
