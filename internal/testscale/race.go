//go:build race

package testscale

// mostChecks is how many cases property tests try at most with the small amounts: the race detector is slow, and other
// cases of a property run the same goroutines.
const mostChecks = 4
