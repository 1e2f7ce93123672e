//go:build !full

package testscale

// Full reports whether the tests run with the full amounts.
const Full = false
