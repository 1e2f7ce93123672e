//go:build race

package milestone_test

// crashRounds is how many kills the crash scenario has to survive, unless the environment says otherwise.
const crashRounds = 4
