//go:build !race

package projections_test

// propertyChecks is how many histories a property test tries unless -rapid.checks says otherwise.
const propertyChecks = "40"

// crashLogSize is how many events a log of the crash scenarios gets before the next is begun, so that checking stays quick.
const crashLogSize = 600
