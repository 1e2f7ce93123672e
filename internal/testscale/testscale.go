// Package testscale decides in one place how much the tests do: small amounts, so that all of them take minutes, or
// the full amounts, if they are compiled with the build tag full:
//
//	go test ./...                                  # the small amounts
//	go test -tags full -timeout 40m ./...          # the full amounts
//	go test -tags full -run TestCrash ./agent/...
//
// It is a build tag and not an environment variable because package variables and TestMain read their amounts too:
// Go's test cache notices which variables a running test reads, but not what was read before the first test.
package testscale

import (
	"flag"
	"strconv"
	"time"
)

// Patience is how long a test waits for something that must happen. It only ends hanging tests; even a slow machine
// must not reach it.
const Patience = 5 * time.Minute

// Of returns small, or full with the full amounts.
func Of[T any](small, full T) T {
	if Full {
		return full
	}
	return small
}

// Checks sets how many cases the property tests of a package try; if small is more than four, the race detector sees four.
// TestMain calls it before it runs the tests; -rapid.checks overrides it. If full is 0, the full number is the default of
// package rapid: 100, or RAPID_CHECKS. With the build tag soak too, it is ten times the full number.
func Checks(small, full int) {
	if Full && full == 0 {
		return
	}
	if err := flag.Set("rapid.checks", strconv.Itoa(Of(min(small, mostChecks), full*Times))); err != nil {
		panic(err) // the package has no property tests
	}
}
