//go:build !race

package testscale

import "math"

// mostChecks is how many cases property tests try at most with the small amounts.
const mostChecks = math.MaxInt
