//go:build race

package runner_test

// crashRounds is fewer here: a process under the race detector takes long to start.
const crashRounds = 3
