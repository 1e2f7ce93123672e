//go:build !race

package files_test

// crashRounds are enough to meet each kind of moment.
const crashRounds = 10
