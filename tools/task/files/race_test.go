//go:build race

package files_test

// crashRounds are few: with the race detector a round takes many times longer, and finds other faults.
const crashRounds = 3
