//go:build !race

package storetest

// DefaultCrashRounds is enough to meet each kind of moment, and short enough for every change.
const DefaultCrashRounds = 20
