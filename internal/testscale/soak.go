//go:build soak

package testscale

// times is how many times the full number of cases property tests try.
const times = 10
