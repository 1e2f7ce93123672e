//go:build soak

package testscale

// Times is how many times the full amounts the longest tests do.
const Times = 10
